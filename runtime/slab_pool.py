"""Who holds which pool of a device's memory."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from weakref import WeakValueDictionary

from ..backends.interface import BufferLoc, Memory

FIRST_POOL_ID = 1
"""Pool 0 of every device is its merge buffer."""


@dataclass(frozen=True)
class SlabStatistics:
    """The pools that are held now, their bytes, and the most bytes that were held at one time."""

    n_slabs: int
    nbytes: int
    peak_nbytes: int


@dataclass(frozen=True, slots=True)
class Slab:
    """One pool of device memory; places in it are bytes from its start."""

    pool_id: int
    nbytes: int

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
    lock: Lock = field(default_factory=Lock)
    _slabs: dict[int, Slab] = field(default_factory=dict[int, Slab])
    _reserved: set[int] = field(default_factory=set[int])
    _free_ids: list[int] = field(default_factory=list[int])
    _condemned: deque[Slab] = field(default_factory=deque[Slab])
    _nbytes: int = 0
    _peak_nbytes: int = 0

    def allocate(self, nbytes: int, alignment: int) -> Slab:
        """
        Returns a slab of `nbytes` from 1 up.

        Raises:
            DeviceError: the device has not that much memory.
        """
        assert nbytes > 0, f"a slab of {nbytes} bytes"
        with self.lock:
            self._free_condemned()
            slab = self._take(nbytes)
            try:
                self.memory.alloc_pool(slab.pool_id, nbytes, alignment)
            except BaseException:
                self._give_back(slab)
                raise
            self._nbytes += nbytes
            self._peak_nbytes = max(self._peak_nbytes, self._nbytes)
            return slab

    def reserve(self, nbytes: int) -> Slab:
        """Returns a slab that is an id only, for host arrays of `nbytes` that the driver is to map there."""
        with self.lock:
            self._free_condemned()
            slab = self._take(nbytes)
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
        """Returns what is held; reserved ids count as slabs but hold no bytes."""
        with self.lock:
            self._free_condemned()
            return SlabStatistics(len(self._slabs), self._nbytes, self._peak_nbytes)

    def _free_condemned(self) -> None:
        while self._condemned:
            slab = self._condemned.popleft()
            if slab.pool_id in self._reserved:
                self._reserved.remove(slab.pool_id)
            else:
                self.memory.free_pool(slab.pool_id)
                self._nbytes -= slab.nbytes
            self._give_back(slab)

    def _take(self, nbytes: int) -> Slab:
        pool_id = heapq.heappop(self._free_ids) if self._free_ids else FIRST_POOL_ID + len(self._slabs)
        slab = self._slabs[pool_id] = Slab(pool_id, nbytes)
        return slab

    def _give_back(self, slab: Slab) -> None:
        assert self._slabs.get(slab.pool_id) is slab, f"pool {slab.pool_id} is not held"
        del self._slabs[slab.pool_id]
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
