"""Programs as batches of commands on an OpenCL device."""

import functools
import re
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.backends.interface import Backend, BufferLoc, CompiledArtifact
from tenon.backends.opencl import backend
from tenon.backends.opencl.pools import OpenCLMemory
from tenon.backends.steps import CopyStep, LaunchStep, SyncStep
from tenon.errors import DeviceError, DeviceLostError
from tenon.semantics.ranks.local_ranks import run_ranks
from tenon.semantics.ranks.local_world import LocalWorld
from tenon.test.unit.backends.opencl.error_records import error_record

cl = pytest.importorskip("pyopencl")

ADD = """
__attribute__((reqd_work_group_size(2, 1, 1)))
__kernel void add(__global uchar *p0, ulong o0, __global uchar *p1, ulong o1) {
    ((__global float *)(p1 + o1))[get_global_id(0)] += ((__global float *)(p0 + o0))[get_global_id(0)];
}
"""

PLACES = [BufferLoc(1, 64 * number) for number in range(4)]


@functools.cache
def opencl() -> Backend:
    return backend()


@functools.cache
def artifact() -> CompiledArtifact:
    return opencl().compiler.compile(ADD, opencl().device)


@pytest.fixture
def driver() -> Any:
    """A driver whose pool 1 is four buffers of ones."""
    it = opencl().driver
    it.alloc_pool(1, 256, 64)
    it.copy_to_device(BufferLoc(1, 0), np.ones(64, np.float32))
    yield it
    it.free_pool(1)


def add(source: int, target: int, *after: int, block: int = 2) -> LaunchStep:
    return LaunchStep("add", (4, 1, 1), (block, 1, 1), (source, target), after)


def first_of(driver: Any, place: BufferLoc) -> float:
    one = np.zeros(1, np.float32)
    driver.copy_from_device(one, place)
    return one[0]


def test_a_device_that_keeps_order_runs_steps_in_it(driver: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(vars(driver), "unordered_queue", None)
    steps = (add(0, 1), add(0, 2), SyncStep(), add(1, 3), CopyStep(3, 0, 32, (3,)))
    program = driver.bind(artifact(), steps, PLACES)
    program.run()
    assert [first_of(driver, place) for place in PLACES] == [3, 2, 2, 3]


def test_arguments_are_set_again_only_where_something_moved(driver: Any, monkeypatch: pytest.MonkeyPatch):
    program = driver.bind(artifact(), (add(0, 1), add(2, 3)), PLACES)
    program.run()
    told: list[tuple[int, object]] = []

    set_arg = cl.Kernel.set_arg

    def noted(kernel: Any, index: int, value: object) -> None:
        told.append((index, value))
        set_arg(kernel, index, value)

    monkeypatch.setattr(cl.Kernel, "set_arg", noted)
    program.run()
    program.place(1, PLACES[1])
    program.run()
    driver.alloc_pool(2, 64, 64)
    program.run()
    driver.free_pool(2)
    assert told == []
    program.place(1, BufferLoc(1, 96))
    program.run()
    assert told == [(3, 96)]


def test_a_copy_that_overlaps_itself_is_an_error(driver: Any):
    program = driver.bind(artifact(), [CopyStep(0, 1, 128)], PLACES)
    with pytest.raises(
        DeviceError, match=r"^opencl: copy of 128 bytes from pool 1 \+ 0x0 to pool 1 \+ 0x40 overlaps itself$"
    ):
        program.run()


@pytest.mark.parametrize("after", [(), (0,)])
def test_a_launch_that_cannot_be_queued_names_its_kernel(driver: Any, after: tuple[int, ...]):
    program = driver.bind(artifact(), (add(0, 1), add(0, 2, *after, block=3)), PLACES)
    with pytest.raises(
        DeviceError, match=r"^opencl: cannot launch @add with grid \[4, 1, 1\] block \[3, 1, 1\] on device "
    ):
        program.run()
    assert first_of(driver, PLACES[1]) == 2


def test_a_kernel_with_other_arguments_is_an_error(driver: Any):
    step = LaunchStep("add", (4, 1, 1), (2, 1, 1), (0,))
    with pytest.raises(DeviceError, match=r"^opencl: @add takes 2 arguments, 1 are given$"):
        driver.bind(artifact(), [step], PLACES)


def test_steps_that_do_nothing_keep_the_order_of_others(driver: Any):
    nothing = LaunchStep("add", (0, 1, 1), (2, 1, 1), (0, 1), (0,))
    steps = (add(0, 1), nothing, CopyStep(1, 2, 0, (1,)), add(1, 3, 2), add(0, 2))
    program = driver.bind(artifact(), steps, PLACES)
    program.run()
    assert [first_of(driver, place) for place in PLACES] == [1, 2, 2, 3]
    times = program.run_timed()
    assert times[1].begin_ns == times[1].end_ns == times[2].end_ns == times[0].end_ns


def test_a_device_that_is_lost_is_told(driver: Any, monkeypatch: pytest.MonkeyPatch):
    programs = [driver.bind(artifact(), steps, PLACES) for steps in ([add(0, 1)], [add(0, 1), add(0, 2)])]
    copying = driver.bind(artifact(), [CopyStep(0, 1, 8)], PLACES)

    def fail(*_: object, **__: object) -> None:
        raise cl.RuntimeError(error_record("enqueue", -36))

    monkeypatch.setattr(cl, "enqueue_nd_range_kernel", fail)
    monkeypatch.setattr(cl, "enqueue_copy", fail)
    for program in programs:
        with pytest.raises(DeviceLostError, match=r"^opencl: cannot launch @add .+INVALID_COMMAND_QUEUE\)$"):
            program.run()
    with pytest.raises(DeviceLostError, match=r"^opencl: cannot copy on device .+INVALID_COMMAND_QUEUE\)$"):
        copying.run()
    monkeypatch.setattr(cl, "enqueue_marker", fail)
    message = rf"^opencl: device {re.escape(opencl().device.name)} failed \(.+INVALID_COMMAND_QUEUE\)$"
    for run in (programs[1].run, programs[0].run_timed, driver.record):
        with pytest.raises(DeviceLostError, match=message):
            run()


HALO = """
  builtin.module attributes {tenon.rank = %d : i64} {
    shard.grid @mesh(shape = 2)
    func.func @f(%%x: tensor<4x8xf32>) -> tensor<1x8xf32> {
      %%e = graph.exp %%x : tensor<4x8xf32>
      %%y = graph.collective_permute %%e on @mesh axes = [0] pairs = [[0, 1]] channel = 1
        : tensor<4x8xf32> -> tensor<%dx8xf32>
      %%s = graph.reduce add %%y axes [0] : tensor<%dx8xf32> -> tensor<8xf32>
      %%r = graph.reshape %%s : tensor<8xf32> -> tensor<1x8xf32>
      func.return %%r : tensor<1x8xf32>
    }
  }
"""


def test_what_is_exchanged_goes_through_pinned_memory_and_only_what_is_sent(monkeypatch: pytest.MonkeyPatch):
    made: list[int] = []
    pinned = OpenCLMemory.empty_host

    def empty_host(self: OpenCLMemory, nbytes: int) -> Any:
        made.append(nbytes)
        return pinned(self, nbytes)

    monkeypatch.setattr(OpenCLMemory, "empty_host", empty_host)
    x = np.arange(32, dtype=np.float32).reshape(4, 8) / 32

    def rank(world: LocalWorld) -> list[Any]:
        rows = 4 * world.rank
        text = HALO % (world.rank, rows, rows)
        with tenon.compile(text, backend="opencl", world=world) as executable:
            return [np.array(executable(x + call)) for call in range(2)]

    (first, second), (third, fourth) = run_ranks([rank] * 2)
    assert not first.any() and not second.any()
    for call, found in enumerate((third, fourth)):
        np.testing.assert_allclose(found, np.exp(x + call).sum(axis=0, keepdims=True), rtol=1e-5)
    # What rank 0 sends, and what rank 1 gets; neither is made anew.
    assert made == [128, 128]
