"""A bound program for any driver: its steps, one call after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter_ns

from ..errors import DeviceError
from .interface import (
    BufferLoc,
    CallableKernel,
    CompiledArtifact,
    CopyStep,
    Driver,
    LaunchStep,
    Step,
    StepTime,
    SyncStep,
)
from .step_order import check_order


class SerialProgram:
    """
    Runs its steps in the order they are given in, which must be one that fits their `after`. What keeps the
    order on the device is the driver's queue; where the driver has none, a run returns when all is done.
    """

    def __init__(
        self,
        driver: Driver,
        artifact: CompiledArtifact,
        steps: Sequence[Step],
        locations: Sequence[BufferLoc | None],
    ) -> None:
        check_order(steps)
        self._driver = driver
        self._steps = tuple(steps)
        self._locations = list(locations)
        names = dict.fromkeys(step.kernel for step in steps if isinstance(step, LaunchStep))
        self._kernels: dict[str, CallableKernel] = {name: driver.get_kernel(artifact, name) for name in names}
        self._calls: list[Callable[[], None]] | None = None

    def place(self, buffer: int, location: BufferLoc) -> None:
        if self._locations[buffer] != location:
            self._locations[buffer] = location
            self._calls = None

    def run(self) -> None:
        for step, call in zip(self._steps, self._prepared(), strict=True):
            _run_step(step, call)

    def run_timed(self) -> list[StepTime]:
        calls = self._prepared()
        self._driver.synchronize()
        times: list[StepTime] = []
        start = perf_counter_ns()
        for step, call in zip(self._steps, calls, strict=True):
            begin = perf_counter_ns()
            _run_step(step, call)
            self._driver.synchronize()
            times.append(StepTime(begin - start, perf_counter_ns() - start))
        return times

    def _prepared(self) -> list[Callable[[], None]]:
        if self._calls is None:
            self._calls = [self._prepare(step) for step in self._steps]
        return self._calls

    def _prepare(self, step: Step) -> Callable[[], None]:
        match step:
            case LaunchStep():
                arguments = tuple(self._at(buffer) for buffer in step.buffers)
                kernel = self._kernels[step.kernel]
                return partial(self._driver.launch, kernel, step.grid, step.block, arguments)
            case CopyStep():
                target, source = self._at(step.target), self._at(step.source)
                return partial(self._driver.copy_on_device, target, source, step.nbytes)
            case SyncStep():
                return _nothing

    def _at(self, buffer: int) -> BufferLoc:
        location = self._locations[buffer]
        assert location is not None, f"buffer {buffer} has no place"
        return location


def _run_step(step: Step, call: Callable[[], None]) -> None:
    try:
        call()
    except DeviceError as error:
        who = f"@{step.kernel}" if isinstance(step, LaunchStep) else "copy"
        if who in error.message:
            raise
        raise DeviceError(f"{who}: {error.message}") from error


def _nothing() -> None:
    """What a `SyncStep` takes where the queue is in order anyway."""
