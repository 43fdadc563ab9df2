"""Pools in this process's memory."""

import numpy as np
import pytest
from tenon.backends.host_memory import HostMemory
from tenon.backends.interface import BufferLoc, StridedLoc
from tenon.errors import DeviceError, OutOfMemoryError


def test_generation_tells_that_a_pool_came_or_went():
    memory = HostMemory("host")
    generations = [memory.generation]
    memory.alloc_pool(1, 8, 8)
    generations.append(memory.generation)
    memory.map_host(2, np.zeros(8, np.uint8))
    generations.append(memory.generation)
    memory.free_pool(1)
    generations.append(memory.generation)
    assert len(set(generations)) == 4
    memory.memset_zero(BufferLoc(2, 0), 8)
    assert memory.generation == generations[-1]


def test_errors_name_the_backend():
    memory = HostMemory("host")
    with pytest.raises(OutOfMemoryError, match=rf"^host: cannot allocate {1 << 60} bytes for pool 1$"):
        memory.alloc_pool(1, 1 << 60, 64)
    memory.alloc_pool(1, 8, 8)
    with pytest.raises(DeviceError, match=r"^host: pool 1 is already allocated$"):
        memory.map_host(1, np.zeros(8, np.uint8))
    with pytest.raises(DeviceError, match=r"^host: pool 2 is not allocated$"):
        memory.address(BufferLoc(2, 0))
    assert repr(memory) == "HostMemory('host', pools {1: 8 bytes})"


def test_large_pools_begin_at_a_large_page():
    memory, page = HostMemory("host"), 1 << 21
    for pool_id, (nbytes, alignment, expected) in enumerate(
        [(8, 1, 64), (8, 256, 256), (page - 1, 8, 64), (page, 8, page), (page + 5, 2 * page, 2 * page)]
    ):
        memory.alloc_pool(pool_id, nbytes, alignment)
        assert memory.address(BufferLoc(pool_id, 0)) % expected == 0
        assert memory.host_view(BufferLoc(pool_id, 0), nbytes).nbytes == nbytes


def test_addresses_are_those_of_the_bytes():
    memory = HostMemory("host")
    array = np.zeros(8, np.uint8)
    memory.map_host(1, array)
    assert memory.address(BufferLoc(1, 3)) == array.ctypes.data + 3
    with pytest.raises(AssertionError, match=r"^pool 1 \+ 0x9 is outside its 8 bytes$"):
        memory.address(BufferLoc(1, 9))


def test_what_is_no_row_of_bytes_cannot_be_mapped():
    memory = HostMemory("host")
    for array in (np.zeros(8, np.int8), np.zeros((2, 4), np.uint8), np.zeros(8, np.uint8)[::2]):
        with pytest.raises(AssertionError, match=r"^not a row of bytes$"):
            memory.map_host(1, array)  # pyright: ignore[reportArgumentType]


def test_arrays_with_gaps_take_the_strided_copies():
    memory = HostMemory("host")
    memory.alloc_pool(1, 64, 64)
    gaps = np.zeros(8, np.int32)[::2]
    with pytest.raises(AssertionError, match=r"^the source is not contiguous$"):
        memory.copy_to_device(BufferLoc(1, 0), gaps)
    with pytest.raises(AssertionError, match=r"^the target is not contiguous$"):
        memory.copy_from_device(gaps, BufferLoc(1, 0))
    memory.copy_strided_to_device(StridedLoc(BufferLoc(1, 0), (4,), (4,), 4), gaps + 5)
    memory.copy_strided_from_device(gaps, StridedLoc(BufferLoc(1, 12), (4,), (-4,), 4))
    assert gaps.tolist() == [5] * 4


def test_a_strided_place_outside_its_pool_says_where_it_is():
    memory = HostMemory("host")
    memory.alloc_pool(1, 64, 64)
    with pytest.raises(
        AssertionError, match=r"^pool 1 \+ 0x4 of \[2, 3\] by \[-12, 4\] bytes is outside its 64 bytes$"
    ):
        memory.copy_strided_to_device(
            StridedLoc(BufferLoc(1, 4), (2, 3), (-12, 4), 4), np.zeros((2, 3), np.int32)
        )


def test_copies_within_a_pool_may_overlap():
    memory = HostMemory("host")
    memory.alloc_pool(1, 8, 8)
    memory.copy_to_device(BufferLoc(1, 0), np.arange(8, dtype=np.uint8))
    memory.copy_on_device(BufferLoc(1, 2), BufferLoc(1, 0), 6)
    assert memory.host_view(BufferLoc(1, 0), 8).tolist() == [0, 1, 0, 1, 2, 3, 4, 5]


def test_a_pool_that_is_freed_has_no_address():
    memory = HostMemory("host")
    memory.alloc_pool(1, 8, 8)
    memory.free_pool(1)
    with pytest.raises(DeviceError, match=r"^host: pool 1 is not allocated$"):
        memory.address(BufferLoc(1, 0))
