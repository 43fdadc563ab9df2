import gc
import weakref
from typing import Any

import numpy.typing as npt
import pytest
from tenon.backends.interface import BufferLoc
from tenon.errors import DeviceError
from tenon.runtime.slab_pool import SlabPool, SlabStatistics, slab_pool_of


class FakeMemory:
    """Remembers its pools; has `capacity` bytes."""

    def __init__(self, capacity: int = 1000) -> None:
        self.capacity = capacity
        self.pools: dict[int, int] = {}

    def alloc_pool(self, pool_id: int, nbytes: int, alignment: int) -> None:
        assert pool_id not in self.pools
        if sum(self.pools.values()) + nbytes > self.capacity:
            raise DeviceError(f"no room for {nbytes} bytes")
        self.pools[pool_id] = nbytes

    def free_pool(self, pool_id: int) -> None:
        del self.pools[pool_id]

    def copy_to_device(self, target: BufferLoc, source: npt.NDArray[Any]) -> None: ...

    def copy_from_device(self, target: npt.NDArray[Any], source: BufferLoc) -> None: ...

    def copy_on_device(self, target: BufferLoc, source: BufferLoc, nbytes: int) -> None: ...

    def memset_zero(self, target: BufferLoc, nbytes: int) -> None: ...


def test_a_slab_gets_the_lowest_free_id_from_1_up():
    pool = SlabPool(FakeMemory())
    slabs = [pool.allocate(10, 64), pool.reserve(20), pool.allocate(30, 64)]
    assert [slab.pool_id for slab in slabs] == [1, 2, 3]
    pool.free([slabs[2], slabs[0]])
    assert [pool.allocate(1, 64).pool_id for _ in range(3)] == [1, 3, 4]


def test_statistics_count_what_is_allocated_and_not_what_is_reserved():
    pool = SlabPool(FakeMemory())
    slabs = [pool.allocate(10, 64), pool.reserve(500), pool.allocate(30, 64)]
    pool.free(slabs[:1])
    assert pool.statistics() == SlabStatistics(n_slabs=2, nbytes=30, peak_nbytes=40)


def test_an_allocation_that_fails_holds_nothing():
    memory = FakeMemory(100)
    pool = SlabPool(memory)
    with pytest.raises(DeviceError, match="no room for 200 bytes"):
        pool.allocate(200, 64)
    assert pool.statistics().n_slabs == 0
    assert pool.allocate(100, 64).pool_id == 1


def test_what_is_freed_while_the_device_is_busy_is_freed_with_the_next_call():
    memory = FakeMemory()
    pool = SlabPool(memory)
    slab = pool.allocate(10, 64)
    with pool.lock:
        pool.free([slab])
        assert memory.pools == {1: 10}
    assert pool.allocate(5, 64).pool_id == 1
    assert memory.pools == {1: 5}


def test_a_reserved_id_is_not_freed_on_the_device():
    pool = SlabPool(FakeMemory())
    pool.free([pool.reserve(10)])
    assert pool.statistics().n_slabs == 0


def test_a_slab_knows_its_places():
    slab = SlabPool(FakeMemory()).allocate(128, 64)
    assert slab.at(64) == BufferLoc(1, 64)
    with pytest.raises(AssertionError, match=r"0x81 is outside pool 1 \(128 bytes\)"):
        slab.at(129)


def test_all_users_of_a_device_share_its_pool_while_there_are_any():
    memory = FakeMemory()
    pool = slab_pool_of(memory)
    assert slab_pool_of(memory) is pool
    assert slab_pool_of(FakeMemory()) is not pool
    watch = weakref.ref(memory)
    del memory, pool
    gc.collect()
    assert watch() is None


def test_a_slab_has_bytes():
    with pytest.raises(AssertionError, match="a slab of 0 bytes"):
        SlabPool(FakeMemory()).allocate(0, 64)
