"""What goes wrong on an OpenCL device, as errors of Tenon."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...errors import DeviceError, DeviceLostError, OutOfMemoryError

if TYPE_CHECKING:
    import pyopencl

_OUT_OF_RESOURCES = -5

_MEMORY_CODES = frozenset((-4, -6, -61))
"""MEM_OBJECT_ALLOCATION_FAILURE, OUT_OF_HOST_MEMORY, INVALID_BUFFER_SIZE."""

_LOST_CODES = frozenset((-2, -33, -34, -36))
"""DEVICE_NOT_AVAILABLE, INVALID_DEVICE, INVALID_CONTEXT, INVALID_COMMAND_QUEUE."""

_opened_by: int | None = None


def note_opened() -> None:
    """Notes that this process has opened devices."""
    global _opened_by
    if _opened_by is None:
        _opened_by = os.getpid()


def check_process() -> None:
    """Raises `DeviceLostError` in a fork of the process that opened the devices: it has not their threads."""
    if _opened_by is not None and _opened_by != os.getpid():
        raise DeviceLostError(
            "opencl: a forked process cannot use OpenCL after its parent (hint: start it with 'spawn')"
        )


def device_error(
    message: str, error: pyopencl.Error, *, is_wait: bool = False, is_allocation: bool = False
) -> DeviceError:
    """
    Returns `message`, which ends in the reason in brackets, as the error that the code of `error` stands for.
    Waiting, a device that is out of resources is lost; allocating, it is out of memory.
    """
    code = _code_of(error)
    message = f"{message} ({error})"
    if code in _LOST_CODES or (is_wait and code == _OUT_OF_RESOURCES):
        return DeviceLostError(message)
    if code in _MEMORY_CODES or (is_allocation and code == _OUT_OF_RESOURCES):
        return OutOfMemoryError(message)
    return DeviceError(message)


def _code_of(error: pyopencl.Error) -> int:
    """Returns the status of OpenCL, or 0 where pyopencl itself raised."""
    record: Any = error.args[0] if error.args else None
    return record.code() if hasattr(record, "code") else 0
