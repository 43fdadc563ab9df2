"""Finds the op at which a pass or an emitter gave up, and what it says."""

from __future__ import annotations

from xdsl.ir import Operation

from ...dialects.modules.parsing import location_text


def failing_location(error: BaseException) -> str | None:
    """
    Returns `file:line:col` of the op that the innermost frame of a failure calls `op`, as patterns and
    handlers do, and None where no frame has an op with a file location. xDSL's exceptions do not carry
    their op.
    """
    location = None
    traceback = error.__traceback__
    while traceback is not None:
        op = traceback.tb_frame.f_locals.get("op")
        if isinstance(op, Operation):
            location = location_text(op.location) or location
        traceback = traceback.tb_next
    return location


def failure_text(error: BaseException) -> str:
    """
    Returns what a failure says. Some of xDSL's say nothing themselves: their text is in a note, beside the op
    in its module (`xdsl.utils.diagnostic`).
    """
    if text := str(error):
        return text
    marked = [
        line.strip().removeprefix("| ")
        for note in getattr(error, "__notes__", ())
        for line in note.splitlines()
        if line.lstrip().startswith("| ")
    ]
    return " ".join(marked) or type(error).__name__
