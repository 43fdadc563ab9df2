"""The error of a schedule step that is not legal."""

from __future__ import annotations

from typing import NoReturn

from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

from .loops import describe


class ScheduleError(PassFailedException):
    """A step of a schedule cannot be done; the text names the step, the op and the reason."""


def refuse(who: str, op: Operation, why: str) -> NoReturn:
    """Raises ScheduleError: the step `who` cannot be done to `op`."""
    raise ScheduleError(f"{who}: {describe(op)}: {why}")
