"""Devices, programs, pools and launches."""

import functools
import re
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tenon.backends.interface import Backend, BufferLoc, CompiledArtifact, HostMapped, HostVisible, StridedLoc
from tenon.backends.opencl import backend, backends
from tenon.backends.opencl.compile import OpenCLCompiler
from tenon.backends.opencl.device import choose_devices
from tenon.backends.opencl.driver import OpenCLDriver
from tenon.backends.registry import get_backend
from tenon.dialects.memory_modes import MemoryMode, ModeKind
from tenon.errors import (
    DeviceError,
    DeviceLostError,
    KernelCompileError,
    MissingExtraError,
    OutOfMemoryError,
)
from tenon.test.unit.backends.opencl.error_records import error_record

cl = pytest.importorskip("pyopencl")

ADD_ONE = """
__attribute__((reqd_work_group_size(2, 1, 1)))
__kernel void add_one(__global uchar *p0, ulong o0) {
    __global float *x = (__global float *)(p0 + o0);
    x[get_global_id(0)] += 1.0f;
}
"""


@functools.cache
def opencl() -> Backend:
    return backend()


@functools.cache
def add_one() -> CompiledArtifact:
    return opencl().compiler.compile(ADD_ONE, opencl().device)


@pytest.fixture
def driver() -> Any:
    """A driver whose pool 1 is of 64 bytes, the floats from 0 to 15."""
    it = opencl().driver
    it.alloc_pool(1, 64, 64)
    it.copy_to_device(BufferLoc(1, 0), np.arange(16, dtype=np.float32))
    yield it
    it.free_pool(1)


def pool(driver: Any, pool_id: int = 1, count: int = 16) -> list[float]:
    array = np.zeros(count, np.float32)
    driver.copy_from_device(array, BufferLoc(pool_id, 0))
    return array.tolist()


def test_pocl_is_the_default_and_a_name_picks_a_device():
    assert choose_devices(None)[0].platform.name == "Portable Computing Language"
    assert opencl().device.vector_nbytes in (16, 32, 64)
    assert opencl().name == "opencl"
    assert backend("portable computing").device == opencl().device


def test_a_device_that_is_not_there_is_an_error_that_lists_those_that_are():
    with pytest.raises(
        DeviceError,
        match=r"^opencl: no device matches 'x9' \(there are: .*Portable Computing Language: .+\)$",
    ):
        backend("x9")


def test_the_environment_chooses_the_device(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TENON_OPENCL_DEVICE", "x9")
    with pytest.raises(DeviceError, match=r"^opencl: no device matches 'x9' "):
        get_backend("opencl")
    monkeypatch.setenv("TENON_OPENCL_DEVICE", "portable computing")
    assert get_backend("opencl").device.name == backend().device.name
    monkeypatch.setenv("TENON_OPENCL_DEVICE", "")
    assert get_backend("opencl").device.name == backend().device.name


def test_no_platform_at_all_is_no_device(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cl, "get_platforms", list)
    with pytest.raises(DeviceError, match=r"^opencl: there is no device$"):
        backend()
    with pytest.raises(DeviceError, match=r"^opencl: no device matches 'x' \(there are: none\)$"):
        backend("x")


def test_a_missing_pyopencl_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    message = r"^opencl: pyopencl is not installed; pip install 'tenon\[opencl\]'$"
    with pytest.raises(MissingExtraError, match=message):
        backend()


def test_importing_the_backend_does_not_import_pyopencl():
    script = "import sys, tenon.backends.opencl.target; assert 'pyopencl' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_program_lists_its_kernels_and_is_silent(capfd: pytest.CaptureFixture[str]):
    source = ADD_ONE + ADD_ONE.replace("add_one", "again").replace("x[", "int unused; x[")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        artifact = opencl().compiler.compile(source, opencl().device)
    assert sorted(artifact.entry_points) == ["add_one", "again"]
    assert capfd.readouterr() == ("", "")


def test_a_program_that_does_not_compile_is_an_error_with_the_log():
    with pytest.raises(
        KernelCompileError, match=r"^opencl: cannot compile add_one for device .+\n"
    ) as caught:
        opencl().compiler.compile(ADD_ONE.replace("1.0f", "banana"), opencl().device)
    assert "use of undeclared identifier 'banana'" in caught.value.log
    with pytest.raises(KernelCompileError, match=r"^opencl: cannot compile no kernel for device "):
        opencl().compiler.compile("banana", opencl().device)


def test_an_artifact_without_the_kernel_is_an_error():
    with pytest.raises(DeviceError, match=r"^opencl: no kernel @missing \(there are: add_one\)$"):
        opencl().driver.get_kernel(add_one(), "missing")


def test_launches_run_in_order_on_the_bytes_from_the_offset_on(driver: Any):
    kernel = driver.get_kernel(add_one(), "add_one")
    driver.launch(kernel, (2, 1, 1), (2, 1, 1), [BufferLoc(1, 0)])
    driver.launch(kernel, (2, 1, 1), (2, 1, 1), [BufferLoc(1, 0)])
    driver.launch(kernel, (1, 1, 1), (2, 1, 1), [BufferLoc(1, 56)])
    driver.synchronize()
    assert pool(driver) == [2, 3, 4, 5, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16]


def test_a_pool_made_again_under_its_id_is_the_one_that_is_used(driver: Any):
    kernel = driver.get_kernel(add_one(), "add_one")
    driver.alloc_pool(2, 8, 8)
    driver.memset_zero(BufferLoc(2, 0), 8)
    driver.launch(kernel, (1, 1, 1), (2, 1, 1), [BufferLoc(2, 0)])
    driver.free_pool(2)
    driver.alloc_pool(2, 8, 8)
    driver.memset_zero(BufferLoc(2, 0), 8)
    driver.launch(kernel, (1, 1, 1), (2, 1, 1), [BufferLoc(2, 0)])
    assert pool(driver, 2, 2) == [1, 1]
    driver.free_pool(2)


def test_an_empty_grid_launches_nothing(driver: Any):
    driver.launch(driver.get_kernel(add_one(), "add_one"), (2, 0, 1), (2, 1, 1), [BufferLoc(1, 0)])
    assert pool(driver) == list(range(16))


def test_a_launch_that_fails_names_the_kernel(driver: Any):
    kernel = driver.get_kernel(add_one(), "add_one")
    with pytest.raises(
        DeviceError,
        match=r"^opencl: cannot launch @add_one with grid \[1, 1, 1\] block \[3, 1, 1\] on device "
        r".+\(.*INVALID_WORK_GROUP_SIZE",
    ):
        driver.launch(kernel, (1, 1, 1), (3, 1, 1), [BufferLoc(1, 0)])
    with pytest.raises(DeviceError, match=r"^opencl: @add_one takes 1 arguments, 2 are given$"):
        driver.launch(kernel, (1, 1, 1), (2, 1, 1), [BufferLoc(1, 0), BufferLoc(1, 0)])


def test_copies_take_offsets(driver: Any):
    driver.copy_to_device(BufferLoc(1, 8), np.array([70.0, 80.0], np.float32))
    driver.copy_on_device(BufferLoc(1, 24), BufferLoc(1, 4), 12)
    driver.memset_zero(BufferLoc(1, 40), 8)
    assert pool(driver) == [0, 1, 70, 80, 4, 5, 1, 70, 80, 9, 0, 0, 12, 13, 14, 15]
    two = np.zeros(2, np.float32)
    driver.copy_from_device(two, BufferLoc(1, 8))
    assert two.tolist() == [70, 80]


def test_copies_and_pools_of_no_bytes_do_nothing(driver: Any):
    driver.alloc_pool(2, 0, 64)
    empty = np.zeros(0, np.float32)
    driver.copy_to_device(BufferLoc(2, 0), empty)
    driver.copy_on_device(BufferLoc(1, 64), BufferLoc(2, 0), 0)
    driver.memset_zero(BufferLoc(2, 0), 0)
    driver.copy_from_device(empty, BufferLoc(1, 64))
    driver.free_pool(2)
    assert pool(driver) == list(range(16))


def test_a_copy_that_overlaps_itself_is_an_error(driver: Any):
    with pytest.raises(
        DeviceError, match=r"^opencl: copy of 8 bytes from pool 1 \+ 0x0 to pool 1 \+ 0x4 overlaps itself$"
    ):
        driver.copy_on_device(BufferLoc(1, 4), BufferLoc(1, 0), 8)


def test_places_outside_a_pool_are_errors(driver: Any):
    message = r"^opencl: 8 bytes at pool 1 \+ 0x3c are not inside the pool's 64 bytes$"
    two = np.zeros(2, np.float32)
    with pytest.raises(DeviceError, match=message):
        driver.copy_to_device(BufferLoc(1, 60), two)
    with pytest.raises(DeviceError, match=message):
        driver.copy_from_device(two, BufferLoc(1, 60))
    with pytest.raises(DeviceError, match=message):
        driver.memset_zero(BufferLoc(1, 60), 8)


def test_pools_that_are_not_there_are_errors(driver: Any):
    message = r"^opencl: pool 7 is not allocated$"
    with pytest.raises(DeviceError, match=message):
        driver.free_pool(7)
    with pytest.raises(DeviceError, match=message):
        driver.copy_to_device(BufferLoc(7, 0), np.zeros(2))
    with pytest.raises(DeviceError, match=message):
        driver.launch(driver.get_kernel(add_one(), "add_one"), (1, 1, 1), (2, 1, 1), [BufferLoc(7, 0)])


def test_pools_that_cannot_be_are_errors(driver: Any):
    limit = opencl().device.max_buffer_nbytes
    name = re.escape(opencl().device.name)
    with pytest.raises(DeviceError, match=r"^opencl: pool 1 is allocated already$"):
        driver.alloc_pool(1, 4, 4)
    with pytest.raises(
        OutOfMemoryError,
        match=rf"^opencl: pool 2 of {limit + 1} bytes is too large for device {name} \(at most {limit}\)$",
    ):
        driver.alloc_pool(2, limit + 1, 64)
    with pytest.raises(
        DeviceError,
        match=rf"^opencl: pool 2 cannot be aligned to 1048576 bytes \(device {name} aligns to \d+\)$",
    ):
        driver.alloc_pool(2, 4, 1 << 20)


def test_what_the_device_refuses_is_an_error(driver: Any, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise cl.MemoryError(error_record("create_buffer", -4))

    monkeypatch.setattr(cl, "Buffer", refuse)
    with pytest.raises(
        OutOfMemoryError,
        match=r"^opencl: cannot allocate pool 2 of 4 bytes on device .+ \(create_buffer failed: "
        r"MEM_OBJECT_ALLOCATION_FAILURE\)$",
    ):
        driver.alloc_pool(2, 4, 4)
    with pytest.raises(OutOfMemoryError, match=r"^opencl: cannot pin 4 bytes for device .+ \(create_buffer "):
        driver.empty_host(4)
    with pytest.raises(OutOfMemoryError, match=r"^opencl: cannot copy to \[1, 2\] by \[9, -3\] bytes at "):
        place = StridedLoc(BufferLoc(1, 3), (1, 2), (9, -3), 1)
        driver.copy_strided_to_device(place, np.zeros((1, 2), np.uint8))


def test_memory_that_the_host_has_not_is_an_error(driver: Any, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(np, "empty", refuse)
    with pytest.raises(OutOfMemoryError, match=r"^opencl: cannot allocate pool 2 of 4 bytes on device .+$"):
        driver.alloc_pool(2, 4, 4)


class FailingQueue:
    """A queue of which every use ends in one status of OpenCL."""

    def __init__(self, code: int) -> None:
        self._code = code

    def __getattr__(self, name: str) -> Any:
        def fail(*_: object, **__: object) -> None:
            raise cl.RuntimeError(error_record(name, self._code))

        return fail


@pytest.mark.parametrize(
    ("code", "kind", "name"),
    [
        (-5, DeviceLostError, "OUT_OF_RESOURCES"),
        (-2, DeviceLostError, "DEVICE_NOT_AVAILABLE"),
        (-36, DeviceLostError, "INVALID_COMMAND_QUEUE"),
        (-6, OutOfMemoryError, "OUT_OF_HOST_MEMORY"),
        (-14, DeviceError, "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"),
    ],
)
def test_a_device_that_fails_while_running_is_an_error(code: int, kind: type[DeviceError], name: str):
    it: Any = backend().driver
    queue, it.queue = it.queue, FailingQueue(code)
    with pytest.raises(DeviceError, match=rf"^opencl: device .+ failed \(finish failed: {name}\)$") as caught:
        it.synchronize()
    assert type(caught.value) is kind
    it.queue = queue
    point = it.record()
    object.__setattr__(point, "event", FailingQueue(code))
    with pytest.raises(kind, match=rf"^opencl: device .+ failed \(wait failed: {name}\)$"):
        point.wait()


def test_a_device_that_is_lost_gives_its_pools_back_and_one_that_failed_tells():
    it: Any = backend().driver
    it.alloc_pool(1, 64, 64)
    it.alloc_pool(2, 64, 64)
    it.queue = FailingQueue(-36)
    it.free_pool(1)
    it.queue = FailingQueue(-14)
    with pytest.raises(DeviceError, match=r"EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"):
        it.free_pool(2)
    with pytest.raises(DeviceError, match=r"^opencl: pool 2 is not allocated$"):
        it.free_pool(2)
    with pytest.raises(DeviceError, match=r"^opencl: pool 1 is not allocated$"):
        it.free_pool(1)


def test_kernels_work_in_the_hosts_memory_without_a_copy(driver: Any):
    assert isinstance(driver, HostMapped)
    array: npt.NDArray[np.float32] = np.arange(6, dtype=np.float32)
    driver.map_host(5, array.view(np.uint8))
    kernel = driver.get_kernel(add_one(), "add_one")
    driver.launch(kernel, (2, 1, 1), (2, 1, 1), [BufferLoc(5, 4)])
    driver.synchronize()
    assert array.tolist() == [0, 2, 3, 4, 5, 5]
    array[:] = 7
    driver.launch(kernel, (2, 1, 1), (2, 1, 1), [BufferLoc(5, 0)])
    assert pool(driver, 5, 6) == [8, 8, 8, 8, 7, 7]
    with pytest.raises(DeviceError, match=r"^opencl: pool 5 is allocated already$"):
        driver.map_host(5, array.view(np.uint8))
    driver.free_pool(5)
    assert array.tolist() == [8, 8, 8, 8, 7, 7]


def test_arrays_that_are_empty_or_read_only_are_mapped_too(driver: Any):
    driver.map_host(5, np.zeros(0, np.uint8))
    constant = np.arange(8, dtype=np.uint8)
    constant.flags.writeable = False
    driver.map_host(6, constant)
    driver.copy_on_device(BufferLoc(1, 0), BufferLoc(6, 0), 8)
    eight = np.zeros(8, np.uint8)
    driver.copy_from_device(eight, BufferLoc(1, 0))
    assert eight.tolist() == list(range(8))
    driver.free_pool(5)
    driver.free_pool(6)


def test_a_driver_shows_its_pools_and_no_address(driver: Any):
    assert repr(driver) == f"OpenCLDriver({opencl().device.name!r}, pools {{1: 64 bytes}})"


def test_logical_devices_share_a_context_and_a_compiler_and_no_memory():
    first, second, third = backends(None, 3)
    drivers: list[Any] = [backend.driver for backend in (first, second, third)]
    assert first.compiler is second.compiler is third.compiler
    assert drivers[0].context is drivers[1].context is drivers[2].context
    assert len({id(driver.queue) for driver in drivers}) == 3
    drivers[0].alloc_pool(1, 8, 8)
    with pytest.raises(DeviceError, match=r"^opencl: pool 1 is not allocated$"):
        drivers[1].free_pool(1)


def test_a_stream_has_a_queue_of_its_own_and_the_pools_of_its_device():
    it: Any = opencl().driver
    stream: Any = it.new_stream()
    assert type(stream) is type(it) and stream.queue != it.queue
    assert stream.unordered_queue is None or stream.unordered_queue != it.unordered_queue
    it.alloc_pool(-1, 64, 64)
    assert stream.generation == it.generation
    stream.copy_to_device(BufferLoc(-1, 0), np.arange(16, dtype=np.float32))
    stream.launch(stream.get_kernel(add_one(), "add_one"), (8, 1, 1), (2, 1, 1), [BufferLoc(-1, 0)])
    event = stream.record()
    assert it.reaches_event(event)
    it.wait_for(event)
    assert pool(it, -1) == list(range(1, 17))
    # what is freed is what no queue uses any more, this one's neither
    stream.launch(stream.get_kernel(add_one(), "add_one"), (8, 1, 1), (2, 1, 1), [BufferLoc(-1, 0)])
    it.free_pool(-1)
    with pytest.raises(DeviceError, match=r"^opencl: pool -1 is not allocated$"):
        stream.memset_zero(BufferLoc(-1, 0), 4)
    assert stream.new_stream().generation == it.generation


def test_a_device_that_has_no_more_queues_says_so(monkeypatch: pytest.MonkeyPatch):
    it: Any = backends(None, 1)[0].driver

    def no_queue(context: Any, device: Any) -> Any:
        raise cl.RuntimeError("no more queues")

    monkeypatch.setattr(cl, "CommandQueue", no_queue)
    with pytest.raises(DeviceError, match=r"^opencl: device .* failed \(no more queues\)$"):
        it.new_stream()


def test_logical_devices_go_round_the_physical_ones(monkeypatch: pytest.MonkeyPatch):
    physical = choose_devices(None)[0]
    monkeypatch.setattr("tenon.backends.opencl.choose_devices", lambda _: [physical, physical])
    monkeypatch.setattr(
        "tenon.backends.opencl.compiler_of", lambda found: OpenCLCompiler(cl.Context([found]), found)
    )
    one, two, three = backends(None, 3)
    assert one.compiler is three.compiler and one.compiler is not two.compiler
    assert len(backends(None, 1)) == 1
    assert len(backends(None)) == 2
    drivers: list[Any] = [one.driver, two.driver, three.driver]
    assert drivers[0].reaches(drivers[2]) and not drivers[0].reaches(drivers[1])
    event = drivers[0].record()
    assert drivers[2].reaches_event(event) and not drivers[1].reaches_event(event)
    with pytest.raises(AssertionError, match=r"^opencl: event out of reach$"):
        drivers[1].wait_for(event)


def test_a_device_that_does_not_share_the_hosts_memory_has_pools_of_its_own():
    it = opencl().driver
    assert isinstance(it, OpenCLDriver)
    plain = OpenCLDriver(it.context, it.device, it.info)
    assert not isinstance(plain, HostMapped) and not isinstance(plain, HostVisible)
    plain.alloc_pool(1, 64, 64)
    plain.alloc_pool(2, 64, 64, MemoryMode(ModeKind.HOSTED))
    flags = [plain.pool(pool_id).buffer.get_info(cl.mem_info.FLAGS) for pool_id in (1, 2)]
    assert [bool(flag & cl.mem_flags.ALLOC_HOST_PTR) for flag in flags] == [False, True]
    plain.copy_to_device(BufferLoc(1, 0), np.arange(16, dtype=np.float32))
    plain.launch(plain.get_kernel(add_one(), "add_one"), (8, 1, 1), (2, 1, 1), [BufferLoc(1, 0)])
    plain.copy_on_device(BufferLoc(2, 0), BufferLoc(1, 0), 64)
    plain.free_pool(1)
    assert pool(plain, 2) == list(range(1, 17))
    plain.free_pool(2)
