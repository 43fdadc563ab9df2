"""The kernel that copies between any two strided places."""

from typing import Any

import numpy as np
import pytest
from tenon.backends.interface import BufferLoc, StridedLoc
from tenon.backends.opencl import backend
from tenon.backends.strided_box import box_of

pytest.importorskip("pyopencl")


def pools(nbytes: int) -> tuple[Any, Any]:
    """Returns a driver whose pools 1 and 2 are of `nbytes`, and what pool 2 holds."""
    driver = backend().driver
    memory = (np.arange(nbytes) % 251).astype(np.uint8)
    for pool_id in (1, 2):
        driver.alloc_pool(pool_id, nbytes, 64)
    driver.memset_zero(BufferLoc(1, 0), nbytes)
    driver.copy_to_device(BufferLoc(2, 0), memory)
    return driver, memory


def test_axes_that_are_too_many_for_one_launch_take_several():
    driver, memory = pools(8192)
    shape, strides = (2, 2, 2, 3, 2, 2), (2000, 900, 400, 120, 48, 20)
    wide = tuple(2 * stride for stride in strides)
    assert len(box_of(shape, 4, wide, strides).extents) == 6
    source = np.lib.stride_tricks.as_strided(memory.view(np.uint32), shape, strides)
    target = StridedLoc(BufferLoc(1, 3), shape, wide, 4)
    driver.copy_strided_on_device(target, StridedLoc(BufferLoc(2, 0), shape, strides, 4))
    found = np.zeros(shape, np.uint32)
    driver.copy_strided_from_device(found, target)
    np.testing.assert_array_equal(found, source)


@pytest.mark.parametrize("itemsize", [1, 2, 3, 4, 8, 12, 16])
@pytest.mark.parametrize("start", [0, 1, 2, 4])
def test_elements_of_any_size_and_place_go_backwards(itemsize: int, start: int):
    driver, memory = pools(256)
    last = start + 9 * itemsize
    driver.copy_strided_on_device(
        StridedLoc(BufferLoc(1, start), (10,), (itemsize,), itemsize),
        StridedLoc(BufferLoc(2, last), (10,), (-itemsize,), itemsize),
    )
    found = np.zeros((10, itemsize), np.uint8)
    driver.copy_from_device(found, BufferLoc(1, start))
    wanted = memory[start : start + 10 * itemsize].reshape(10, itemsize)[::-1]
    np.testing.assert_array_equal(found, wanted)
