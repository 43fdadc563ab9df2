"""What every driver's memory does."""

from collections.abc import Iterator

import numpy as np
import pytest
from tenon.backends.interface import Backend, BufferLoc, Driver, HostMapped
from tenon.errors import DeviceError

POOL = 77


@pytest.fixture
def driver(device: Backend) -> Iterator[Driver]:
    """A driver that has pool `POOL` of 256 bytes."""
    device.driver.alloc_pool(POOL, 256, 64)
    yield device.driver
    device.driver.free_pool(POOL)


def read(driver: Driver, offset: int, nbytes: int, pool_id: int = POOL) -> list[int]:
    target = np.zeros(nbytes, np.uint8)
    driver.copy_from_device(target, BufferLoc(pool_id, offset))
    return target.tolist()


def test_what_is_written_is_read_back(driver: Driver):
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    driver.copy_to_device(BufferLoc(POOL, 64), data)
    found = np.zeros((3, 4), np.float32)
    driver.copy_from_device(found, BufferLoc(POOL, 64))
    np.testing.assert_array_equal(found, data)


def test_a_source_may_be_changed_at_once(driver: Driver):
    data = np.full(64, 7, np.uint8)
    driver.copy_to_device(BufferLoc(POOL, 0), data)
    data[:] = 9
    assert read(driver, 0, 64) == [7] * 64


def test_a_read_only_source_is_copied(driver: Driver):
    data = np.full(4, 5, np.uint8)
    data.flags.writeable = False
    driver.copy_to_device(BufferLoc(POOL, 3), data)
    assert read(driver, 3, 4) == [5] * 4


def test_writes_touch_only_their_bytes(driver: Driver):
    driver.memset_zero(BufferLoc(POOL, 0), 256)
    driver.copy_to_device(BufferLoc(POOL, 5), np.full(3, 255, np.uint8))
    assert read(driver, 4, 5) == [0, 255, 255, 255, 0]


def test_zeroing_touches_only_its_bytes(driver: Driver):
    driver.copy_to_device(BufferLoc(POOL, 0), np.full(256, 255, np.uint8))
    driver.memset_zero(BufferLoc(POOL, 8), 4)
    assert read(driver, 7, 6) == [255, 0, 0, 0, 0, 255]


def test_copies_stay_on_the_device(driver: Driver):
    driver.memset_zero(BufferLoc(POOL, 0), 256)
    driver.copy_to_device(BufferLoc(POOL, 0), np.arange(8, dtype=np.uint8))
    driver.copy_on_device(BufferLoc(POOL, 100), BufferLoc(POOL, 2), 4)
    assert read(driver, 99, 6) == [0, 2, 3, 4, 5, 0]


def test_no_bytes_are_copied_without_complaint(driver: Driver):
    end = BufferLoc(POOL, 256)
    driver.copy_to_device(end, np.zeros(0, np.float32))
    driver.copy_from_device(np.zeros((0, 3), np.float32), end)
    driver.copy_on_device(end, BufferLoc(POOL, 0), 0)
    driver.memset_zero(end, 0)


def test_a_pool_of_no_bytes_is_a_pool(device: Backend):
    device.driver.alloc_pool(POOL, 0, 64)
    device.driver.copy_to_device(BufferLoc(POOL, 0), np.zeros(0, np.uint8))
    device.driver.free_pool(POOL)


def test_a_pool_id_is_used_once_at_a_time(driver: Driver):
    with pytest.raises(DeviceError, match=rf"pool {POOL} is (allocated already|already allocated)"):
        driver.alloc_pool(POOL, 8, 8)
    driver.free_pool(POOL)
    driver.alloc_pool(POOL, 256, 64)


def test_what_is_freed_is_gone(device: Backend):
    device.driver.alloc_pool(POOL, 8, 8)
    device.driver.free_pool(POOL)
    with pytest.raises(DeviceError, match=rf"pool {POOL} is not allocated"):
        device.driver.free_pool(POOL)
    with pytest.raises(DeviceError, match=rf"pool {POOL} is not allocated"):
        device.driver.memset_zero(BufferLoc(POOL, 0), 8)


@pytest.mark.parametrize(("offset", "nbytes"), [(250, 8), (256, 1), (-4, 4)])
def test_no_byte_outside_of_a_pool_is_touched(driver: Driver, offset: int, nbytes: int):
    place = BufferLoc(POOL, offset)
    with pytest.raises((DeviceError, AssertionError), match=r"inside|outside"):
        driver.copy_to_device(place, np.zeros(nbytes, np.uint8))
    with pytest.raises((DeviceError, AssertionError), match=r"inside|outside"):
        driver.copy_from_device(np.zeros(nbytes, np.uint8), place)
    with pytest.raises((DeviceError, AssertionError), match=r"inside|outside"):
        driver.copy_on_device(BufferLoc(POOL, 0), place, nbytes)
    with pytest.raises((DeviceError, AssertionError), match=r"inside|outside"):
        driver.memset_zero(place, nbytes)


def test_more_than_there_is_cannot_be_allocated(device: Backend):
    with pytest.raises(DeviceError, match=rf"pool {POOL}\b"):
        device.driver.alloc_pool(POOL, 2**60, 64)
    device.driver.alloc_pool(POOL, 8, 8)
    device.driver.free_pool(POOL)


def test_a_mapped_array_is_the_pool(device: Backend):
    driver = device.driver
    if not isinstance(driver, HostMapped):
        pytest.skip("this device does not work in host memory")
    array = np.arange(16, dtype=np.uint8)
    driver.map_host(POOL, array)
    driver.copy_on_device(BufferLoc(POOL, 8), BufferLoc(POOL, 0), 4)
    assert read(driver, 8, 4) == [0, 1, 2, 3]
    driver.free_pool(POOL)
    assert array.tolist() == [*range(8), 0, 1, 2, 3, 12, 13, 14, 15]
