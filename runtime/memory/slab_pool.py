"""Who holds which pool of a device's memory."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from ...backends.interface import BufferLoc, HostMapped, Memory
from ...dialects.buffer_size import ALIGNMENT
from ...dialects.memory_modes import MemoryMode
from ...errors import DeviceLostError
from ..device_lock import DeviceLock
from ..timeline.spans import Category
from ..timeline.timeline import span

MERGE_POOL_ID = 0
"""The pool of every device that is the merge buffer of its first stream; those of others are below it."""

FIRST_POOL_ID = 1
"""The first pool that is anything else."""


@dataclass(frozen=True)
class SlabStatistics:
    """
    The pools that are held now, their bytes, and the most bytes that were held at one time. `payload_nbytes`
    are the bytes that something lies in; the others are gaps between what is aligned.
    """

    n_slabs: int
    nbytes: int
    peak_nbytes: int
    payload_nbytes: int

    @property
    def fragmentation(self) -> float:
        """The share of the bytes that are gaps, from 0 to 1."""
        return 1 - self.payload_nbytes / self.nbytes if self.nbytes else 0.0

    def __str__(self) -> str:
        pools = "1 pool" if self.n_slabs == 1 else f"{self.n_slabs} pools"
        gaps = f"{100 * self.fragmentation:.1f}% gaps"
        return f"{pools}, {self.nbytes} bytes ({self.peak_nbytes} at most), {gaps}"


@dataclass(frozen=True, slots=True)
class Slab:
    """One pool of device memory; places in it are bytes from its start."""

    pool_id: int
    nbytes: int
    payload_nbytes: int = 0

    def at(self, offset: int) -> BufferLoc:
        """Returns the place `offset` bytes in."""
        assert 0 <= offset <= self.nbytes, f"{offset:#x} is outside pool {self.pool_id} ({self.nbytes} bytes)"
        return BufferLoc(self.pool_id, offset)


@dataclass(eq=False)
class SlabPool:
    """
    The pools of one device, handed out as slabs. A new slab gets the lowest free id, so that the same calls
    give the same ids. Any thread may call; `lock` guards the device and is not held by callers of these
    methods.
    """

    memory: Memory
    lock: DeviceLock = field(default_factory=DeviceLock)
    _slabs: dict[int, Slab] = field(default_factory=dict[int, Slab])
    _reserved: set[int] = field(default_factory=set[int])
    _mapped: set[int] = field(default_factory=set[int])
    _free_ids: list[int] = field(default_factory=list[int])
    _condemned: deque[Slab] = field(default_factory=deque[Slab])
    _merge_slabs: dict[int, Slab] = field(default_factory=dict[int, Slab])
    _merge_ids: Iterator[int] = field(default_factory=lambda: count(MERGE_POOL_ID - 1, -1))
    _free_merge_ids: list[int] = field(default_factory=list[int])
    _statistics: SlabStatistics = SlabStatistics(0, 0, 0, 0)

    def allocate(
        self, nbytes: int, mode: MemoryMode | None = None, payload_nbytes: int | None = None
    ) -> Slab:
        """
        Returns a slab of `nbytes` from 1 up, for tensors of memory mode `mode`, of which `payload_nbytes` are
        used (None for all).

        Raises:
            DeviceError: the device has not that much memory.
        """
        assert nbytes > 0, f"a slab of {nbytes} bytes"
        payload_nbytes = nbytes if payload_nbytes is None else payload_nbytes
        with self.lock:
            self._free_condemned()
            slab = self._take(nbytes, payload_nbytes)
            try:
                with span(f"pool {slab.pool_id}", Category.ALLOCATE, nbytes=nbytes):
                    self.memory.alloc_pool(slab.pool_id, nbytes, ALIGNMENT, mode)
            except BaseException:
                self._give_back(slab)
                raise
            self._count(slab)
            return slab

    def map_host(self, array: npt.NDArray[np.uint8]) -> Slab:
        """Returns a slab in the host array's memory, until it is freed. The caller keeps `array` alive."""
        assert isinstance(self.memory, HostMapped), "the device cannot work in the host's memory"
        with self.lock:
            self._free_condemned()
            slab = self._take(array.nbytes, 0)
            try:
                self.memory.map_host(slab.pool_id, array)
            except BaseException:
                self._give_back(slab)
                raise
            self._mapped.add(slab.pool_id)
            return slab

    def take_merge_pool(self) -> int:
        """Returns the id of a pool that is to be the merge buffer of one more stream."""
        try:
            return self._free_merge_ids.pop()
        except IndexError:
            return next(self._merge_ids)

    def give_merge_pool_back(self, pool_id: int) -> None:
        """
        Gives a merge buffer back with its id, after `take_merge_pool`. May be called when `free` may be.
        """
        self.free([Slab(pool_id, 0)])

    def grow_merge_buffer(self, nbytes: int, pool_id: int = MERGE_POOL_ID) -> Slab:
        """
        Returns the merge buffer in a pool, which then has `nbytes` at least. What it held is lost where it
        grows: the caller sees to it that no work that uses it is queued.

        Raises:
            DeviceError: the device has not that much memory; there is no merge buffer then.
        """
        with self.lock:
            self._free_condemned()
            held = self._merge_slabs.get(pool_id)
            if held is not None and held.nbytes >= nbytes:
                return held
            self._free_merge_buffer(pool_id)
            slab = Slab(pool_id, nbytes, nbytes)
            self.memory.alloc_pool(pool_id, nbytes, ALIGNMENT)
            self._merge_slabs[pool_id] = slab
            self._count(slab)
            self._count_slabs()
            return slab

    def free_merge_buffer(self, pool_id: int = MERGE_POOL_ID) -> None:
        """Gives the merge buffer in a pool back, if there is one."""
        with self.lock:
            self._free_merge_buffer(pool_id)

    def reserve(self, nbytes: int) -> Slab:
        """Returns a slab that is an id only, for host arrays of `nbytes` that the driver is to map there."""
        with self.lock:
            self._free_condemned()
            slab = self._take(nbytes, 0)
            self._reserved.add(slab.pool_id)
            return slab

    def free(self, slabs: Sequence[Slab]) -> None:
        """
        Gives slabs back. While the device is busy this returns at once and the next call of the pool frees
        them: the garbage collector may call it at any time, in any thread.
        """
        self._condemned.extend(slabs)
        if self.lock.acquire(blocking=False):
            try:
                self._free_condemned()
            finally:
                self.lock.release()

    def statistics(self) -> SlabStatistics:
        """
        Returns what is held, without waiting for the device; reserved ids and mapped host arrays count as
        slabs but hold no bytes.
        """
        self.free(())
        return self._statistics

    def sizes(self) -> dict[int, int]:
        """Returns the bytes of each pool that is held, by its id."""
        slabs = [*self._merge_slabs.copy().values(), *self._slabs.copy().values()]
        return {slab.pool_id: slab.nbytes for slab in slabs}

    def _count(self, slab: Slab, sign: int = 1) -> None:
        """Notes a change: a slab with memory came (`sign` 1) or went (-1)."""
        before = self._statistics
        nbytes = before.nbytes + sign * slab.nbytes
        payload_nbytes = before.payload_nbytes + sign * slab.payload_nbytes
        # As one object, which other threads see whole; each call makes some, and `replace` takes its time.
        self._statistics = SlabStatistics(
            before.n_slabs, nbytes, max(before.peak_nbytes, nbytes), payload_nbytes
        )

    def _count_slabs(self) -> None:
        n_slabs, before = len(self._slabs) + len(self._merge_slabs), self._statistics
        self._statistics = SlabStatistics(n_slabs, before.nbytes, before.peak_nbytes, before.payload_nbytes)

    def _free_merge_buffer(self, pool_id: int) -> None:
        slab = self._merge_slabs.pop(pool_id, None)
        if slab is not None:
            self._free_pool(slab)
            self._count(slab, -1)
            self._count_slabs()

    def _free_pool(self, slab: Slab) -> None:
        # The memory of a lost device is lost with it.
        with suppress(DeviceLostError):
            self.memory.free_pool(slab.pool_id)

    def _free_condemned(self) -> None:
        while self._condemned:
            slab = self._condemned.popleft()
            if slab.pool_id < FIRST_POOL_ID:
                self._free_merge_buffer(slab.pool_id)
                self._free_merge_ids.append(slab.pool_id)
                continue
            if slab.pool_id in self._reserved:
                self._reserved.remove(slab.pool_id)
            else:
                self._free_pool(slab)
                if slab.pool_id in self._mapped:
                    self._mapped.remove(slab.pool_id)
                else:
                    self._count(slab, -1)
            self._give_back(slab)

    def _take(self, nbytes: int, payload_nbytes: int) -> Slab:
        pool_id = heapq.heappop(self._free_ids) if self._free_ids else FIRST_POOL_ID + len(self._slabs)
        slab = self._slabs[pool_id] = Slab(pool_id, nbytes, payload_nbytes)
        self._count_slabs()
        return slab

    def _give_back(self, slab: Slab) -> None:
        assert self._slabs.get(slab.pool_id) is slab, f"pool {slab.pool_id} is not held"
        del self._slabs[slab.pool_id]
        self._count_slabs()
        heapq.heappush(self._free_ids, slab.pool_id)


_POOLS: WeakValueDictionary[int, SlabPool] = WeakValueDictionary()
_POOLS_LOCK = Lock()


def slab_pool_of(memory: Memory) -> SlabPool:
    """Returns the slab pool of a device's memory: the same for all that use it at the same time."""
    with _POOLS_LOCK:
        # A pool in the table keeps its memory alive, so that no other memory can have the same identity.
        pool = _POOLS.get(id(memory))
        if pool is None:
            pool = _POOLS[id(memory)] = SlabPool(memory)
        return pool
