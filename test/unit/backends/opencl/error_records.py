"""What pyopencl raises where a function of OpenCL fails."""

from typing import Any


def error_record(routine: str, status: int) -> Any:
    """Returns what errors of pyopencl carry: the function that failed, and the status that it gave."""
    import pyopencl

    return pyopencl._cl._ErrorRecord(routine, status, "")
