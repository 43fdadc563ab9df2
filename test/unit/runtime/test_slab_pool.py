import gc
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tenon.backends.interface import BufferLoc, StridedLoc
from tenon.dialects.memory_modes import HOSTED, MemoryMode
from tenon.errors import DeviceError
from tenon.runtime.memory.slab_pool import MERGE_POOL_ID, SlabPool, SlabStatistics, slab_pool_of


class FakeMemory:
    """Remembers its pools; has `capacity` bytes."""

    def __init__(self, capacity: int = 1000) -> None:
        self.capacity = capacity
        self.pools: dict[int, int] = {}
        self.modes: dict[int, MemoryMode | None] = {}

    def alloc_pool(self, pool_id: int, nbytes: int, alignment: int, mode: MemoryMode | None = None) -> None:
        assert pool_id not in self.pools
        if sum(self.pools.values()) + nbytes > self.capacity:
            raise DeviceError(f"no room for {nbytes} bytes")
        self.pools[pool_id] = nbytes
        self.modes[pool_id] = mode

    def free_pool(self, pool_id: int) -> None:
        del self.pools[pool_id]

    def copy_to_device(self, target: BufferLoc, source: npt.NDArray[Any]) -> None: ...

    def copy_from_device(self, target: npt.NDArray[Any], source: BufferLoc) -> None: ...

    def copy_on_device(self, target: BufferLoc, source: BufferLoc, nbytes: int) -> None: ...

    def copy_strided_to_device(self, target: StridedLoc, source: npt.NDArray[Any]) -> None: ...

    def copy_strided_from_device(self, target: npt.NDArray[Any], source: StridedLoc) -> None: ...

    def copy_strided_on_device(self, target: StridedLoc, source: StridedLoc) -> None: ...

    def memset_zero(self, target: BufferLoc, nbytes: int) -> None: ...


class MappingMemory(FakeMemory):
    """Takes host arrays as pools, of at most `capacity` bytes each."""

    def map_host(self, pool_id: int, array: npt.NDArray[np.uint8]) -> None:
        assert pool_id not in self.pools
        if array.nbytes > self.capacity:
            raise DeviceError(f"cannot map {array.nbytes} bytes")
        self.pools[pool_id] = array.nbytes


def test_a_slab_gets_the_lowest_free_id_from_1_up():
    pool = SlabPool(FakeMemory())
    slabs = [pool.allocate(10), pool.reserve(20), pool.allocate(30)]
    assert [slab.pool_id for slab in slabs] == [1, 2, 3]
    pool.free([slabs[2], slabs[0]])
    assert [pool.allocate(1).pool_id for _ in range(3)] == [1, 3, 4]


def test_statistics_count_what_is_allocated_and_not_what_is_reserved():
    pool = SlabPool(FakeMemory())
    slabs = [pool.allocate(10), pool.reserve(500), pool.allocate(30)]
    pool.free(slabs[:1])
    assert pool.statistics() == SlabStatistics(n_slabs=2, nbytes=30, peak_nbytes=40, payload_nbytes=30)


def test_fragmentation_is_the_share_of_what_nothing_lies_in():
    pool = SlabPool(FakeMemory())
    assert pool.statistics().fragmentation == 0
    slabs = [pool.allocate(128, payload_nbytes=32), pool.allocate(72, payload_nbytes=68)]
    assert pool.statistics() == SlabStatistics(n_slabs=2, nbytes=200, peak_nbytes=200, payload_nbytes=100)
    assert pool.statistics().fragmentation == 0.5
    pool.free(slabs[:1])
    assert pool.statistics().payload_nbytes == 68


def test_the_device_is_told_what_a_slab_is_for():
    memory = FakeMemory()
    pool = SlabPool(memory)
    pool.allocate(8, HOSTED)
    pool.allocate(8)
    assert memory.modes == {1: HOSTED, 2: None}


def test_an_allocation_that_fails_holds_nothing():
    memory = FakeMemory(100)
    pool = SlabPool(memory)
    with pytest.raises(DeviceError, match="no room for 200 bytes"):
        pool.allocate(200)
    assert pool.statistics().n_slabs == 0
    assert pool.allocate(100).pool_id == 1


def test_what_is_freed_while_the_device_is_busy_is_freed_with_the_next_call():
    memory = FakeMemory()
    pool = SlabPool(memory)
    slab = pool.allocate(10)
    with pool.lock:
        pool.free([slab])
        assert memory.pools == {1: 10}
    assert pool.allocate(5).pool_id == 1
    assert memory.pools == {1: 5}


def test_a_reserved_id_is_not_freed_on_the_device():
    pool = SlabPool(FakeMemory())
    pool.free([pool.reserve(10)])
    assert pool.statistics().n_slabs == 0


def test_a_slab_knows_its_places():
    slab = SlabPool(FakeMemory()).allocate(128)
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
        SlabPool(FakeMemory()).allocate(0)


def test_the_merge_buffer_is_pool_0_and_grows_in_place():
    memory = FakeMemory()
    pool = SlabPool(memory)
    first = pool.allocate(10)
    merge = pool.grow_merge_buffer(100)
    assert (merge.pool_id, merge.nbytes) == (MERGE_POOL_ID, 100) == (0, 100)
    assert pool.grow_merge_buffer(300).nbytes == 300
    assert memory.pools == {first.pool_id: 10, 0: 300}
    assert pool.statistics() == SlabStatistics(n_slabs=2, nbytes=310, peak_nbytes=310, payload_nbytes=310)


def test_the_merge_buffer_does_not_shrink():
    memory = FakeMemory()
    pool = SlabPool(memory)
    merge = pool.grow_merge_buffer(100)
    assert pool.grow_merge_buffer(50) is merge
    assert memory.pools == {0: 100}


def test_a_merge_buffer_that_cannot_grow_is_gone():
    pool = SlabPool(FakeMemory(100))
    pool.grow_merge_buffer(50)
    with pytest.raises(DeviceError, match="no room for 200 bytes"):
        pool.grow_merge_buffer(200)
    assert pool.statistics() == SlabStatistics(n_slabs=0, nbytes=0, peak_nbytes=50, payload_nbytes=0)
    assert pool.grow_merge_buffer(60).nbytes == 60


def test_freeing_the_merge_buffer_twice_is_freeing_it_once():
    memory = FakeMemory()
    pool = SlabPool(memory)
    pool.free_merge_buffer()
    pool.grow_merge_buffer(50)
    pool.free_merge_buffer()
    pool.free_merge_buffer()
    assert memory.pools == {}
    assert pool.statistics().nbytes == 0


def test_each_further_stream_has_a_merge_buffer_in_a_pool_below_the_first():
    memory = FakeMemory()
    pool = SlabPool(memory)
    first, second = pool.take_merge_pool(), pool.take_merge_pool()
    assert (first, second) == (-1, -2)
    pool.grow_merge_buffer(50)
    pool.grow_merge_buffer(100, second)
    assert pool.grow_merge_buffer(200, second).pool_id == second
    assert memory.pools == {MERGE_POOL_ID: 50, second: 200}
    assert pool.sizes() == {MERGE_POOL_ID: 50, second: 200}
    assert pool.statistics() == SlabStatistics(n_slabs=2, nbytes=250, peak_nbytes=250, payload_nbytes=250)
    pool.free_merge_buffer(second)
    pool.free_merge_buffer(first)
    assert memory.pools == {MERGE_POOL_ID: 50}


def test_the_merge_buffer_of_a_stream_that_is_gone_is_freed_with_its_id():
    memory = FakeMemory()
    pool = SlabPool(memory)
    taken = pool.take_merge_pool()
    pool.grow_merge_buffer(100, taken)
    with pool.lock:
        pool.give_merge_pool_back(taken)
        assert memory.pools == {taken: 100}
    assert pool.statistics().n_slabs == 0
    assert memory.pools == {}
    assert [pool.take_merge_pool() for _ in range(2)] == [taken, taken - 1]


def test_a_mapped_array_is_a_slab_without_bytes_of_the_device():
    memory = MappingMemory()
    pool = SlabPool(memory)
    slab = pool.map_host(np.zeros(48, np.uint8))
    assert (slab.pool_id, slab.nbytes) == (1, 48)
    assert pool.statistics() == SlabStatistics(n_slabs=1, nbytes=0, peak_nbytes=0, payload_nbytes=0)
    pool.free([slab])
    assert memory.pools == {}
    assert pool.statistics().n_slabs == 0
    assert pool.allocate(10).pool_id == 1
    assert pool.statistics().nbytes == 10


def test_a_mapping_that_fails_holds_nothing():
    pool = SlabPool(MappingMemory(10))
    with pytest.raises(DeviceError, match="cannot map 48 bytes"):
        pool.map_host(np.zeros(48, np.uint8))
    assert pool.statistics().n_slabs == 0
    assert pool.allocate(1).pool_id == 1


def test_only_memory_that_works_in_host_arrays_maps_them():
    with pytest.raises(AssertionError, match="the device cannot work in the host's memory"):
        SlabPool(FakeMemory()).map_host(np.zeros(8, np.uint8))


def test_what_is_freed_while_the_device_is_busy_makes_room_for_the_merge_buffer():
    pool = SlabPool(FakeMemory(100))
    slab = pool.allocate(80)
    with pool.lock:
        pool.free([slab])
    assert pool.grow_merge_buffer(90).nbytes == 90


def test_statistics_and_sizes_say_what_is_held():
    pool = SlabPool(FakeMemory())
    slabs = [pool.allocate(256, payload_nbytes=192), pool.allocate(64)]
    pool.grow_merge_buffer(128)
    assert str(pool.statistics()) == "3 pools, 448 bytes (448 at most), 14.3% gaps"
    assert pool.sizes() == {0: 128, 1: 256, 2: 64}
    pool.free_merge_buffer()
    pool.free(slabs[:1])
    assert str(pool.statistics()) == "1 pool, 64 bytes (448 at most), 0.0% gaps"
    assert pool.sizes() == {2: 64}
