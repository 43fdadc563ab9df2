"""What the interpreters raise, and how they name an op."""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation

from ...errors import TenonError


class InterpreterError(TenonError):
    """A program did what its level leaves undefined, such as an index out of bounds, or uses an unknown op."""


def describe(op: Operation) -> str:
    """Returns the name of an op and, where it is known, the place it was written at."""
    location = op.location
    if not isinstance(location, FileLineColLoc):
        return op.name
    return f"{op.name} at {location.filename.data}:{location.line.data}:{location.column.data}"
