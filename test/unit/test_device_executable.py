from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tenon.backends.interface import Backend, BufferLoc, CallableKernel, CompiledArtifact
from tenon.errors import CallError, DeviceError
from tenon.runtime.device_executable import DeviceExecutable
from tenon.runtime.program_plan import BufferKind, BufferPlan, LaunchStep, ProgramPlan, SyncStep, TransferStep
from tenon.runtime.signature import ArrayType, Signature
from tenon.runtime.slab_pool import slab_pool_of
from tenon.runtime.stages import Stages


class FakeDriver:
    """Memory in numpy; the one kernel adds 1 to each byte. Writes down what it is asked to do."""

    def __init__(self) -> None:
        self.pools: dict[int, npt.NDArray[np.uint8]] = {}
        self.calls: list[str] = []
        self.failing: str | None = None

    def alloc_pool(self, pool_id: int, nbytes: int, alignment: int) -> None:
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
        self._note(f"kernel {name}")
        return CallableKernel(None, name)

    def launch(
        self,
        kernel: CallableKernel,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: Sequence[BufferLoc],
    ) -> None:
        source, target = arguments
        self._note(f"launch {kernel.name} {source} {target}")
        self._bytes(target, 4)[:] = self._bytes(source, 4) + 1

    def synchronize(self) -> None:
        self._note("sync")

    def _bytes(self, place: BufferLoc, nbytes: int) -> npt.NDArray[np.uint8]:
        return self.pools[place.pool_id][place.offset : place.offset + nbytes]

    def _note(self, call: str) -> None:
        self.calls.append(call)
        if self.failing is not None and call.startswith(self.failing):
            raise DeviceError(f"fake: the device is lost at {call}")


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
        TransferStep(2, 3, 4),
    ),
    (3, 0, 1, 3),
    np.array([0, 0, 5, 6, 7, 8], np.uint8),
    68,
)

X = np.array([1, 2, 3, 255], np.uint8)


def executable(driver: FakeDriver, plan: ProgramPlan = PLAN) -> DeviceExecutable:
    unused: Any = None
    backend = Backend("fake", unused, unused, unused, driver)
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
        "alloc 2: 68",
        "alloc 3: 128",
        "kernel increment",
        "write pool 1 + 0x0",
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
        ("launch", r"p: @increment: fake: the device is lost at launch increment"),
        ("copy", r"p: transfer: fake: the device is lost at copy"),
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
