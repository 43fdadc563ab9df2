"""What every driver's memory does."""

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tenon.backends.interface import (
    Backend,
    BufferLoc,
    Driver,
    HostMapped,
    HostVisible,
    PeerCopies,
    PinnedHost,
    Queued,
    StridedLoc,
)
from tenon.dialects.memory_modes import HostedKind, MemoryMode, ModeKind
from tenon.errors import DeviceError, OutOfMemoryError

from . import strided_places

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
    with pytest.raises(OutOfMemoryError, match=rf"pool {POOL}\b"):
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


def test_a_pool_for_hosted_tensors_is_a_pool(device: Backend):
    for kind in ModeKind:
        device.driver.alloc_pool(POOL, 64, 64, MemoryMode(kind))
        device.driver.copy_to_device(BufferLoc(POOL, 8), np.arange(8, dtype=np.uint8))
        assert read(device.driver, 8, 8) == list(range(8))
        device.driver.free_pool(POOL)
    device.driver.alloc_pool(POOL, 0, 64, MemoryMode(ModeKind.HOSTED, HostedKind.CONSTANT))
    device.driver.free_pool(POOL)


def test_elements_of_any_dtype_are_copied(driver: Driver):
    data = np.arange(6).astype(ml_dtypes.bfloat16).reshape(2, 3)
    driver.copy_to_device(BufferLoc(POOL, 2), data)
    found = np.zeros((2, 3), ml_dtypes.bfloat16)
    driver.copy_from_device(found, BufferLoc(POOL, 2))
    assert found.tolist() == data.tolist()


def filled(driver: Driver, pool_id: int, first: int) -> npt.NDArray[np.uint8]:
    """Fills a pool with bytes that tell its places apart, and returns them."""
    memory = ((np.arange(strided_places.POOL_NBYTES) * 7 + first) % 253).astype(np.uint8)
    driver.copy_to_device(BufferLoc(pool_id, 0), memory)
    return memory


def whole(driver: Driver, pool_id: int) -> npt.NDArray[np.uint8]:
    memory = np.zeros(strided_places.POOL_NBYTES, np.uint8)
    driver.copy_from_device(memory, BufferLoc(pool_id, 0))
    return memory


@pytest.fixture
def two_pools(device: Backend) -> Iterator[Driver]:
    """A driver with two pools, `POOL` and the one after it, that hold any strided place."""
    for pool_id in (POOL, POOL + 1):
        device.driver.alloc_pool(pool_id, strided_places.POOL_NBYTES, 64)
    yield device.driver
    for pool_id in (POOL, POOL + 1):
        device.driver.free_pool(pool_id)


SETTINGS = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@SETTINGS
@given(shape=strided_places.SHAPES, data=st.data())
def test_strided_copies_to_the_device_are_those_of_numpy(
    two_pools: Driver, shape: strided_places.Shape, data: st.DataObject
):
    target = data.draw(strided_places.places(*shape, POOL))
    source = data.draw(strided_places.host_arrays(*shape))
    expected = filled(two_pools, POOL, 3)
    strided_places.elements(expected, target)[...] = strided_places.bytes_of(source)
    two_pools.copy_strided_to_device(target, source)
    np.testing.assert_array_equal(whole(two_pools, POOL), expected)


@SETTINGS
@given(shape=strided_places.SHAPES, data=st.data())
def test_strided_copies_from_the_device_are_those_of_numpy(
    two_pools: Driver, shape: strided_places.Shape, data: st.DataObject
):
    source = data.draw(strided_places.places(*shape, POOL))
    target = data.draw(strided_places.host_arrays(*shape))
    memory = filled(two_pools, POOL, 5)
    two_pools.copy_strided_from_device(target, source)
    expected = strided_places.elements(memory, source)
    np.testing.assert_array_equal(strided_places.bytes_of(target), expected)


@SETTINGS
@given(shape=strided_places.SHAPES, data=st.data())
def test_strided_copies_on_the_device_are_those_of_numpy(
    two_pools: Driver, shape: strided_places.Shape, data: st.DataObject
):
    target = data.draw(strided_places.places(*shape, POOL))
    source = data.draw(strided_places.places(*shape, POOL + 1))
    expected, origin = filled(two_pools, POOL, 0), filled(two_pools, POOL + 1, 100)
    strided_places.elements(expected, target)[...] = strided_places.elements(origin, source)
    two_pools.copy_strided_on_device(target, source)
    np.testing.assert_array_equal(whole(two_pools, POOL), expected)


@pytest.mark.parametrize("source_strides", [(64, 4), (-64, 4), (0, 4), (4, 64)])
def test_a_strided_copy_may_stay_in_its_pool(driver: Driver, source_strides: tuple[int, int]):
    memory = np.arange(256, dtype=np.uint8)
    driver.copy_to_device(BufferLoc(POOL, 0), memory)
    source = StridedLoc(BufferLoc(POOL, 64 if source_strides[0] < 0 else 0), (2, 2), source_strides, 4)
    target = StridedLoc(BufferLoc(POOL, 128), (2, 2), (32, 8), 4)
    strided_places.elements(memory, target)[...] = strided_places.elements(memory, source)
    driver.copy_strided_on_device(target, source)
    assert read(driver, 0, 256) == memory.tolist()


def test_strided_copies_of_other_shapes_or_places_are_refused(driver: Driver):
    place = StridedLoc(BufferLoc(POOL, 0), (2, 3), (12, 4), 4)
    with pytest.raises(AssertionError, match=r"array of \[3, 2\] by 4 bytes, device memory of \[2, 3\] by 4"):
        driver.copy_strided_to_device(place, np.zeros((3, 2), np.float32))
    with pytest.raises(AssertionError, match=r"array of \[2, 3\] by 8 bytes, device memory of \[2, 3\] by 4"):
        driver.copy_strided_from_device(np.zeros((2, 3)), place)
    with pytest.raises(AssertionError, match=r"source of \[2, 3\] by 4 bytes, target of \[2, 2\] by 4"):
        driver.copy_strided_on_device(StridedLoc(BufferLoc(POOL, 0), (2, 2), (12, 4), 4), place)
    for start, strides in ((0, (256, 4)), (0, (-12, 4)), (250, (12, 4)), (-4, (12, 4))):
        outside = StridedLoc(BufferLoc(POOL, start), (2, 3), strides, 4)
        with pytest.raises((DeviceError, AssertionError), match=r"inside|outside"):
            driver.copy_strided_to_device(outside, np.zeros((2, 3), np.float32))
        with pytest.raises((DeviceError, AssertionError), match=r"inside|outside"):
            driver.copy_strided_from_device(np.zeros((2, 3), np.float32), outside)
        with pytest.raises((DeviceError, AssertionError), match=r"inside|outside"):
            driver.copy_strided_on_device(place, outside)


def test_the_host_sees_the_pool_itself(driver: Driver):
    if not isinstance(driver, HostVisible):
        pytest.skip("the host cannot see this device's memory")
    view = driver.host_view(BufferLoc(POOL, 16), 8)
    view[:] = np.arange(8)
    assert read(driver, 16, 8) == list(range(8))
    driver.memset_zero(BufferLoc(POOL, 20), 4)
    driver.synchronize()
    assert view.tolist() == [0, 1, 2, 3, 0, 0, 0, 0]
    assert driver.host_view(BufferLoc(POOL, 256), 0).nbytes == 0
    with pytest.raises((DeviceError, AssertionError), match=r"inside|outside"):
        driver.host_view(BufferLoc(POOL, 250), 8)
    driver.alloc_pool(POOL + 1, 0, 64)
    assert driver.host_view(BufferLoc(POOL + 1, 0), 0).nbytes == 0
    driver.free_pool(POOL + 1)


def test_a_mapped_array_is_what_the_host_sees(device: Backend):
    driver = device.driver
    if not isinstance(driver, HostMapped) or not isinstance(driver, HostVisible):
        pytest.skip("this device does not work in host memory")
    array = np.arange(16, dtype=np.uint8)
    driver.map_host(POOL, array)
    assert np.shares_memory(driver.host_view(BufferLoc(POOL, 4), 4), array)
    driver.free_pool(POOL)


def test_pinned_memory_is_the_hosts_as_long_as_it_is_used(driver: Driver):
    if not isinstance(driver, PinnedHost):
        pytest.skip("this device has no host memory of its own")
    memory = driver.empty_host(64)
    memory[:] = np.arange(64)
    view = memory[8:24].view(np.uint16)
    del memory
    driver.copy_to_device(BufferLoc(POOL, 0), view)
    view[:] = 0
    driver.copy_from_device(view, BufferLoc(POOL, 0))
    assert view.view(np.uint8).tolist() == list(range(8, 24))
    assert driver.empty_host(0).nbytes == 0
    with pytest.raises(OutOfMemoryError, match=rf"cannot pin {1 << 60} bytes"):
        driver.empty_host(1 << 60)


def test_what_is_queued_is_done_at_its_event(driver: Driver):
    if not isinstance(driver, Queued):
        pytest.skip("this device has done its work when a call returns")
    source, target = np.arange(64, dtype=np.uint8), np.zeros(64, np.uint8)
    driver.queue_copy_to_device(BufferLoc(POOL, 0), source)
    driver.copy_on_device(BufferLoc(POOL, 64), BufferLoc(POOL, 0), 64)
    driver.queue_copy_from_device(target, BufferLoc(POOL, 64))
    event = driver.record()
    event.wait()
    assert event.is_done()
    assert target.tolist() == source.tolist()
    driver.queue_copy_to_device(BufferLoc(POOL, 0), np.zeros(0))
    driver.queue_copy_from_device(np.zeros(0), BufferLoc(POOL, 0))


def test_a_source_that_is_queued_is_kept_by_nobody_else(driver: Driver):
    if not isinstance(driver, Queued):
        pytest.skip("this device has done its work when a call returns")
    sources = [np.full(16, number, np.uint8) for number in range(16)]
    for number, source in enumerate(sources):
        driver.queue_copy_to_device(BufferLoc(POOL, 16 * number), source)
    driver.record().wait()
    assert read(driver, 0, 256) == [number for number in range(16) for _ in range(16)]


def test_devices_of_a_kind_wait_for_each_other(pair: list[Backend]):
    first, second = (backend.driver for backend in pair)
    if not isinstance(first, Queued) or not isinstance(second, Queued):
        pytest.skip("this device has done its work when a call returns")
    other = object()
    assert not first.reaches_event(other)  # pyright: ignore[reportArgumentType]
    event = first.record()
    assert second.reaches_event(event) and first.reaches_event(event)
    second.wait_for(event)
    point = second.record()
    second.synchronize()
    assert point.is_done() and event.is_done()


def test_devices_of_a_kind_copy_from_each_other(pair: list[Backend]):
    first, second = (backend.driver for backend in pair)
    if not isinstance(first, PeerCopies) or not isinstance(second, PeerCopies):
        pytest.skip("this device copies through the host")
    assert first.reaches(second) and second.reaches(first) and first.reaches(first)
    first.alloc_pool(POOL, 64, 64)
    second.alloc_pool(POOL, 64, 64)
    first.copy_to_device(BufferLoc(POOL, 0), np.arange(64, dtype=np.uint8))
    first.synchronize()
    second.memset_zero(BufferLoc(POOL, 0), 64)
    second.copy_from_peer(BufferLoc(POOL, 8), first, BufferLoc(POOL, 4), 8)
    second.copy_from_peer(BufferLoc(POOL, 64), first, BufferLoc(POOL, 0), 0)
    assert read(second, 0, 24) == [0] * 8 + list(range(4, 12)) + [0] * 8
    first.copy_from_peer(BufferLoc(POOL, 0), first, BufferLoc(POOL, 32), 8)
    assert read(first, 0, 8) == list(range(32, 40))
    with pytest.raises((DeviceError, AssertionError), match=r"inside|outside"):
        second.copy_from_peer(BufferLoc(POOL, 0), first, BufferLoc(POOL, 60), 8)
    for driver in (first, second):
        driver.free_pool(POOL)


def test_memory_of_another_kind_is_out_of_reach(device: Backend):
    class Elsewhere:
        """Memory of no driver."""

    if not isinstance(device.driver, PeerCopies):
        pytest.skip("this device copies through the host")
    elsewhere: Any = Elsewhere()
    assert not device.driver.reaches(elsewhere)
    with pytest.raises(AssertionError, match=r"is out of reach$"):
        device.driver.copy_from_peer(BufferLoc(POOL, 0), elsewhere, BufferLoc(POOL, 0), 4)
