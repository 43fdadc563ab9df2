"""Points in the work of a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..backends.interface import NativeEvent
from ..process_bound import ProcessBound
from .timeline import Category, span

if TYPE_CHECKING:
    from .runner import Runner


class Event(ProcessBound):
    """
    A point in the work of one device: it is done when everything submitted up to there has finished. Any
    thread may ask and wait.
    """

    COPY_HINT = "wait for it here"

    __slots__ = ("native", "runner", "ticket")

    def __init__(self, runner: Runner, ticket: int, native: NativeEvent | None = None) -> None:
        self.runner = runner
        self.ticket = ticket
        """The number of the last piece of work before this point, counted from 1 on its device."""
        self.native = native
        """The same point for the device's own queue, where it has one."""

    @property
    def is_done(self) -> bool:
        """Whether the work up to here has finished, well or not."""
        return self.runner.is_done(self)

    def sync(self) -> None:
        """
        Blocks until the work up to here has finished.

        Raises:
            RoutineError: work of this device failed that no call has reported yet.
            DeviceLostError: the device is lost.
        """
        with span(f"wait for {self.runner.name}", Category.WAIT):
            self.runner.wait(self)
        self.runner.raise_failures()

    def __repr__(self) -> str:
        return f"<Event {self.ticket} of {self.runner.name}, {'done' if self.is_done else 'not done'}>"
