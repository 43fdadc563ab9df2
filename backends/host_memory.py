"""Pools in the memory of this process, for drivers whose kernels run in it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..dialects.memory_modes import MemoryMode
from ..errors import DeviceError, OutOfMemoryError
from .interface import BufferLoc, Memory, StridedLoc

_CACHE_LINE = 64
_LARGE_PAGE = 1 << 21
"""
Pools that are no smaller begin at such a page: NumPy asks for large pages for arrays of two of them, and what
does not begin at one has small pages at both ends. Streams through small pages wait for their translations.
"""

Bytes = npt.NDArray[np.uint8]


class _Pool(NamedTuple):
    """The bytes of a pool, and where they begin."""

    memory: Bytes
    address: int


class HostMemory:
    """
    Pools are byte arrays of this process, or host arrays mapped in; every copy is done when the call returns.
    Pools come and go in one thread at a time, while others may use those that stay. Errors begin with
    `owner`, the name of the backend.
    """

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._pools: dict[int, _Pool] = {}
        self.generation = 0
        """Counts the pools that came or went."""

    def __repr__(self) -> str:
        pools = ", ".join(
            f"{pool_id}: {pool.memory.nbytes} bytes" for pool_id, pool in sorted(self._pools.items())
        )
        return f"{type(self).__name__}({self._owner!r}, pools {{{pools}}})"

    def alloc_pool(self, pool_id: int, nbytes: int, alignment: int, mode: MemoryMode | None = None) -> None:
        """
        Aligns to `alignment`, a cache line or, for large pools, a large page, whichever is most. The host
        reaches every mode's memory alike.
        """
        self._check_unused(pool_id)
        alignment = max(alignment, _CACHE_LINE if nbytes < _LARGE_PAGE else _LARGE_PAGE)
        try:
            memory = np.empty(nbytes + alignment, np.uint8)
        except (MemoryError, ValueError) as error:
            raise OutOfMemoryError(
                f"{self._owner}: cannot allocate {nbytes} bytes for pool {pool_id}"
            ) from error
        padding = -memory.ctypes.data % alignment
        self._add(pool_id, memory[padding : padding + nbytes])

    def map_host(self, pool_id: int, array: Bytes) -> None:
        self._check_unused(pool_id)
        assert array.dtype == np.uint8 and array.ndim == 1 and array.flags.c_contiguous, "not a row of bytes"
        self._add(pool_id, array)

    def host_view(self, location: BufferLoc, nbytes: int) -> Bytes:
        return self._bytes(location, nbytes)

    def free_pool(self, pool_id: int) -> None:
        self._pool(pool_id)
        del self._pools[pool_id]
        self.generation += 1

    def memset_zero(self, target: BufferLoc, nbytes: int) -> None:
        self._bytes(target, nbytes)[:] = 0

    def copy_to_device(self, target: BufferLoc, source: npt.NDArray[Any]) -> None:
        assert source.flags.c_contiguous, "the source is not contiguous"
        self._bytes(target, source.nbytes)[:] = source.reshape(-1).view(np.uint8)

    def copy_from_device(self, target: npt.NDArray[Any], source: BufferLoc) -> None:
        assert target.flags.c_contiguous, "the target is not contiguous"
        target.reshape(-1).view(np.uint8)[:] = self._bytes(source, target.nbytes)

    def copy_on_device(self, target: BufferLoc, source: BufferLoc, nbytes: int) -> None:
        self._bytes(target, nbytes)[:] = self._bytes(source, nbytes)

    def copy_strided_to_device(self, target: StridedLoc, source: npt.NDArray[Any]) -> None:
        target.check_fits(source)
        self._elements(target)[...] = source.view(_word_of(source.itemsize))

    def copy_strided_from_device(self, target: npt.NDArray[Any], source: StridedLoc) -> None:
        source.check_fits(target)
        target.view(_word_of(target.itemsize))[...] = self._elements(source)

    def copy_strided_on_device(self, target: StridedLoc, source: StridedLoc) -> None:
        target.check_alike(source)
        self._elements(target)[...] = self._elements(source)

    def reaches(self, peer: Memory) -> bool:
        return isinstance(peer, HostMemory)

    def copy_from_peer(self, target: BufferLoc, peer: Memory, source: BufferLoc, nbytes: int) -> None:
        assert isinstance(peer, HostMemory), f"{self._owner}: {peer!r} is out of reach"
        self._bytes(target, nbytes)[:] = peer._bytes(source, nbytes)

    def _add(self, pool_id: int, memory: Bytes) -> None:
        self._pools[pool_id] = _Pool(memory, memory.ctypes.data)
        self.generation += 1

    def _check_unused(self, pool_id: int) -> None:
        if pool_id in self._pools:
            raise DeviceError(f"{self._owner}: pool {pool_id} is already allocated")

    def _pool(self, pool_id: int) -> _Pool:
        # Looked up once: another stream's thread may free the pool in between.
        pool = self._pools.get(pool_id)
        if pool is None:
            raise DeviceError(f"{self._owner}: pool {pool_id} is not allocated")
        return pool

    def address(self, location: BufferLoc) -> int:
        """Returns the address of a place. Raises `DeviceError` where its pool is not allocated."""
        memory, address = self._pool(location.pool_id)
        assert 0 <= location.offset <= memory.nbytes, f"{location} is outside its {memory.nbytes} bytes"
        return address + location.offset

    def _bytes(self, location: BufferLoc, nbytes: int) -> Bytes:
        memory = self._pool(location.pool_id).memory
        end = location.offset + nbytes
        assert 0 <= location.offset <= end <= memory.nbytes, (
            f"{location} to {end:#x} is outside its {memory.nbytes} bytes"
        )
        return memory[location.offset : end]

    def _elements(self, place: StridedLoc) -> npt.NDArray[Any]:
        """Returns the elements of `place` as an array of its shape, fit to be copied and nothing else."""
        memory = self._pool(place.start.pool_id).memory
        begin, end = place.span()
        assert 0 <= begin <= end <= memory.nbytes, (
            f"{place.start} of {list(place.shape)} by {list(place.strides)} bytes is outside its "
            f"{memory.nbytes} bytes"
        )
        word = _word_of(place.itemsize)
        return np.ndarray(place.shape, word, memory.data, place.start.offset, place.strides)


def _word_of(itemsize: int) -> np.dtype[Any]:
    """Returns a dtype for copies of elements of `itemsize` bytes; numpy copies integers fastest."""
    return np.dtype(f"u{itemsize}" if itemsize in (1, 2, 4, 8) else f"V{itemsize}")
