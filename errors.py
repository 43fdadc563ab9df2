"""
The errors Tenon raises.

A wrong program (its text, its shapes, the arguments it is called with) is a `TenonError`; tools print it as
`file:line:col: error: ...` and exit with 1. A bug of Tenon itself is an `assert` that fails or any other
exception; tools answer with exit code 70 and write a reproducer.
"""

from collections.abc import Sequence
from typing import Any


class TenonError(Exception):
    """
    Something the user can mend. `location` is `file:line:col` where it is known, `excerpt` the source line
    there with a caret below, where a front end has read it.
    """

    excerpt: str | None = None

    def __init__(self, message: str, *, location: str | None = None):
        super().__init__(message)
        self.message = message
        self.location = location

    def __reduce__(self) -> tuple[Any, ...]:
        # An exception is pickled as its class and what `super().__init__` was given, which is not what some
        # of these take.
        return _unpickled, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        text = f"{self.location}: error: {self.message}" if self.location else self.message
        return f"{text}\n{self.excerpt}" if self.excerpt else text


def _unpickled(kind: type[TenonError], arguments: tuple[Any, ...], state: dict[str, Any]) -> TenonError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(state)
    return error


class ProgramError(TenonError):
    """A program has one error or more: the first is this one, `others` are those after it."""

    def __init__(self, message: str, others: Sequence[TenonError], *, location: str | None = None):
        super().__init__("\n".join([message, *map(str, others)]), location=location)
        self.first = TenonError(message, location=location)
        self.others = tuple(others)


class TracingError(TenonError):
    """A function does to traced arrays what only values allow; the message says what to do instead."""


class CallError(TenonError):
    """An executable was called with arguments that do not fit: arity, dtype, shape or layout."""


class DeviceError(TenonError):
    """A device is missing, lacks something a program needs, or failed while running."""


class OutOfMemoryError(DeviceError):
    """A device, or the host, has not the memory that is asked for."""


class DeviceLostError(DeviceError):
    """A device failed in a way that it cannot work on from; `in_flight` names what was queued on it."""

    def __init__(self, message: str, in_flight: Sequence[str] = ()):
        super().__init__(f"{message} (in flight: {', '.join(in_flight)})" if in_flight else message)
        self.in_flight = tuple(in_flight)


class RoutineError(DeviceError):
    """Queued work failed; `routine` names it. Raised where the host next waits for the device."""

    def __init__(self, routine: str, message: str):
        super().__init__(f"{routine}: {message}")
        self.routine = routine


class ContextError(TenonError):
    """A context, a tensor node, a routine or a device is used where it does not belong."""


class MemoryModeError(TenonError):
    """A tensor node cannot have the memory mode asked for; the message names both provenances."""


class KernelCompileError(TenonError):
    """A backend's compiler rejected the source of a kernel; `log` is the compiler's own text."""

    def __init__(self, message: str, log: str):
        super().__init__(f"{message}\n{log}" if log else message)
        self.log = log


class RankError(TenonError):
    """
    Ranks cannot go on together: one raised, ended, runs another program, or waits for what no other one
    begins. `rank` is the one that the message blames, None where it is several.
    """

    def __init__(self, message: str, rank: int | None = None, *, location: str | None = None):
        super().__init__(message, location=location)
        self.rank = rank


class MissingExtraError(TenonError):
    """An optional package is not installed; the message says what to install."""
