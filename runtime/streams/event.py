"""Points in the work of a stream, and of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ...backends.interface import NativeEvent
from ..process_bound import ProcessBound
from ..timeline.spans import Category, Track
from ..timeline.timeline import span


class Queue(Protocol):
    """What events know of the runner of their stream."""

    name: str
    track: Track

    def is_done(self, event: Event) -> bool: ...

    def wait(self, event: Event) -> None: ...

    def native_of(self, event: Event) -> NativeEvent | None: ...

    def raise_failures(self) -> None: ...


class Event(ProcessBound):
    """
    A point in the work of one stream: it is done when everything submitted up to there has finished. Any
    thread may ask and wait.
    """

    COPY_HINT = "wait for it here"

    __slots__ = ("native", "runner", "ticket")

    def __init__(self, runner: Queue, ticket: int, native: NativeEvent | None = None) -> None:
        self.runner = runner
        self.ticket = ticket
        """The number of the last piece of work before this point, counted from 1 on its stream."""
        self.native = native
        """The same point for the device's own queue, where it has one; `Runner.native_of` waits for it."""

    @property
    def parts(self) -> tuple[Event, ...]:
        """The events of single streams that it stands for."""
        return (self,)

    @property
    def is_done(self) -> bool:
        """Whether the work up to here has finished, well or not."""
        return self.runner.is_done(self)

    def sync(self) -> None:
        """
        Blocks until the work up to here has finished.

        Raises:
            RoutineError: work of a stream failed that no call has reported yet. With several streams, the
                failures of the others are left for the next synchronisation.
            DeviceLostError: the device is lost.
        """
        for part in self.parts:
            with span(f"wait for {part.runner.name}", Category.WAIT):
                part.runner.wait(part)
        for part in self.parts:
            part.runner.raise_failures()

    def __repr__(self) -> str:
        return f"<Event {self.ticket} of {self.runner.name}, {'done' if self.is_done else 'not done'}>"


class JoinedEvent(Event):
    """The point where those of several streams are all done."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Sequence[Event]) -> None:
        first = parts[0]
        super().__init__(first.runner, first.ticket, first.native)
        self._parts = tuple(parts)

    @property
    def parts(self) -> tuple[Event, ...]:
        return self._parts

    @property
    def is_done(self) -> bool:
        return all(part.is_done for part in self._parts)

    def __repr__(self) -> str:
        return f"<JoinedEvent of {', '.join(part.runner.name for part in self._parts)}>"
