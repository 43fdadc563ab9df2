"""Freed buffers of a device's own memory: what is kept, for whom, and when it is released."""

from typing import Any

import numpy as np
import pytest
from tenon.backends.interface import BufferLoc
from tenon.backends.opencl import backend
from tenon.backends.opencl.driver import OpenCLDriver
from tenon.backends.opencl.kept_buffers import KeptBuffers
from tenon.dialects.memory_modes import MemoryMode, ModeKind
from tenon.errors import OutOfMemoryError
from tenon.test.unit.backends.opencl.error_records import error_record

cl = pytest.importorskip("pyopencl")


class Buffer:
    """Stands for memory of a device."""

    is_released = False

    def release(self) -> None:
        assert not self.is_released
        self.is_released = True


def buffers_of(count: int) -> list[Any]:
    return [Buffer() for _ in range(count)]


def plain_driver() -> Any:
    """A driver with memory of its own, as that of a GPU."""
    it: Any = backend().driver
    return OpenCLDriver(it.context, it.device, it.info)


def test_a_buffer_is_taken_once_and_only_for_its_size():
    kept, buffers = KeptBuffers(100), buffers_of(2)
    for buffer in buffers:
        kept.keep(buffer, 40)
    assert kept.nbytes == 80 and kept.take(39) is None and kept.take(41) is None
    assert {id(kept.take(40)), id(kept.take(40))} == set(map(id, buffers))
    assert kept.take(40) is None and kept.nbytes == 0
    assert not any(buffer.is_released for buffer in buffers)


def test_those_of_the_size_that_was_kept_the_longest_ago_go_first():
    kept, buffers = KeptBuffers(100), buffers_of(4)
    for buffer, nbytes in zip(buffers, (30, 30, 40, 50), strict=True):
        kept.keep(buffer, nbytes)
    assert [buffer.is_released for buffer in buffers] == [True, True, False, False]
    assert kept.nbytes == 90
    kept.clear()
    assert all(buffer.is_released for buffer in buffers) and kept.nbytes == 0


@pytest.mark.parametrize(("nbytes", "is_kept"), [(100, True), (101, False)])
def test_a_buffer_larger_than_all_that_may_be_kept_is_released(nbytes: int, is_kept: bool):
    kept, (small, buffer) = KeptBuffers(100), buffers_of(2)
    kept.keep(small, 1)
    kept.keep(buffer, nbytes)
    assert (small.is_released, buffer.is_released) == (is_kept, not is_kept)


def test_the_next_pool_of_a_size_has_the_buffer_of_one_that_was_freed():
    driver = plain_driver()
    driver.alloc_pool(1, 64, 64)
    buffer = driver.pool(1).buffer
    driver.copy_to_device(BufferLoc(1, 0), np.full(16, 7, np.float32))
    driver.free_pool(1)
    driver.alloc_pool(2, 128, 64)
    assert driver.pool(2).buffer is not buffer
    driver.alloc_pool(3, 64, 64)
    assert driver.pool(3).buffer is buffer
    driver.memset_zero(BufferLoc(3, 0), 64)
    found = np.ones(16, np.float32)
    driver.copy_from_device(found, BufferLoc(3, 0))
    assert not found.any()


def test_hosted_memory_is_not_kept():
    driver = plain_driver()
    driver.alloc_pool(1, 64, 64, MemoryMode(ModeKind.HOSTED))
    driver.free_pool(1)
    assert driver.table.kept.nbytes == 0


def test_nothing_is_kept_once_a_second_queue_works_in_the_pools():
    driver = plain_driver()
    for pool_id in (1, 2):
        driver.alloc_pool(pool_id, 64, 64)
    driver.free_pool(1)
    assert driver.table.kept.nbytes == 64
    stream = driver.new_stream()
    assert driver.table.kept.nbytes == 0
    stream.free_pool(2)
    assert driver.table.kept.nbytes == 0
    del stream
    driver.alloc_pool(1, 64, 64)
    driver.free_pool(1)
    assert driver.table.kept.nbytes == 0


def test_what_is_kept_is_released_for_a_pool_that_the_device_has_no_memory_for(
    monkeypatch: pytest.MonkeyPatch,
):
    driver, make, tries = plain_driver(), cl.Buffer, list[int]()
    driver.alloc_pool(1, 64, 64)
    driver.free_pool(1)

    def fail_once(*given: Any, **named: Any) -> Any:
        tries.append(driver.table.kept.nbytes)
        if len(tries) == 1:
            raise cl.RuntimeError(error_record("create_buffer", -4))
        return make(*given, **named)

    def fail(*_: object, **__: object) -> None:
        raise cl.RuntimeError(error_record("create_buffer", -4))

    monkeypatch.setattr(cl, "Buffer", fail_once)
    driver.alloc_pool(2, 128, 64)
    assert tries == [64, 0]
    monkeypatch.setattr(cl, "Buffer", fail)
    with pytest.raises(OutOfMemoryError, match="cannot allocate pool 3 of 32 bytes"):
        driver.alloc_pool(3, 32, 64)


def test_what_is_kept_makes_room_before_the_device_is_full():
    driver = plain_driver()
    driver.table.device_nbytes = 1000
    driver.alloc_pool(1, 64, 64)
    driver.alloc_pool(2, 300, 64)
    driver.free_pool(1)
    driver.alloc_pool(3, 386, 64)
    assert driver.table.kept.nbytes == 64
    driver.alloc_pool(4, 1, 64)
    assert driver.table.kept.nbytes == 0
