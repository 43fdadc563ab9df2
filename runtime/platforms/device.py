"""A device of a platform, its streams, and the contexts made on them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from itertools import count
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...backends.interface import (
    Backend,
    Driver,
    HostMapped,
    HostVisible,
    PeerCopies,
    PinnedHost,
    Queued,
    Streams,
)
from ..device_lock import DeviceLock
from ..memory.merge_buffer import MergeBuffer
from ..memory.segments import Request, pack
from ..memory.shared_buffers import SharedBuffers
from ..memory.slab_pool import SlabPool, SlabStatistics, slab_pool_of
from ..plan.argument_kinds import check_kind
from ..process_bound import ProcessBound
from ..streams.event import Event, JoinedEvent
from ..streams.queue_worker import QueueWorkerRunner
from ..streams.runner import QueueRunner, Runner, SyncRunner, WorkerRunner
from ..timeline.spans import Track
from .optimize_context import OptimizeContext

if TYPE_CHECKING:
    from .context import Buffers, Context
    from .platform import Platform

_next_device_id = count()

Scheduler = Callable[[Track, Any], Runner]
"""
Makes the runner of a device from what it is called on timelines and in errors, and the lock that work holds
while it uses the driver.
"""

SCHEDULERS: Mapping[str, Scheduler] = {"sync": SyncRunner, "multicore": WorkerRunner}
"""How the work of a device without a queue of its own runs: at once, or in a thread of its own."""


def scheduler_name(scheduler: str | Scheduler | None) -> str:
    """Returns what a scheduler is called; None is the device's own queue."""
    if scheduler is None:
        return "queue"
    return scheduler if isinstance(scheduler, str) else getattr(scheduler, "__name__", "own")


class Stream(ProcessBound):
    """
    A queue of a device, with a merge buffer of its own. What is scheduled on a stream runs in the order it
    was scheduled; work of two streams may run at the same time, but for what reads or overwrites what the
    other one's writes or reads, which waits for it. Memory is the device's.

    A device is its own first stream; `Device.new_stream` makes further ones. A stream lives as long as
    something refers to it: a context, or work that is scheduled. Any thread may use it; what several threads
    schedule on one stream is ordered by who comes first.
    """

    COPY_HINT = "make one there: Device.new_stream"

    def __init__(
        self,
        device: Device,
        number: int,
        name: str,
        driver: Driver,
        lock: DeviceLock,
        runner: Runner,
        merge_buffer: MergeBuffer,
    ) -> None:
        self.device = device
        self.number = number
        """Its number on the device, from 0 up: 0 is the device itself."""
        self.name = name
        """The device's for the first stream, which others add a number to: `llvm:0`, `llvm:0.1`."""
        self.driver = driver
        """The device's driver as this stream's work uses it."""
        self.lock = lock
        """Held while `driver` is used."""
        self.runner = runner
        self.merge_buffer = merge_buffer

    def make_context(
        self, *, buffers: Buffers | None = None, optimize_context: OptimizeContext | None = None
    ) -> Context:
        """
        Returns a context without a parent, whose routines and copies are scheduled on this stream. Its nodes
        are those of `buffers`, in that memory, which is another context's of the device (`Context.buffers`):
        that one lives as long as this, and finalizing it finalizes this. `optimize_context` is what later
        compiles are to know.

        Raises:
            ContextError: memory of `buffers` is another node's, another device's, or freed.
        """
        return self.device.root_context(self, buffers, optimize_context)

    def new_stream(self) -> Stream:
        """Returns what `Device.new_stream` of its device returns. Raises what that raises."""
        return self.device.new_stream()

    def make_room_for_merging(self, nbytes: int) -> None:
        """
        Makes the merge buffer hold `nbytes`. To grow, it waits for all work that is scheduled on the stream,
        and its contents are lost.

        Raises:
            OutOfMemoryError: that is more than the device has; the merge buffer is then gone.
        """
        with self.device.schedule_lock:
            if self.merge_buffer.needs_growth(nbytes):
                self.runner.wait(self.runner.all_work())
                self.merge_buffer.grow(nbytes)

    def all_work(self) -> Event:
        """Returns the event of the end of all that is scheduled by now."""
        return self.runner.all_work()

    def wait_for(self, event: Event) -> None:
        """
        Makes what is scheduled later on this stream wait for an event, of this device or another one. Seldom
        needed: what uses the same nodes does it.

        Raises:
            DeviceError: the device is closed.
            DeviceLostError: it is lost.
        """
        self.runner.wait_for(event)

    def await_idle(self) -> None:
        """
        Blocks until everything scheduled has finished.

        Raises:
            RoutineError: something failed that was not reported yet.
            DeviceLostError: the device is lost.
        """
        self.all_work().sync()

    @property
    def is_idle(self) -> bool:
        """Whether everything scheduled has finished."""
        return self.all_work().is_done

    @property
    def is_lost(self) -> bool:
        """Whether the device failed for good: all that is scheduled on it raises `DeviceLostError`."""
        return self.runner.lost is not None

    def __repr__(self) -> str:
        return f"<Stream {self.name}{', lost' if self.is_lost else ''}>"


_ABILITIES: tuple[type[Any], ...] = (HostMapped, HostVisible, PinnedHost, PeerCopies, Queued, Streams)


class Device(Stream):
    """
    One device, which is its own first stream: everything scheduled on it runs in the order it was scheduled.
    A device may have more streams (`new_stream`), which share its memory; waiting for the device is waiting
    for all. Any thread may use it; what several threads schedule is ordered by who comes first.
    """

    COPY_HINT = "open its platform there: tenon.open_platform(name)"

    def __init__(
        self,
        platform: Platform,
        backend: Backend,
        ordinal: int,
        scheduler: str | Scheduler | None,
        pool_limit: int,
        root_context: Callable[[Stream, Buffers | None, OptimizeContext | None], Context],
    ) -> None:
        """`root_context` is what `Stream.make_context` calls: contexts stand above here."""
        self.id = next(_next_device_id)
        """Unique among all devices of this process."""
        self.platform = platform
        self.backend = backend
        self.ordinal = ordinal
        """The device's number on its platform, from 0 up."""
        self.pool_limit = pool_limit
        """The most bytes of one pool."""
        self.root_context = root_context
        self.scheduler = scheduler
        self.pools = slab_pool_of(backend.driver)
        name = f"{platform.name}:{ordinal}"
        track = Track(platform.name, name)
        runner: Runner
        if scheduler is None:
            runner = QueueRunner(track, self.pools.lock, backend.driver)
        else:
            make_runner = SCHEDULERS[scheduler] if isinstance(scheduler, str) else scheduler
            runner = make_runner(track, self.pools.lock)
            check_kind("open_platform: scheduler", runner, "a function that makes a Runner", Runner)
        super().__init__(self, 0, name, backend.driver, self.pools.lock, runner, MergeBuffer(self.pools))
        self.schedule_lock = RLock()
        """
        Held while work is scheduled on any of the streams, so that what is noted of a buffer fits the order
        of the work.
        """
        self.shared = SharedBuffers()
        """What all contexts of the device have one copy of: constants, and nodes that streams share."""
        self._stream_numbers = count(1)
        self._further: weakref.WeakSet[Stream] = weakref.WeakSet()
        self._further_lock = RLock()

    def new_stream(self) -> Stream:
        """
        Returns a further stream: a queue of its own where the device has queues (`Streams`), a thread of its
        own with the scheduler "multicore". It is the device itself if there can be no other: with the
        scheduler "sync", one of the caller's own, or a driver without that ability.

        Raises:
            DeviceError: the device is closed, or its queues are used up.
            DeviceLostError: it is lost.
        """
        driver = self.backend.driver
        if not isinstance(driver, Streams) or self.scheduler not in (None, "multicore"):
            return self
        self.runner.check_open()
        number = next(self._stream_numbers)
        name = f"{self.name}.{number}"
        track, lock, own_driver = Track(self.platform.name, name), DeviceLock(), driver.new_stream()
        runner = (
            QueueWorkerRunner(track, lock, own_driver)
            if self.scheduler is None
            else WorkerRunner(track, lock)
        )
        runner.share_device(self.runner)
        pool_id = self.pools.take_merge_pool()
        stream = Stream(self, number, name, own_driver, lock, runner, MergeBuffer(self.pools, pool_id))
        runner.keep_while_busy(stream)
        weakref.finalize(stream, _retire, runner, self.runner, self.pools, pool_id).atexit = False
        with self._further_lock:
            self.runner.check_open()
            self._further.add(stream)
        return stream

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The device itself, and its further streams that are in use, in the order they were made in."""
        with self._further_lock:
            further = list(self._further)
        return (self, *sorted(further, key=lambda stream: stream.number))

    def check_fits_merging(self, name: str, nbytes: int) -> None:
        """Raises `OutOfMemoryError` where a pool cannot hold `nbytes`, of the tensor node `name`."""
        pack([Request(f"{name} in the merge buffer", nbytes)], self.pool_limit)

    def all_work(self) -> Event:
        """Returns the event of the end of all that is scheduled by now, on all of the device's streams."""
        events = [stream.runner.all_work() for stream in self.streams]
        return events[0] if len(events) == 1 else JoinedEvent(events)

    def synchronize(self) -> None:
        """Does what `await_idle` does, and then gives memory back whose owners are gone."""
        self.await_idle()
        self.pools.statistics()

    @property
    def used_memory(self) -> int:
        """The bytes of all pools that are held on the device, exactly."""
        return self.memory_statistics().nbytes

    def memory_statistics(self) -> SlabStatistics:
        return self.pools.statistics()

    @property
    def static_properties(self) -> dict[str, Any]:
        """What never changes: names, limits and abilities."""
        info = self.backend.device
        return {
            "name": self.name,
            "id": self.id,
            "ordinal": self.ordinal,
            "backend": self.backend.name,
            "scheduler": scheduler_name(self.scheduler),
            "processor": info.name,
            "kind": info.kind.value,
            "vector_nbytes": info.vector_nbytes,
            "max_shared_nbytes": info.max_shared_nbytes,
            "max_block": info.max_block,
            "max_items": info.max_items,
            "group_multiple": info.group_multiple,
            "n_units": info.n_units,
            "max_buffer_nbytes": info.max_buffer_nbytes,
            "pool_limit": self.pool_limit,
            "abilities": [kind.__name__ for kind in _ABILITIES if isinstance(self.backend.driver, kind)],
        }

    def debug_info(self) -> dict[str, Any]:
        """What is so now; may change from one version to the next."""
        statistics = self.memory_statistics()
        return {
            "name": self.name,
            "is_lost": self.is_lost,
            "is_idle": self.is_lost or self.is_idle,
            "n_streams": len(self.streams),
            "n_pools": statistics.n_slabs,
            "used_nbytes": statistics.nbytes,
            "peak_nbytes": statistics.peak_nbytes,
            "fragmentation": statistics.fragmentation,
            "merge_buffer_node": None if (node := self.merge_buffer.node) is None else node.debug_name,
            "n_shared": len(self.shared),
        }

    def empty_host(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """
        Returns a new array in the host memory from and to which transfers are fastest: pinned, where the
        device has such. Its elements hold anything.
        """
        driver, dtype = self.backend.driver, np.dtype(dtype)
        if not isinstance(driver, PinnedHost):
            return np.empty(shape, dtype)
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        with self.pools.lock:
            memory = driver.empty_host(max(nbytes, 1))
        return memory[:nbytes].view(dtype).reshape(shape)

    def close(self) -> None:
        """Finishes what is scheduled, on all streams, and gives merge buffers and worker threads back."""
        self.runner.close()
        # Asked now: no stream is made once the device's own takes no more work.
        streams = self.streams
        for stream in streams:
            stream.runner.close()
        if not self.is_lost:
            for stream in streams:
                stream.merge_buffer.free()

    def __repr__(self) -> str:
        return f"<Device {self.name}{', lost' if self.is_lost else ''}>"


def _retire(runner: Runner, first: Runner, pools: SlabPool, pool_id: int) -> None:
    """Ends a stream that nothing refers to any more: its work has ended, but perhaps not well."""
    first.take_failures(runner)
    pools.give_merge_pool_back(pool_id)
