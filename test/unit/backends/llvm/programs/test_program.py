"""Programs on the CPU: steps in one call, placed and timed."""

import time
from itertools import pairwise

import numpy as np
import pytest
from tenon.backends.interface import BufferLoc, CompiledArtifact, Program
from tenon.backends.llvm import backend
from tenon.backends.llvm.driver import CpuDriver
from tenon.backends.llvm.programs.step_image import StepImage
from tenon.backends.steps import CopyStep, LaunchStep, SyncStep
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import DeviceError

DOUBLE = LaunchStep("double", (8, 1, 1), (1, 1, 1), (0, 1))

SLOW = """
low.kernel @slow(%x: memref<1xi32>) grid [1, 1, 1] block [1, 1, 1] {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 1000000 : index
  %v = memref.load %x[%zero] : memref<1xi32>
  %r = scf.for %j = %zero to %n step %one iter_args(%last = %v) -> (i32) {
    %square = arith.muli %last, %last : i32
    %next = arith.addi %square, %v : i32
    scf.yield %next : i32
  }
  memref.store %r, %x[%zero] : memref<1xi32>
}
"""

KERNELS = f"""
low.kernel @double(%x: memref<8xi32>, %y: memref<8xi32>) grid [8, 1, 1] block [1, 1, 1] {{
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<8xi32>
  %d = arith.addi %v, %v : i32
  memref.store %d, %y[%i] : memref<8xi32>
}}
{SLOW}"""


@pytest.fixture(scope="module")
def artifact() -> CompiledArtifact:
    device = backend()
    source = device.renderer.render(parse_module(KERNELS), device.device)
    return device.compiler.compile(source, device.device)


@pytest.fixture
def driver() -> CpuDriver:
    """One with 0 to 7 at the beginning of pool 1."""
    driver = CpuDriver()
    driver.alloc_pool(1, 1024, 64)
    driver.memset_zero(BufferLoc(1, 0), 1024)
    driver.copy_to_device(BufferLoc(1, 0), np.arange(8, dtype=np.int32))
    return driver


def numbers(driver: CpuDriver, location: BufferLoc) -> list[int]:
    found = np.zeros(8, np.int32)
    driver.copy_from_device(found, location)
    return found.tolist()


def test_steps_run_in_their_order(driver: CpuDriver, artifact: CompiledArtifact):
    steps = (
        DOUBLE,
        SyncStep(),
        LaunchStep("double", (8, 1, 1), (1, 1, 1), (1, 2)),
        CopyStep(2, 3, 32),
        LaunchStep("double", (8, 1, 1), (1, 1, 1), (3, 0)),
    )
    program = driver.bind(artifact, steps, [BufferLoc(1, 64 * n) for n in range(4)])
    program.run()
    assert numbers(driver, BufferLoc(1, 192)) == [4 * n for n in range(8)]
    assert numbers(driver, BufferLoc(1, 0)) == [8 * n for n in range(8)]
    program.run()
    assert numbers(driver, BufferLoc(1, 0)) == [64 * n for n in range(8)]


def test_a_program_of_no_steps_runs(driver: CpuDriver):
    program: Program = driver.bind(CompiledArtifact(None, ()), (SyncStep(),), [])
    program.run()
    assert [(time.begin_ns, time.end_ns) for time in program.run_timed()] == [(0, 0)]


def test_a_buffer_is_placed_for_the_runs_to_come(driver: CpuDriver, artifact: CompiledArtifact):
    program = driver.bind(artifact, (DOUBLE,), [BufferLoc(1, 0), None])
    for n in (1, 2):
        program.place(1, BufferLoc(1, 64 * n))
        program.run()
        assert numbers(driver, BufferLoc(1, 64 * n)) == list(range(0, 16, 2))
    program.place(0, BufferLoc(1, 64))
    program.run()
    assert numbers(driver, BufferLoc(1, 128)) == list(range(0, 32, 4))


def test_a_buffer_may_be_placed_before_its_pool_is_there(driver: CpuDriver, artifact: CompiledArtifact):
    program = driver.bind(artifact, (DOUBLE,), [BufferLoc(1, 0), BufferLoc(5, 64)])
    program.place(1, BufferLoc(6, 0))
    driver.alloc_pool(6, 32, 64)
    program.run()
    assert numbers(driver, BufferLoc(6, 0)) == list(range(0, 16, 2))


def test_a_pool_may_be_given_back_and_made_anew_between_runs(driver: CpuDriver, artifact: CompiledArtifact):
    driver.alloc_pool(0, 64, 64)
    program = driver.bind(artifact, (DOUBLE,), [BufferLoc(1, 0), BufferLoc(0, 0)])
    program.run()
    kept: list[np.ndarray] = []
    for nbytes in (4096, 1 << 20, 64):
        driver.free_pool(0)
        kept.append(np.empty(nbytes, np.uint8))
        driver.alloc_pool(0, nbytes, 64)
        driver.memset_zero(BufferLoc(0, 0), 64)
        program.run()
        assert numbers(driver, BufferLoc(0, 0)) == list(range(0, 16, 2))


def test_a_pool_that_went_matters_only_to_what_lies_in_it(driver: CpuDriver, artifact: CompiledArtifact):
    driver.alloc_pool(2, 64, 64)
    program = driver.bind(artifact, (DOUBLE,), [BufferLoc(1, 0), BufferLoc(2, 0)])
    program.run()
    driver.free_pool(2)
    with pytest.raises(DeviceError, match=r"^llvm: pool 2 is not allocated$"):
        program.run()
    program.place(1, BufferLoc(1, 64))
    program.run()
    assert numbers(driver, BufferLoc(1, 64)) == list(range(0, 16, 2))


def test_a_buffer_without_a_place_is_refused(driver: CpuDriver, artifact: CompiledArtifact):
    program = driver.bind(artifact, (DOUBLE,), [BufferLoc(1, 0), None])
    with pytest.raises(AssertionError, match=r"^buffer 1 has no place$"):
        program.run()


def test_a_launch_that_is_not_what_was_compiled_is_refused(driver: CpuDriver, artifact: CompiledArtifact):
    with pytest.raises(AssertionError, match=r"@double is compiled for grid \(8, 1, 1\) block"):
        driver.bind(artifact, (LaunchStep("double", (4, 1, 1), (1, 1, 1), (0, 1)),), [None, None])
    with pytest.raises(DeviceError, match=r"llvm: no kernel @treble \(there are: "):
        driver.bind(artifact, (LaunchStep("treble", (8, 1, 1), (1, 1, 1), (0, 1)),), [None, None])
    with pytest.raises(AssertionError, match="not an artifact of llvm"):
        driver.bind(CompiledArtifact("text", ()), (DOUBLE,), [None, None])


def test_a_timed_run_tells_when_each_step_ran(driver: CpuDriver, artifact: CompiledArtifact):
    slow = LaunchStep("slow", (1, 1, 1), (1, 1, 1), (1,))
    program = driver.bind(artifact, (DOUBLE, slow, SyncStep(), DOUBLE), [BufferLoc(1, 0), BufferLoc(1, 64)])
    start = time.perf_counter_ns()
    times = program.run_timed()
    elapsed = time.perf_counter_ns() - start
    assert numbers(driver, BufferLoc(1, 64)) == list(range(0, 16, 2))
    assert times[0].begin_ns == 0
    assert all(step.begin_ns <= step.end_ns for step in times)
    assert all(step.end_ns <= later.begin_ns for step, later in pairwise(times))
    assert times[1].end_ns - times[1].begin_ns > 100_000
    assert times[2].begin_ns == times[2].end_ns == times[1].end_ns
    assert times[3].end_ns <= elapsed


def test_large_copies_are_shared_out_and_small_ones_are_not():
    none = CompiledArtifact(None, ())
    small, large = (StepImage(none, (CopyStep(0, 1, nbytes),)) for nbytes in (10_000, 100_000_000))
    assert small.nanoseconds == 1000
    assert large.nanoseconds == 10_000_000
    words = [image.instantiate()[0] for image in (small, large)]
    assert words[0][2:4].tolist() == [10_000, 0]
    assert words[1][2:4].tolist() == [100_000_000, 20_000]


@pytest.mark.parametrize("nbytes", [1, 100_003, 5_000_011])
def test_a_copy_copies_all_bytes(driver: CpuDriver, nbytes: int):
    source = np.random.default_rng(0).integers(0, 256, nbytes, np.uint8)
    target = np.zeros(nbytes + 1, np.uint8)
    driver.map_host(2, source)
    driver.map_host(3, target)
    steps = (CopyStep(0, 1, nbytes),)
    driver.bind(CompiledArtifact(None, ()), steps, [BufferLoc(2, 0), BufferLoc(3, 0)]).run()
    assert np.array_equal(target[:-1], source) and target[-1] == 0


@pytest.mark.parametrize(("nanoseconds", "least"), [(0, 0), (9_999, 0), (10_000, 1), (16_000, 1), (10**9, 1)])
def test_launches_are_shared_out_from_10_microseconds_up(
    artifact: CompiledArtifact, nanoseconds: int, least: int
):
    step = LaunchStep("double", (8, 1, 1), (1, 1, 1), (0, 1), nanoseconds=nanoseconds)
    words, _ = StepImage(artifact, (step,)).instantiate()
    assert words[2:4].tolist() == [8, least]


def test_a_launch_of_one_work_group_is_not_shared_out(artifact: CompiledArtifact):
    step = LaunchStep("slow", (1, 1, 1), (1, 1, 1), (0,), nanoseconds=10**9)
    words, _ = StepImage(artifact, (step,)).instantiate()
    assert words[2:4].tolist() == [1, 0]
