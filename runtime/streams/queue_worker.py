"""The queue of a further stream on a device that has queues: work is handed to it from a thread."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from functools import partial

from ...backends.interface import NativeEvent
from ...errors import DeviceError
from ..timeline.timeline import active
from .event import Event
from .runner import QueueingRunner, Task, Work, WorkerRunner


class QueueWorkerRunner(QueueingRunner, WorkerRunner):
    """
    Hands work to the queue of a driver, in a thread of its own: neither who submits nor another stream waits
    for what the host does for a program, to be called by it for one, or to see it done for a timeline. Waits
    for events that the queue reaches are the queue's; what fails in the queue loses the device.
    """

    def _submit(self, ticket: int, task: Task) -> Event:
        event = Event(self, ticket)
        super()._submit(ticket, replace(task, work=partial(self._hand_over, task.work, event)))
        self._note_in_flight(event, task)
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
        WorkerRunner.wait(self, event)
        return event.native

    def is_done(self, event: Event) -> bool:
        return WorkerRunner.is_done(self, event) and super().is_done(event)

    def wait(self, event: Event) -> None:
        WorkerRunner.wait(self, event)
        super().wait(event)

    def _end(self) -> None:
        last = self.all_work()
        super()._end()
        if not self.is_own_thread:
            self.wait(last)
