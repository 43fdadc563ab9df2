"""What the interpreters raise, and how they name an op."""

from __future__ import annotations

from xdsl.ir import Operation

from ..dialects.modules.parsing import location_text
from ..errors import TenonError


class InterpreterError(TenonError):
    """A program does what its level leaves undefined, such as an index out of bounds, or has unknown ops."""


def describe(op: Operation) -> str:
    """Returns the name of an op and, where it is known, the place it was written at."""
    place = location_text(op.location)
    return op.name if place is None else f"{op.name} at {place}"
