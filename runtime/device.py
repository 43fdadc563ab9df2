"""A device of a platform: its memory, its queue, and the contexts made on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..backends.interface import Backend, HostMapped, HostVisible, PeerCopies, PinnedHost, Queued
from ..process_bound import ProcessBound
from .argument_kinds import check_kind
from .event import Event
from .merge_buffer import MergeBuffer
from .runner import QueueRunner, Runner, SyncRunner, WorkerRunner
from .segments import Request, pack
from .shared_buffers import SharedBuffers
from .slab_pool import SlabStatistics, slab_pool_of
from .timeline import Track

if TYPE_CHECKING:
    from .context import Buffers, Context
    from .optimize_context import OptimizeContext
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


_ABILITIES: tuple[type[Any], ...] = (HostMapped, HostVisible, PinnedHost, PeerCopies, Queued)


class Device(ProcessBound):
    """
    One device. It has one stream: everything scheduled on it runs in the order it was scheduled. Any thread
    may use it; what several threads schedule is ordered by who comes first.
    """

    COPY_HINT = "open its platform there: tenon.open_platform(name)"

    def __init__(
        self,
        platform: Platform,
        backend: Backend,
        ordinal: int,
        scheduler: str | Scheduler | None,
        pool_limit: int,
    ) -> None:
        self.id = next(_next_device_id)
        """Unique among all devices of this process."""
        self.platform = platform
        self.backend = backend
        self.ordinal = ordinal
        """The device's number on its platform, from 0 up."""
        self.name = f"{platform.name}:{ordinal}"
        self.pool_limit = pool_limit
        """The most bytes of one pool."""
        self.scheduler = scheduler
        self.pools = slab_pool_of(backend.driver)
        self.runner: Runner
        track = Track(platform.name, self.name)
        if scheduler is None:
            self.runner = QueueRunner(track, self.pools.lock, backend.driver)
        else:
            make_runner = SCHEDULERS[scheduler] if isinstance(scheduler, str) else scheduler
            self.runner = make_runner(track, self.pools.lock)
            check_kind("open_platform: scheduler", self.runner, "a function that makes a Runner", Runner)
        self.schedule_lock = RLock()
        """Held while work is scheduled, so that what is noted of a buffer fits the order of the work."""
        self.shared = SharedBuffers()
        """What all contexts of the device have one copy of: constants, and nodes that streams share."""
        self.merge_buffer = MergeBuffer(self.pools)

    def make_context(
        self, *, buffers: Buffers | None = None, optimize_context: OptimizeContext | None = None
    ) -> Context:
        """
        Returns a context without a parent. Its nodes are those of `buffers`, in that memory, which is another
        context's of the device (`Context.buffers`): that one lives as long as this, and finalizing it
        finalizes this. `optimize_context` is what later compiles are to know.

        Raises:
            ContextError: memory of `buffers` is another node's, another device's, or freed.
        """
        from .context import Context

        return Context.root(self, buffers, optimize_context)

    def new_stream(self) -> Device:
        """Returns the device itself, which is its own only stream; contexts tell logical streams apart."""
        return self

    def check_fits_merging(self, name: str, nbytes: int) -> None:
        """Raises `OutOfMemoryError` where a pool cannot hold `nbytes`, of the tensor node `name`."""
        pack([Request(f"{name} in the merge buffer", nbytes)], self.pool_limit)

    def make_room_for_merging(self, nbytes: int) -> None:
        """
        Makes the merge buffer hold `nbytes`. Where it must grow, this waits for what is scheduled, and what
        it held is lost.

        Raises:
            OutOfMemoryError: that is more than the device has; the merge buffer is then gone.
        """
        with self.schedule_lock:
            if self.merge_buffer.needs_growth(nbytes):
                self.runner.wait(self.runner.all_work())
                self.merge_buffer.grow(nbytes)

    def all_work(self) -> Event:
        """Returns the event of the end of all that is scheduled by now."""
        return self.runner.all_work()

    def wait_for(self, event: Event) -> None:
        """Makes what is scheduled later wait for an event of any device. Seldom needed: transfers do it."""
        self.runner.wait_for(event)

    def await_idle(self) -> None:
        """
        Blocks until everything scheduled has finished.

        Raises:
            RoutineError: something failed that was not reported yet.
            DeviceLostError: the device is lost.
        """
        self.runner.await_idle()

    def synchronize(self) -> None:
        """Does what `await_idle` does, and then gives memory back whose owners are gone."""
        self.await_idle()
        self.pools.statistics()

    @property
    def is_idle(self) -> bool:
        return self.runner.is_idle

    @property
    def is_lost(self) -> bool:
        """Whether the device failed for good: all that is scheduled on it raises `DeviceLostError`."""
        return self.runner.lost is not None

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
        """Finishes what is scheduled and gives the merge buffer and the worker thread back."""
        self.runner.close()
        if not self.is_lost:
            self.merge_buffer.free()

    def __repr__(self) -> str:
        return f"<Device {self.name}{', lost' if self.is_lost else ''}>"
