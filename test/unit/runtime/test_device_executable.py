from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon.backends.interface import Backend, BufferLoc, CallableKernel, CompiledArtifact
from tenon.backends.llvm.device import CpuDevice
from tenon.backends.llvm.processors import Processor
from tenon.backends.steps import CopyStep, LaunchStep, Step, StepTime, SyncStep
from tenon.dialects.memory_modes import MemoryMode
from tenon.errors import CallError, DeviceError, DeviceLostError, OutOfMemoryError, TenonError
from tenon.runtime.executables.device_executable import DeviceExecutable
from tenon.runtime.memory.slab_pool import slab_pool_of
from tenon.runtime.plan.program_plan import (
    BufferKind,
    BufferPlan,
    NodePlan,
    ProgramPlan,
    SymbolIndex,
    SymbolPlan,
)
from tenon.runtime.plan.signature import ArrayType, Signature
from tenon.runtime.plan.stages import Stages


class FakeProgram:
    """Runs steps of a `FakeDriver`; each takes 10 ns."""

    def __init__(
        self, driver: FakeDriver, steps: Sequence[Step], locations: Sequence[BufferLoc | None]
    ) -> None:
        self.driver = driver
        self.steps = steps
        self.locations = list(locations)

    def place(self, buffer: int, location: BufferLoc) -> None:
        self.locations[buffer] = location

    def run(self) -> None:
        for step in self.steps:
            self.driver.run(step, self.locations)

    def run_timed(self) -> list[StepTime]:
        self.run()
        return [StepTime(10 * number, 10 * number + 10) for number in range(len(self.steps))]


class FakeDriver:
    """Memory in numpy; the one kernel adds 1 to each byte. Writes down what it is asked to do."""

    def __init__(self) -> None:
        self.pools: dict[int, npt.NDArray[np.uint8]] = {}
        self.calls: list[str] = []
        self.failing: str | None = None
        self.error: Callable[[str], DeviceError] = DeviceError

    def alloc_pool(self, pool_id: int, nbytes: int, alignment: int, mode: MemoryMode | None = None) -> None:
        self._note(f"alloc {pool_id}: {nbytes}")
        self.pools[pool_id] = np.zeros(nbytes, np.uint8)

    def free_pool(self, pool_id: int) -> None:
        del self.pools[pool_id]

    def copy_to_device(self, target: BufferLoc, source: npt.NDArray[Any]) -> None:
        self._note(f"write {target}")
        self._bytes(target, source.nbytes)[:] = source.reshape(-1).view(np.uint8)

    def copy_from_device(self, target: npt.NDArray[Any], source: BufferLoc) -> None:
        self._note(f"read {source}")
        target.reshape(-1).view(np.uint8)[:] = self._bytes(source, target.nbytes)

    def copy_on_device(self, target: BufferLoc, source: BufferLoc, nbytes: int) -> None:
        self._note(f"copy {source} to {target}")
        self._bytes(target, nbytes)[:] = self._bytes(source, nbytes)

    def memset_zero(self, target: BufferLoc, nbytes: int) -> None:
        self._bytes(target, nbytes)[:] = 0

    def get_kernel(self, artifact: CompiledArtifact, name: str) -> CallableKernel:
        raise AssertionError("executables bind their steps")

    def launch(
        self,
        kernel: CallableKernel,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: Sequence[BufferLoc],
    ) -> None:
        raise AssertionError("executables bind their steps")

    def bind(
        self, artifact: CompiledArtifact, steps: Sequence[Step], locations: Sequence[BufferLoc | None]
    ) -> FakeProgram:
        self._note("bind")
        return FakeProgram(self, steps, locations)

    def run(self, step: Step, locations: Sequence[BufferLoc | None]) -> None:
        match step:
            case LaunchStep():
                source, target = (locations[buffer] for buffer in step.buffers)
                assert source is not None and target is not None
                self._note(f"launch {step.kernel} {source} {target}")
                self._bytes(target, 4)[:] = self._bytes(source, 4) + 1
            case CopyStep():
                source, target = locations[step.source], locations[step.target]
                assert source is not None and target is not None
                self.copy_on_device(target, source, step.nbytes)
            case SyncStep():
                self._note("sync")

    def synchronize(self) -> None:
        self._note("sync")

    def _bytes(self, place: BufferLoc, nbytes: int) -> npt.NDArray[np.uint8]:
        return self.pools[place.pool_id][place.offset : place.offset + nbytes]

    def _note(self, call: str) -> None:
        self.calls.append(call)
        if self.failing is not None and call.startswith(self.failing):
            raise self.error(f"fake: the device is lost at {call}")


class MappingDriver(FakeDriver):
    """One that works in host arrays."""

    def map_host(self, pool_id: int, array: npt.NDArray[np.uint8]) -> None:
        self._note(f"map {pool_id}")
        assert pool_id not in self.pools
        self.pools[pool_id] = array


U8 = ArrayType(np.dtype(np.uint8), (4,))

PLAN = ProgramPlan(
    Signature("p", ("x",), (U8,), (U8, U8, U8, U8)),
    (
        BufferPlan(BufferKind.ARGUMENT, 4),
        BufferPlan(BufferKind.CONSTANT, 4, offset=2),
        BufferPlan(BufferKind.TEMPORARY, 4, offset=64),
        BufferPlan(BufferKind.RESULT, 4, number=0),
    ),
    (
        LaunchStep("increment", (1, 1, 1), (1, 1, 1), (0, 2)),
        SyncStep(),
        CopyStep(2, 3, 4),
    ),
    (3, 0, 1, 3),
    np.array([0, 0, 5, 6, 7, 8], np.uint8),
    68,
)

X = np.array([1, 2, 3, 255], np.uint8)


def executable(driver: FakeDriver, plan: ProgramPlan = PLAN) -> DeviceExecutable:
    unused: Any = None
    device = CpuDevice(Processor("abacus", "x86_64", "generic", "", 16))
    backend = Backend("fake", device, unused, unused, driver)
    return DeviceExecutable(backend, CompiledArtifact(None, ()), plan, Stages({"source": lambda: "text"}))


@pytest.mark.parametrize("driver_type", [FakeDriver, MappingDriver])
def test_results_are_what_the_plan_returns(driver_type: type[FakeDriver]):
    with executable(driver_type()) as program:
        for _ in range(2):
            results = program(X)
            assert [result.tolist() for result in results] == [
                [2, 3, 4, 0],
                [1, 2, 3, 255],
                [5, 6, 7, 8],
                [2, 3, 4, 0],
            ]
            assert not any(
                np.may_share_memory(a, b) for i, a in enumerate((X, *results)) for b in results[i:]
            )
        assert program.source == "text"


def test_a_device_of_its_own_memory_gets_copies():
    driver = FakeDriver()
    program = executable(driver)
    assert driver.calls == [
        "alloc 1: 6",
        "write pool 1 + 0x0",
        "alloc 2: 68",
        "alloc 3: 128",
        "bind",
    ]
    driver.calls.clear()
    program(X)
    assert driver.calls == [
        "write pool 3 + 0x0",
        "launch increment pool 3 + 0x0 pool 2 + 0x40",
        "sync",
        "copy pool 2 + 0x40 to pool 3 + 0x40",
        "read pool 3 + 0x40",
        "read pool 3 + 0x0",
        "read pool 1 + 0x2",
        "read pool 3 + 0x40",
    ]


def test_a_device_that_maps_host_arrays_gets_no_copies():
    driver = MappingDriver()
    program = executable(driver)
    driver.calls.clear()
    result = np.zeros(4, np.uint8)
    others = tuple(np.zeros(4, np.uint8) for _ in range(3))
    program(X, out=(result, *others))
    assert driver.calls[:2] == ["map 3", "map 4"]
    assert not any(call.startswith("write") for call in driver.calls)
    assert sorted(driver.pools) == [1, 2]
    assert result.tolist() == [2, 3, 4, 0]


@pytest.mark.parametrize("driver_type", [FakeDriver, MappingDriver])
@pytest.mark.parametrize(
    ("failing", "message"),
    [
        ("launch", r"^p: fake: the device is lost at launch increment"),
        ("copy", r"^p: fake: the device is lost at copy"),
    ],
)
def test_a_failure_names_the_step_and_leaves_the_executable_usable(
    driver_type: type[FakeDriver], failing: str, message: str
):
    driver = driver_type()
    program = executable(driver)
    driver.failing = failing
    with pytest.raises(DeviceError, match=message):
        program(X)
    driver.failing = None
    assert program(X)[0].tolist() == [2, 3, 4, 0]


def test_a_failure_while_it_is_made_frees_everything():
    driver = FakeDriver()
    pool = slab_pool_of(driver)
    driver.failing = "write"
    with pytest.raises(DeviceError, match="the device is lost at write"):
        executable(driver)
    assert driver.pools == {}
    assert pool.statistics().n_slabs == 0


@pytest.mark.parametrize("driver_type", [FakeDriver, MappingDriver])
def test_a_closed_executable_holds_nothing_and_cannot_be_called(driver_type: type[FakeDriver]):
    driver = driver_type()
    pool = slab_pool_of(driver)
    program = executable(driver)
    program.close()
    program.close()
    assert driver.pools == {}
    assert pool.statistics().n_slabs == 0
    with pytest.raises(CallError, match="p: the executable is closed"):
        program(X)


@pytest.mark.parametrize("driver_type", [FakeDriver, MappingDriver])
def test_buffers_of_no_bytes_have_a_place_and_are_not_copied(driver_type: type[FakeDriver]):
    empty = ArrayType(np.dtype(np.uint8), (0, 3))
    plan = ProgramPlan(
        Signature("p", ("x",), (empty,), (empty, empty)),
        (BufferPlan(BufferKind.ARGUMENT, 0), BufferPlan(BufferKind.RESULT, 0)),
        (),
        (1, 0),
        np.zeros(0, np.uint8),
        0,
    )
    driver = driver_type()
    program = executable(driver, plan)
    driver.calls.clear()
    results = program(np.zeros((0, 3), np.uint8))
    assert [result.shape for result in results] == [(0, 3), (0, 3)]
    assert [call for call in driver.calls if call != "sync"] == []


@pytest.mark.parametrize("driver_type", [FakeDriver, MappingDriver])
def test_an_argument_may_overlap_what_is_written(driver_type: type[FakeDriver]):
    memory = np.array([1, 2, 3, 4, 5], np.uint8)
    others = tuple(np.zeros(4, np.uint8) for _ in range(3))
    with executable(driver_type()) as program:
        program(memory[:4], out=(memory[1:], *others))
    assert memory.tolist() == [1, 2, 3, 4, 5]
    assert others[0].tolist() == [1, 2, 3, 4]


def test_an_argument_named_out_wins():
    plan = ProgramPlan(
        Signature("p", ("out",), (U8,), (U8,)),
        (BufferPlan(BufferKind.ARGUMENT, 4),),
        (),
        (0,),
        np.zeros(0, np.uint8),
        0,
    )
    with executable(FakeDriver(), plan) as program:
        result = program(out=X)
    assert result.tolist() == X.tolist()
    assert result is not X


def test_a_lost_device_stays_a_lost_device():
    driver = FakeDriver()
    program = executable(driver)
    driver.failing, driver.error = "launch", DeviceLostError
    with pytest.raises(DeviceLostError, match=r"^p: fake: the device is lost at launch increment"):
        program(X)


def test_a_lost_device_tells_what_was_in_flight():
    driver = FakeDriver()
    program = executable(driver)
    driver.failing, driver.error = "launch", lambda message: DeviceLostError(message, ("a", "b"))
    with pytest.raises(DeviceLostError, match=r"^p: fake: .* \(in flight: a, b\)$") as raised:
        program(X)
    assert raised.value.in_flight == ("a", "b")


def test_too_little_memory_stays_too_little_memory():
    driver = FakeDriver()
    program = executable(driver)
    driver.failing, driver.error = "launch", OutOfMemoryError
    with pytest.raises(OutOfMemoryError, match=r"^p: fake: the device is lost at launch increment"):
        program(X)


@pytest.mark.parametrize("driver_type", [FakeDriver, MappingDriver])
def test_the_memory_plan_is_where_buffers_lie(driver_type: type[FakeDriver]):
    driver = driver_type()
    program = executable(driver)
    plan = program.memory_plan()
    pools = {pool.pool_id: pool.nbytes for pool in plan.pools}
    assert pools == {pool_id: memory.nbytes for pool_id, memory in driver.pools.items()}
    caller_pool = None if driver_type is MappingDriver else 3
    assert [buffer.pool_id for buffer in plan.buffers] == [caller_pool, 1, 2, caller_pool]
    assert [buffer.offset for buffer in plan.buffers][1:3] == [2, 64]


@pytest.mark.parametrize("driver_type", [FakeDriver, MappingDriver])
def test_a_timeline_has_every_step_of_a_call(driver_type: type[FakeDriver]):
    program = executable(driver_type())
    with tenon.record_timeline() as timeline:
        assert program(X)[0].tolist() == [2, 3, 4, 0]
    names = [span.name for span in timeline.spans]
    assert [name for name in names if name in ("@increment", "sync", "copy")] == [
        "@increment",
        "sync",
        "copy",
    ]
    assert "p" in names


NODES_PLAN = ProgramPlan(
    Signature("step", (), (), (U8,)),
    (
        BufferPlan(BufferKind.NODE, 4, node="x", indices=(SymbolIndex("i", 4, 3),)),
        BufferPlan(BufferKind.NODE, 4, node="w"),
    ),
    (LaunchStep("increment", (1, 1, 1), (1, 1, 1), (0, 1)),),
    (1,),
    np.zeros(0, np.uint8),
    0,
    (
        NodePlan("x", ArrayType(np.dtype(np.uint8), (3, 4)), 12),
        NodePlan("w", U8, 4, initial=np.array([9, 8, 7, 6], np.uint8)),
    ),
    ("x",),
    ("w",),
    symbols=(SymbolPlan("i", 3),),
)

ROWS = np.arange(12, dtype=np.uint8).reshape(3, 4)


@pytest.mark.parametrize("driver_type", [FakeDriver, MappingDriver])
def test_nodes_keep_their_values_from_call_to_call(driver_type: type[FakeDriver]):
    program = executable(driver_type(), NODES_PLAN)
    assert list(program.nodes) == ["x", "w"] and len(program.nodes) == 2
    assert program.nodes["w"].tolist() == [9, 8, 7, 6]
    program.nodes["x"] = ROWS
    assert program(2).tolist() == [9, 10, 11, 12]
    assert program.nodes["w"].tolist() == [9, 10, 11, 12]
    assert program(i=np.int64(0)).tolist() == [1, 2, 3, 4]
    assert program.nodes["x"].tolist() == ROWS.tolist()
    assert repr(program.nodes) == "<NodeArrays of step (x: uint8[3, 4], w: uint8[4])>"


def test_what_a_node_returns_and_takes_is_a_copy():
    program = executable(FakeDriver(), NODES_PLAN)
    rows = ROWS.copy()
    program.nodes["x"] = rows
    rows[:] = 0
    program.nodes["x"][:] = 0
    assert program.nodes["x"].tolist() == ROWS.tolist()


def test_a_node_that_was_never_written_cannot_be_read():
    program = executable(FakeDriver(), NODES_PLAN)
    message = r"^step: node 'x' was never written \(hint: executable.nodes\['x'\] = array\)$"
    with pytest.raises(CallError, match=message):
        program(0)
    with pytest.raises(CallError, match=message):
        _ = program.nodes["x"]
    with pytest.raises(KeyError, match="z"):
        _ = program.nodes["z"]
    assert "x" in program.nodes and "z" not in program.nodes


def test_a_node_takes_only_arrays_of_its_type():
    program = executable(FakeDriver(), NODES_PLAN)
    with pytest.raises(CallError, match=r"^step: node 'w': shape \[3\], expected \[4\]$"):
        program.nodes["w"] = np.zeros(3, np.uint8)
    with pytest.raises(CallError, match=r"^step: node 'w': dtype int8, expected uint8$"):
        program.nodes["w"] = np.zeros(4, np.int8)


def test_nodes_of_a_closed_executable_are_closed_too():
    program = executable(FakeDriver(), NODES_PLAN)
    program.close()
    with pytest.raises(CallError, match=r"^step: the executable is closed$"):
        program.nodes["x"] = ROWS
    with pytest.raises(CallError, match=r"^step: the executable is closed$"):
        _ = program.nodes["w"]


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        ((), {}, "step: argument 'i' is missing"),
        ((1, 2), {}, r"step: takes 1 arguments \(i\), found 2"),
        ((1,), {"i": 1}, "step: argument 'i' is given twice"),
        ((3,), {}, "step: symbol 'i' is 3, expected 0 to 2"),
        ((-1,), {}, "step: symbol 'i' is -1, expected 0 to 2"),
        ((True,), {}, "step: symbol 'i' is True, expected an integer"),
        ((1.0,), {}, r"step: symbol 'i' is 1.0, expected an integer"),
        ((1,), {"j": 1}, "step: there is no argument 'j'"),
    ],
)
def test_static_symbols_are_checked(arguments: tuple[Any, ...], named: dict[str, Any], message: str):
    program = executable(FakeDriver(), NODES_PLAN)
    program.nodes["x"] = ROWS
    with pytest.raises(CallError, match=f"^{message}"):
        program(*arguments, **named)


def test_an_executable_shows_its_symbols():
    program = executable(FakeDriver(), NODES_PLAN)
    assert repr(program) == "<DeviceExecutable step(i: index) -> (uint8[4]) on fake>"


def test_an_executable_has_no_merge_buffer():
    plan = replace(NODES_PLAN, merge_node="w")
    with pytest.raises(
        TenonError, match=r"^step: reads the merge buffer of node 'w', which an executable has"
    ):
        executable(FakeDriver(), plan)
