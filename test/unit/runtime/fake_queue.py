"""A driver with a queue that does nothing."""

from tenon.backends.interface import NativeEvent
from tenon.errors import DeviceError


class FakeEvent:
    """A point in a fake queue."""

    def __init__(self, queue: "FakeQueue", place: int) -> None:
        self.queue = queue
        self.place = place

    def is_done(self) -> bool:
        if self.queue.unanswering is not None:
            raise self.queue.unanswering
        return self.queue.n_done >= self.place

    def wait(self) -> None:
        self.queue.n_waits += 1
        if self.queue.broken is not None:
            raise self.queue.broken
        self.queue.n_done = max(self.queue.n_done, self.place)


class FakeQueue:
    """
    A driver with a queue: what is enqueued counts as done once somebody waits for it, or `n_done` is set.
    """

    def __init__(self, family: str = "a") -> None:
        self.family = family
        self.n_queued = 0
        self.n_done = 0
        self.n_waits = 0
        self.waits: list[NativeEvent] = []
        self.broken: DeviceError | None = None
        self.unanswering: DeviceError | None = None

    def enqueue(self) -> None:
        self.n_queued += 1

    def record(self) -> FakeEvent:
        if self.broken is not None:
            raise self.broken
        return FakeEvent(self, self.n_queued)

    def reaches_event(self, event: NativeEvent) -> bool:
        return isinstance(event, FakeEvent) and event.queue.family == self.family

    def wait_for(self, event: NativeEvent) -> None:
        if self.broken is not None:
            raise self.broken
        self.waits.append(event)

    def queue_copy_to_device(self, target: object, source: object) -> None: ...

    def queue_copy_from_device(self, target: object, source: object) -> None: ...
