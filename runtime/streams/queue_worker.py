"""The queue of a further stream on a device that has queues: work is handed to it from a thread."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from functools import partial
from typing import Any

from ...backends.interface import Driver, NativeEvent, Queued
from ...errors import DeviceError
from ..timeline.timeline import Track, active
from .event import Event
from .runner import Task, Work, WorkerRunner, finished_at_exit


class QueueWorkerRunner(WorkerRunner):
    """
    Hands work to the queue of a driver, in a thread of its own: neither who submits nor another stream waits
    for what the host does for a program, to be called by it for one, or to see it done for a timeline. Waits
    for events that the queue reaches are the queue's; what fails in the queue loses the device.
    """

    def __init__(self, track: Track, lock: Any, driver: Driver) -> None:
        super().__init__(track, lock)
        assert isinstance(driver, Queued), f"the driver of {track.thread} has no queue"
        self._queue: Queued = driver
        finished_at_exit(self)

    def _submit(self, ticket: int, task: Task) -> Event:
        event = Event(self, ticket)
        super()._submit(ticket, replace(task, work=partial(self._hand_over, task.work, event)))
        self._prune()
        self._in_flight.append((event, task))
        return event

    @property
    def _in_flight(self) -> deque[tuple[Event, Task]]:
        """
        What is submitted and was not seen done. The thread holds it, and by it all that the queue works on,
        where nothing else holds the runner any more.
        """
        return self._own_inbox(self._n_submitted).in_flight

    def _hand_over(self, work: Work, event: Event) -> None:
        try:
            work()
        finally:
            # After a failure, too: some of its commands may be queued.
            self._mark(event)

    def _mark(self, event: Event) -> None:
        try:
            event.native = self._queue.record()
            if active() is not None:
                # On a timeline the work is to last until the device has done it.
                event.native.wait()
        except DeviceError as error:
            self._lose(error, self._labels())

    def _await(self, event: Event) -> None:
        native = event.runner.native_of(event)
        if native is None or not self._queue.reaches_event(native):
            super()._await(event)
            return
        try:
            with self._driver_lock:
                self._queue.wait_for(native)
        except DeviceError as error:
            self._lose(error, self._labels())

    def native_of(self, event: Event) -> NativeEvent | None:
        super().wait(event)
        return event.native

    def is_done(self, event: Event) -> bool:
        if not super().is_done(event):
            return False
        try:
            return event.native is None or event.native.is_done()
        except DeviceError as error:
            self._lose(error, self._labels())
            return True

    def wait(self, event: Event) -> None:
        super().wait(event)
        try:
            if event.native is not None:
                event.native.wait()
        except DeviceError as error:
            self._lose(error, self._labels())
        # Who submits just now forgets what is done itself.
        if self._order.acquire(blocking=False):
            try:
                self._prune()
            finally:
                self._order.release()

    def all_work(self) -> Event:
        with self._order:
            self._prune()
            in_flight = self._in_flight
            return in_flight[-1][0] if in_flight else Event(self, self._n_submitted)

    def _end(self) -> None:
        last = self.all_work()
        super()._end()
        if not self.is_own_thread:
            self.wait(last)

    def _prune(self) -> None:
        in_flight = self._in_flight
        while in_flight and self.is_done(in_flight[0][0]):
            in_flight.popleft()

    def _labels(self) -> list[str]:
        return [task.label for _, task in list(self._in_flight)]
