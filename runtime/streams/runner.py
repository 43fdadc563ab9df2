"""
The queue of each stream: what is submitted runs in that order.

`SyncRunner` and `WorkerRunner` schedule the work of drivers that do everything in the calling thread;
`QueueRunner` hands it to drivers whose devices have queues of their own, `queue_worker.py` does so from a
thread.
"""

from __future__ import annotations

import atexit
import os
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Condition, RLock, Thread, current_thread, get_ident
from time import perf_counter_ns
from typing import Any

from ...backends.interface import Driver, NativeEvent, Queued
from ...errors import DeviceError, DeviceLostError, RoutineError
from ..device_lock import WAITS_FOR_ITSELF
from ..plan.host_calls import is_called_back
from ..timeline.spans import Category, Track
from ..timeline.timeline import active, span
from .event import Event

Work = Callable[[], None]

_MOST_NOTES = 3
"""How many failures after the first one are told of in full."""


@dataclass(frozen=True)
class Task:
    """One piece of work, and what it waits for."""

    label: str
    work: Work
    waits: Sequence[Event]
    category: Category
    keeps: object


@dataclass(eq=False)
class _Device:
    """What the runners of one device's streams have in common."""

    lost: tuple[str, list[str]] | None = None
    """Why the device is lost, and what was in flight then; None while it works."""
    executing: set[int] = field(default_factory=set[int])
    """The threads that run work just now."""


class Runner(ABC):
    """
    Runs work in the order of its submission. Any thread may submit and wait. Work that fails does not stop
    what comes after it: the failure is kept, and raised where somebody next waits. After a
    `DeviceLostError` nothing runs any more.

    A kind of its own is a subclass that defines `_submit`, `is_done` and `wait`: `_submit` waits for the
    events of a task with `_await`, does its work with `_execute`, and returns the event of its number; or has
    that done later, task by task. `SyncRunner` is the shortest.
    """

    _KEPT: type[BaseException] = Exception
    """What of all that work may raise is a failure. The rest, such as Ctrl-C, is for the caller."""

    def __init__(self, track: Track, lock: Any) -> None:
        self.name = track.thread
        """What events and errors call the stream."""
        self.track = track
        self._driver_lock = lock
        self._order = RLock()
        self._n_submitted = 0
        self._failures: deque[DeviceError] = deque()
        self._is_closed = False
        self._device = _Device()
        self._stream: Callable[[], object] = _nothing

    @property
    def _lost(self) -> tuple[str, list[str]] | None:
        return self._device.lost

    def share_device(self, first: Runner) -> None:
        """
        Makes this, which nothing was submitted to, the runner of one more stream of the device of `first`: a
        device that one of them loses is lost for all, and what work of one calls back may use none of them.
        """
        self._device = first._device

    def keep_while_busy(self, stream: object) -> None:
        """Has the stream that this is of live until all work that is submitted has ended."""
        self._stream = weakref.ref(stream)

    def take_failures(self, other: Runner) -> None:
        """Makes failures of another stream, whose work has ended, this one's, as far as nobody was told."""
        while other._failures:
            self._failures.append(other._failures.popleft())

    @property
    def lost(self) -> DeviceLostError | None:
        """Why the device cannot be used any more; None while it can."""
        return None if self._lost is None else self._lost_error()

    def submit(
        self,
        label: str,
        work: Work,
        waits: Sequence[Event] = (),
        *,
        category: Category = Category.ROUTINE,
        keeps: object = None,
    ) -> Event:
        """
        Queues `work`, which errors and timelines call `label`, to run once the events in `waits` are done.
        Returns the event of its end; `keeps`, the owner of the memory that is worked on, lives until then.

        Raises:
            DeviceError: the device is closed, or waits for the callback that submits.
            DeviceLostError: the device is lost.
        """
        self._check_outside()
        with self._order:
            self.check_open()
            foreign = [part for event in waits for part in event.parts if part.runner is not self]
            keeps = self._stream() if keeps is None else keeps
            event = self._submit(self._n_submitted + 1, Task(label, work, foreign, category, keeps))
            self._n_submitted += 1
            return event

    def all_work(self) -> Event:
        """Returns the event of the end of all that is submitted by now."""
        with self._order:
            return Event(self, self._n_submitted)

    def wait_for(self, event: Event) -> None:
        """Makes all work that is submitted later wait for `event`."""
        names = [part.runner.name for part in event.parts if part.runner is not self]
        if names:
            self.submit(f"wait for {', '.join(names)}", _nothing, [event], category=Category.WAIT)

    def raise_failures(self) -> None:
        """
        Raises the failures that were not raised yet: the first, with the others as notes.

        Raises:
            RoutineError: work failed.
            DeviceLostError: the device is lost; each time.
        """
        failures: list[DeviceError] = []
        while self._failures:
            failures.append(self._failures.popleft())
        if self._lost is not None:
            failures.append(self._lost_error())
        if failures:
            first, *others = failures
            for other in others[:_MOST_NOTES]:
                first.add_note(f"also failed: {other}")
            if len(others) > _MOST_NOTES:
                first.add_note(f"and {len(others) - _MOST_NOTES} more")
            raise first

    @abstractmethod
    def is_done(self, event: Event) -> bool:
        """Returns whether the work up to `event` has finished, well or not."""

    @abstractmethod
    def wait(self, event: Event) -> None:
        """Blocks until the work up to `event` has finished. Raises nothing for work that failed."""

    def native_of(self, event: Event) -> NativeEvent | None:
        """
        Returns the point of an event of this runner that the queues of devices can wait for, None where there
        is none. May block until the work up to there is handed to the queue.
        """
        return event.native

    def close(self) -> None:
        """
        Finishes what is queued and takes no more work: submitting is a `DeviceError` from then on. Closing
        twice is closing once.
        """
        with self._order:
            self._is_closed = True
        self._end()

    def check_open(self) -> None:
        """
        Raises `DeviceError` where the device takes no more work, as it is closed or lost, or waits for the
        callback that asks.
        """
        self._check_outside()
        if self._is_closed:
            raise DeviceError(f"{self.name}: the device is closed")
        if self._lost is not None:
            raise self._lost_error()

    def _check_outside(self) -> None:
        """Raises `DeviceError` in a callback of the device's work: what it asks for may be waiting for it."""
        if get_ident() in self._device.executing and is_called_back():
            raise DeviceError(f"{self.name}: {WAITS_FOR_ITSELF}")

    def _end(self) -> None:
        """Finishes what is queued, and gives back what only an open device needs."""
        self.wait(self.all_work())

    @abstractmethod
    def _submit(self, ticket: int, task: Task) -> Event: ...

    def _await(self, event: Event) -> None:
        """Waits for an event of another stream, of this device or another one."""
        with span(f"wait for {event.runner.name}", Category.WAIT, self.track):
            event.runner.wait(event)
        timeline = active()
        if timeline is not None:
            now = perf_counter_ns()
            timeline.add_flow("wait", event.runner.track, now, self.track, now)

    def _lost_error(self) -> DeviceLostError:
        """Returns a fresh error: one that is raised again and again would keep everybody's frames."""
        assert self._lost is not None, f"{self.name} is not lost"
        return DeviceLostError(*self._lost)

    def _lose(self, error: DeviceError, in_flight: list[str]) -> None:
        """Marks the device as lost; what is noted is why it was lost first."""
        if self._lost is None:
            self._device.lost = f"{self.name} is lost: {error.message}", in_flight

    def _execute(self, task: Task, in_flight: Callable[[], list[str]]) -> None:
        """Runs `task`; whatever it raises is kept for whoever waits next."""
        try:
            with self._driver_lock, span(task.label, task.category, self.track):
                self._device.executing.add(get_ident())
                try:
                    task.work()
                finally:
                    self._device.executing.discard(get_ident())
        except DeviceLostError as error:
            self._lose(error, [task.label, *in_flight()])
        except self._KEPT as error:
            message = error.message if isinstance(error, DeviceError) else f"{type(error).__name__}: {error}"
            failure = RoutineError(task.label, message)
            failure.__cause__ = error
            self._failures.append(failure)


class SyncRunner(Runner):
    """Runs work at once, in the thread that submits it."""

    def _submit(self, ticket: int, task: Task) -> Event:
        for event in task.waits:
            self._await(event)
        self._execute(task, list)
        return Event(self, ticket)

    def is_done(self, event: Event) -> bool:
        return True

    def wait(self, event: Event) -> None:
        """Returns at once: there are events only of work that has run."""


@dataclass(eq=False)
class _Inbox:
    """What a worker thread and the others share. Holds no runner, so that an unused one can be collected."""

    changed: Condition = field(default_factory=Condition)
    tasks: deque[Task] = field(default_factory=deque[Task])
    in_flight: deque[tuple[Event, Task]] = field(default_factory=deque["tuple[Event, Task]"])
    """For runners whose work goes on when it is finished here: what is not known to be done."""
    n_finished: int = 0
    is_closed: bool = False


_workers: weakref.WeakSet[WorkerRunner] = weakref.WeakSet()


def _finish_workers() -> None:
    """
    Waits for what is queued, before a fork: the child gets no threads, but it gets memory that is half
    written, and locks that are held.
    """
    for runner in list(_workers):
        if runner.is_own_thread:
            continue
        runner.wait(runner.all_work())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_finish_workers)


class WorkerRunner(Runner):
    """Runs work in a thread of its own, which begins with the first work and ends with the runner."""

    _KEPT = BaseException  # there is no caller

    def __init__(self, track: Track, lock: Any) -> None:
        super().__init__(track, lock)
        self._inbox = _Inbox()
        self._thread: Thread | None = None
        self._process = os.getpid()
        weakref.finalize(self, _close_inbox, self._inbox).atexit = False
        _workers.add(self)

    def _submit(self, ticket: int, task: Task) -> Event:
        inbox = self._own_inbox(ticket - 1)
        self._start()
        with inbox.changed:
            inbox.tasks.append(task)
            inbox.changed.notify_all()
        return Event(self, ticket)

    def _own_inbox(self, n_submitted: int) -> _Inbox:
        """
        Returns the inbox of this process: a fork takes no threads along, and leaves what was queued to the
        parent.
        """
        if self._process != os.getpid():
            self._process = os.getpid()
            self._thread = None
            self._inbox = _Inbox(n_finished=n_submitted)
        return self._inbox

    def _start(self) -> None:
        if self._thread is None:
            self._thread = Thread(
                target=_work_through,
                args=(self._inbox, weakref.ref(self)),
                name=self.name,
                daemon=True,
            )
            self._thread.start()

    def is_done(self, event: Event) -> bool:
        return self._own_inbox(self._n_submitted).n_finished >= event.ticket

    def wait(self, event: Event) -> None:
        self._check_outside()
        inbox = self._own_inbox(self._n_submitted)
        assert current_thread() is not self._thread or self.is_done(event), f"{self.name} waits for itself"
        with inbox.changed:
            inbox.changed.wait_for(lambda: inbox.n_finished >= event.ticket)

    def _end(self) -> None:
        """Work may close the device that it runs on: what is queued behind it then runs when it has ended."""
        inbox = self._own_inbox(self._n_submitted)
        _close_inbox(inbox)
        if self._thread is not None and not self.is_own_thread:
            self._thread.join()

    @property
    def is_own_thread(self) -> bool:
        """Whether the caller is the runner's own thread."""
        return current_thread() is self._thread

    def run_task(self, task: Task) -> None:
        """Runs one task, once what it waits for is done, in the runner's own thread."""
        for event in task.waits:
            self._await(event)
        if self._lost is None:
            self._execute(task, lambda: [other.label for other in self._inbox.tasks])


def _close_inbox(inbox: _Inbox) -> None:
    with inbox.changed:
        inbox.is_closed = True
        inbox.changed.notify_all()


def _work_through(inbox: _Inbox, owner: weakref.ref[WorkerRunner]) -> None:
    """Runs the tasks of an inbox until it is closed and empty."""
    while True:
        with inbox.changed:
            inbox.changed.wait_for(lambda: inbox.tasks or inbox.is_closed)
            if not inbox.tasks:
                return
            task = inbox.tasks.popleft()
        runner = owner()
        if runner is not None:
            runner.run_task(task)
        del runner, task
        with inbox.changed:
            inbox.n_finished += 1
            inbox.changed.notify_all()


_queues: weakref.WeakSet[QueueingRunner] = weakref.WeakSet()


@atexit.register
def _finish_queues() -> None:
    """Waits for what is queued: devices do not expect their memory to go away."""
    for runner in list(_queues):
        runner.wait(runner.all_work())


class QueueingRunner(Runner):
    """
    Hands work to a driver whose device has a queue. A failure in the queue leaves the device in a state that
    nobody knows: it is lost. The process waits for queued work before it ends.
    """

    def __init__(self, track: Track, lock: Any, driver: Driver) -> None:
        super().__init__(track, lock)
        assert isinstance(driver, Queued), f"the driver of {track.thread} has no queue"
        self._queue: Queued = driver
        _queues.add(self)

    @property
    @abstractmethod
    def _in_flight(self) -> deque[tuple[Event, Task]]:
        """What is submitted and was not seen done."""

    def all_work(self) -> Event:
        with self._order:
            self._prune()
            in_flight = self._in_flight
            return in_flight[-1][0] if in_flight else Event(self, self._n_submitted)

    def _note_in_flight(self, event: Event, task: Task) -> None:
        self._prune()
        self._in_flight.append((event, task))

    def is_done(self, event: Event) -> bool:
        try:
            return event.native is None or event.native.is_done()
        except DeviceError as error:
            self._lose(error, self._labels())
            return True

    def wait(self, event: Event) -> None:
        try:
            if event.native is not None:
                event.native.wait()
        except DeviceError as error:
            self._lose(error, self._labels())
        # Who submits just now may wait for the thread that is here, and forgets what is done itself.
        if self._order.acquire(blocking=False):
            try:
                self._prune()
            finally:
                self._order.release()

    def _prune(self) -> None:
        in_flight = self._in_flight
        while in_flight and self.is_done(in_flight[0][0]):
            in_flight.popleft()

    def _labels(self) -> list[str]:
        return [task.label for _, task in list(self._in_flight)]


class QueueRunner(QueueingRunner):
    """
    Hands work to the queue in the thread that submits it, which waits for events that the queue does not
    reach.
    """

    def __init__(self, track: Track, lock: Any, driver: Driver) -> None:
        super().__init__(track, lock, driver)
        self._tasks: deque[tuple[Event, Task]] = deque()

    @property
    def _in_flight(self) -> deque[tuple[Event, Task]]:
        return self._tasks

    def _submit(self, ticket: int, task: Task) -> Event:
        for event in task.waits:
            native = event.runner.native_of(event)
            if native is not None and self._queue.reaches_event(native):
                with self._driver_lock:
                    self._queue.wait_for(native)
            else:
                self._await(event)
        if active() is not None:
            # On a timeline the work is to last until the device has done it.
            task = replace(task, work=partial(self._work_and_wait, task.work))
        self._execute(task, self._labels)
        event = self._mark(ticket)
        self._note_in_flight(event, task)
        return event

    def _work_and_wait(self, work: Work) -> None:
        work()
        self._queue.record().wait()

    def _mark(self, ticket: int) -> Event:
        event = Event(self, ticket)
        if self._lost is None:
            try:
                with self._driver_lock:
                    event.native = self._queue.record()
            except DeviceError as error:
                self._lose(error, self._labels())
        return event


def _nothing() -> None:
    """Work that only waits."""
