"""What every driver's launches do."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tenon.backends.interface import Backend, BufferLoc, CompiledArtifact
from tenon.backends.steps import CopyStep, LaunchStep, Step, SyncStep
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.errors import DeviceError, KernelCompileError

POOL = 78

KERNELS = """
low.kernel @double(%x: memref<8xi32>, %y: memref<8xi32>) grid [8, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<8xi32>
  %d = arith.addi %v, %v : i32
  memref.store %d, %y[%i] : memref<8xi32>
}
low.kernel @place(%y: memref<24xi32>) grid [2, 3, 4] block [1, 1, 1] {
  %x = low.block_id x
  %y0 = low.block_id y
  %z = low.block_id z
  %two = arith.constant 2 : index
  %six = arith.constant 6 : index
  %ten = arith.constant 10 : index
  %row = arith.muli %y0, %two : index
  %plane = arith.muli %z, %six : index
  %a = arith.addi %x, %row : index
  %at = arith.addi %a, %plane : index
  %tens = arith.muli %y0, %ten : index
  %hundred = arith.muli %ten, %ten : index
  %hundreds = arith.muli %z, %hundred : index
  %b = arith.addi %x, %tens : index
  %c = arith.addi %b, %hundreds : index
  %v = arith.index_cast %c : index to i32
  memref.store %v, %y[%at] : memref<24xi32>
}
"""


@pytest.fixture(scope="module")
def artifacts() -> dict[str, CompiledArtifact]:
    return {}


@pytest.fixture
def artifact(device: Backend, artifacts: dict[str, CompiledArtifact]) -> Iterator[CompiledArtifact]:
    """The kernels, compiled once for each device; the device has pool `POOL` of 1024 bytes."""
    if device.name not in artifacts:
        module = parse_module(KERNELS)
        verify_module(module)
        source = device.renderer.render(module, device.device)
        artifacts[device.name] = device.compiler.compile(source, device.device)
    device.driver.alloc_pool(POOL, 1024, 64)
    yield artifacts[device.name]
    device.driver.free_pool(POOL)


def read(device: Backend, offset: int, count: int) -> list[int]:
    target = np.zeros(count, np.int32)
    device.driver.copy_from_device(target, BufferLoc(POOL, offset))
    return target.tolist()


def test_the_same_module_gives_the_same_source(device: Backend):
    first, second = (device.renderer.render(parse_module(KERNELS), device.device) for _ in range(2))
    assert first == second
    assert device.renderer.suffix.startswith(".")


def test_a_kernel_works_on_the_places_it_is_given(device: Backend, artifact: CompiledArtifact):
    driver = device.driver
    kernel = driver.get_kernel(artifact, "double")
    driver.copy_to_device(BufferLoc(POOL, 64), np.arange(8, dtype=np.int32))
    driver.memset_zero(BufferLoc(POOL, 512), 128)
    driver.launch(kernel, (8, 1, 1), (1, 1, 1), (BufferLoc(POOL, 64), BufferLoc(POOL, 576)))
    driver.synchronize()
    assert read(device, 572, 10) == [0, *range(0, 16, 2), 0]
    assert kernel.name == "double"


def test_launches_run_in_their_order(device: Backend, artifact: CompiledArtifact):
    driver = device.driver
    kernel = driver.get_kernel(artifact, "double")
    driver.copy_to_device(BufferLoc(POOL, 0), np.arange(8, dtype=np.int32))
    for step in range(6):
        places = BufferLoc(POOL, 64 * step), BufferLoc(POOL, 64 * step + 64)
        driver.launch(kernel, (8, 1, 1), (1, 1, 1), places)
    driver.copy_on_device(BufferLoc(POOL, 512), BufferLoc(POOL, 64 * 6), 32)
    assert read(device, 512, 8) == [64 * n for n in range(8)]


def test_every_work_group_knows_its_place(device: Backend, artifact: CompiledArtifact):
    driver = device.driver
    driver.launch(driver.get_kernel(artifact, "place"), (2, 3, 4), (1, 1, 1), (BufferLoc(POOL, 128),))
    assert read(device, 128, 24) == [
        x + 10 * y + 100 * z for z in range(4) for y in range(3) for x in range(2)
    ]


def double(source: int, target: int, *after: int) -> LaunchStep:
    return LaunchStep("double", (8, 1, 1), (1, 1, 1), (source, target), after)


def copy(source: int, target: int, *after: int) -> CopyStep:
    return CopyStep(source, target, 32, after)


PLACES = [BufferLoc(POOL, 64 * number) for number in range(8)]
"""Where the buffers of the programs lie: 8 integers each, with a gap."""


def test_a_program_runs_its_steps_in_the_order_that_they_ask_for(device: Backend, artifact: CompiledArtifact):
    first = (double(0, 1), double(1, 2, 0), double(1, 3, 0), copy(2, 4, 1))
    steps = (*first, SyncStep(), double(4, 5), copy(3, 6))
    program = device.driver.bind(artifact, steps, PLACES)
    for first in (0, 100):
        device.driver.copy_to_device(PLACES[0], np.arange(first, first + 8, dtype=np.int32))
        program.run()
        assert read(device, 64 * 5, 8) == [8 * (first + n) for n in range(8)]
        assert read(device, 64 * 6, 8) == [4 * (first + n) for n in range(8)]


def test_a_program_of_one_chain_runs_in_order(device: Backend, artifact: CompiledArtifact):
    steps = (double(0, 1), double(1, 2, 0), copy(2, 0, 1))
    program = device.driver.bind(artifact, steps, PLACES)
    device.driver.copy_to_device(PLACES[0], np.arange(8, dtype=np.int32))
    for _ in range(3):
        program.run()
    assert read(device, 0, 8) == [64 * n for n in range(8)]


def test_a_program_of_no_steps_runs(device: Backend, artifact: CompiledArtifact):
    for steps in ((), (SyncStep(),), (SyncStep(), SyncStep())):
        program = device.driver.bind(artifact, steps, [])
        program.run()
        assert len(program.run_timed()) == len(steps)


def test_programs_and_copies_take_turns(device: Backend, artifact: CompiledArtifact):
    driver = device.driver
    wide = driver.bind(artifact, [double(0, number) for number in range(1, 6)], PLACES)
    back = driver.bind(artifact, [copy(5, 0), double(4, 6)], PLACES)
    driver.copy_to_device(PLACES[0], np.arange(8, dtype=np.int32))
    for _ in range(10):
        wide.run()
        back.run()
    driver.copy_on_device(PLACES[7], PLACES[6], 32)
    driver.memset_zero(PLACES[6], 32)
    assert read(device, 64 * 7, 8) == [2048 * n for n in range(8)]
    assert read(device, 64 * 6, 8) == [0] * 8


def test_buffers_may_be_placed_anew_before_each_run(device: Backend, artifact: CompiledArtifact):
    driver = device.driver
    program = driver.bind(artifact, (double(0, 1), copy(1, 2, 0)), [PLACES[0], None, None])
    with pytest.raises(AssertionError, match=r"^buffer 1 has no place$"):
        program.run()
    driver.copy_to_device(PLACES[0], np.arange(8, dtype=np.int32))
    program.place(1, PLACES[1])
    for last in (2, 3, 2):
        program.place(2, PLACES[last])
        driver.memset_zero(PLACES[last], 32)
        program.run()
        assert read(device, 64 * last, 8) == [*range(0, 16, 2)]
    program.place(0, PLACES[1])
    program.place(1, PLACES[4])
    program.run()
    assert read(device, 64 * 2, 8) == [*range(0, 32, 4)]


def test_a_program_follows_a_pool_that_is_made_again(device: Backend, artifact: CompiledArtifact):
    driver = device.driver
    other = POOL + 1
    places = [PLACES[0], BufferLoc(other, 16), BufferLoc(other, 64)]
    program = driver.bind(artifact, (double(0, 1), copy(1, 2, 0)), places)
    for nbytes, first in ((128, 0), (4096, 10), (128, 20)):
        driver.copy_to_device(PLACES[0], np.arange(first, first + 8, dtype=np.int32))
        driver.alloc_pool(other, nbytes, 64)
        program.run()
        found = np.zeros(8, np.int32)
        driver.copy_from_device(found, places[2])
        assert found.tolist() == [2 * (first + n) for n in range(8)]
        driver.free_pool(other)
    with pytest.raises(DeviceError, match=rf"pool {other} is not allocated$"):
        program.run()


def test_a_timed_run_tells_when_each_step_ran(device: Backend, artifact: CompiledArtifact):
    driver = device.driver
    steps = (double(0, 1), double(0, 2), SyncStep(), copy(2, 3))
    program = driver.bind(artifact, steps, PLACES)
    driver.copy_to_device(PLACES[0], np.arange(8, dtype=np.int32))
    times = program.run_timed()
    assert len(times) == 4
    ends = [0]
    for time in times:
        assert ends[-1] <= time.begin_ns <= time.end_ns
        ends.append(time.end_ns)
    assert all(times[number].begin_ns < times[number].end_ns for number in (0, 1))
    assert read(device, 64 * 3, 8) == [*range(0, 16, 2)]


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[bool, int, int]]:
    """Draws steps between other buffers, each a launch or a copy."""
    numbers = st.integers(0, len(PLACES) - 1)
    pairs = st.tuples(numbers, numbers).filter(lambda pair: pair[0] != pair[1])
    steps = draw(st.lists(st.tuples(st.booleans(), pairs), min_size=1, max_size=30))
    return [(is_launch, source, target) for is_launch, (source, target) in steps]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=programs(), syncs=st.sets(st.integers(0, 29), max_size=3))
def test_any_program_does_what_its_steps_do_one_by_one(
    device: Backend, artifact: CompiledArtifact, drawn: list[tuple[bool, int, int]], syncs: set[int]
):
    steps: list[Step] = []
    touched: list[tuple[int, int]] = []
    expected = np.arange(64, dtype=np.int32).reshape(8, 8)
    for number, (is_launch, source, target) in enumerate(drawn):
        if number in syncs:
            steps.append(SyncStep())
            touched.append((-1, -1))
        after = tuple(
            step
            for step, (read_there, written) in enumerate(touched)
            if written in (source, target) or read_there == target
        )
        steps.append((double if is_launch else copy)(source, target, *after))
        touched.append((source, target))
    driver = device.driver
    for place, row in zip(PLACES, expected, strict=True):
        driver.copy_to_device(place, row)
    program = driver.bind(artifact, steps, PLACES)
    with np.errstate(over="ignore"):
        for _ in range(2):
            program.run()
            for is_launch, source, target in drawn:
                expected[target] = expected[source] * (2 if is_launch else 1)
    for number, row in enumerate(expected):
        assert read(device, 64 * number, 8) == row.tolist()


def test_a_kernel_that_is_not_there_is_one_error(device: Backend, artifact: CompiledArtifact):
    message = rf"^{device.name}: no kernel @missing \(there are: (k_)?double, place\)$"
    with pytest.raises(DeviceError, match=message):
        device.driver.bind(artifact, [LaunchStep("missing", (1, 1, 1), (1, 1, 1), ())], [])
    with pytest.raises(DeviceError, match=message):
        device.driver.get_kernel(artifact, "missing")


def test_a_launch_with_too_few_arguments_is_refused(device: Backend, artifact: CompiledArtifact):
    message = rf"^{device.name}: @double takes 2 arguments, 1 are given$"
    with pytest.raises(DeviceError, match=message):
        kernel = device.driver.get_kernel(artifact, "double")
        device.driver.launch(kernel, (8, 1, 1), (1, 1, 1), PLACES[:1])
    with pytest.raises(DeviceError, match=message):
        device.driver.bind(artifact, [LaunchStep("double", (8, 1, 1), (1, 1, 1), (0,))], PLACES).run()


def test_a_launch_may_leave_the_block_to_the_kernel(device: Backend, artifact: CompiledArtifact):
    driver = device.driver
    kernel = driver.get_kernel(artifact, "double")
    driver.copy_to_device(BufferLoc(POOL, 0), np.arange(8, dtype=np.int32))
    driver.launch(kernel, (8, 1, 1), None, PLACES[:2])
    assert read(device, 64, 8) == list(range(0, 16, 2))
    with pytest.raises(DeviceError, match=r"@double.* with grid \[8, 1, 1\] block \[2, 1, 1\]"):
        driver.launch(kernel, (8, 1, 1), (2, 1, 1), PLACES[:2])


@pytest.mark.parametrize("grid", [(2, 3, 4), (2, 3, 1), (1, 3, 4), (2, 1, 2), (1, 1, 1), (2, 0, 4)])
def test_a_launch_chooses_how_much_of_the_grid_runs(
    device: Backend, artifact: CompiledArtifact, grid: tuple[int, int, int]
):
    driver = device.driver
    driver.copy_to_device(BufferLoc(POOL, 0), np.full(24, -1, np.int32))
    driver.launch(driver.get_kernel(artifact, "place"), grid, None, (BufferLoc(POOL, 0),))
    assert read(device, 0, 24) == [
        x + 10 * y + 100 * z if x < grid[0] and y < grid[1] and z < grid[2] else -1
        for z in range(4)
        for y in range(3)
        for x in range(2)
    ]


def test_what_one_device_compiled_runs_on_another_of_its_kind(pair: list[Backend]):
    module = parse_module(KERNELS)
    source = pair[0].renderer.render(module, pair[0].device)
    assert pair[0].compiler is pair[1].compiler
    artifact = pair[0].compiler.compile(source, pair[0].device)
    for backend in pair:
        backend.driver.alloc_pool(POOL, 1024, 64)
    programs = [backend.driver.bind(artifact, [double(0, 1), double(0, 2)], PLACES) for backend in pair]
    for number, (backend, program) in enumerate(zip(pair, programs, strict=True)):
        backend.driver.copy_to_device(PLACES[0], np.arange(number, number + 8, dtype=np.int32))
        program.run()
    for number, backend in enumerate(pair):
        assert read(backend, 128, 8) == [2 * (number + n) for n in range(8)]
        backend.driver.free_pool(POOL)


def test_devices_of_a_kind_work_in_threads_of_their_own(pair: list[Backend]):
    source = pair[0].renderer.render(parse_module(KERNELS), pair[0].device)
    artifact = pair[0].compiler.compile(source, pair[0].device)

    def work(backend: Backend) -> list[int]:
        driver = backend.driver
        driver.alloc_pool(POOL, 1024, 64)
        driver.copy_to_device(PLACES[0], np.arange(8, dtype=np.int32))
        steps = (double(0, 1), double(0, 2), double(0, 3), copy(1, 0, 0, 1, 2))
        for _ in range(20):
            program = driver.bind(artifact, steps, PLACES)
            program.run()
            driver.memset_zero(PLACES[4], 32)
        found = read(backend, 64 * 3, 8)
        driver.free_pool(POOL)
        return found

    with ThreadPoolExecutor(2) as executor:
        for found in executor.map(work, pair):
            assert found == [n << 20 for n in range(8)]


def test_several_threads_may_compile_at_once(device: Backend):
    def compiled(number: int) -> tuple[str, ...]:
        module = parse_module(KERNELS.replace("@double", f"@double{number}"))
        source = device.renderer.render(module, device.device)
        artifact = device.compiler.compile(source, device.device)
        return tuple(sorted(artifact.entry_points))

    with ThreadPoolExecutor(4) as executor:
        found = list(executor.map(compiled, range(8)))
    assert [len(names) for names in found] == [2] * 8
    assert len({names for names in found}) == 8


def test_source_that_does_not_compile_is_told_with_the_log(device: Backend):
    with pytest.raises(KernelCompileError) as caught:
        device.compiler.compile("this is no kernel", device.device)
    assert caught.value.log
    assert caught.value.log in str(caught.value)
