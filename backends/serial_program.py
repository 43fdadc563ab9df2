"""A bound program for any driver: its steps, one call after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter_ns

import numpy as np

from ..errors import DeviceError
from .host_call import HostRows, call_host
from .interface import BufferLoc, CallableKernel, CompiledArtifact, Driver
from .step_order import check_order
from .step_walk import StepTimes, walk
from .steps import CopyStep, HostStep, LaunchStep, RowPlace, Step, StepTime, buffers_of


class SerialProgram:
    """
    Runs its steps in the order they are given in, which must be one that fits their `after`. What keeps the
    order on the device is the driver's queue; where the driver has none, a run returns when all is done. Of
    control steps the host decides; it reads back the conditions.
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
        self._rows = HostRows()
        names = dict.fromkeys(step.kernel for step in steps if isinstance(step, LaunchStep))
        self._kernels: dict[str, CallableKernel] = {name: driver.get_kernel(artifact, name) for name in names}
        self._calls: dict[int, Callable[[], None]] = {}
        self._users: dict[int, list[int]] = {}
        for number, step in enumerate(steps):
            for buffer in buffers_of(step):
                self._users.setdefault(buffer, []).append(number)

    def place(self, buffer: int, location: BufferLoc) -> None:
        if self._locations[buffer] != location:
            self._locations[buffer] = location
            for number in self._users.get(buffer, ()):
                self._calls.pop(number, None)

    def run(self) -> None:
        for number in walk(self._steps, self):
            _run_step(self._steps[number], self._prepared(number))

    def run_timed(self) -> list[StepTime]:
        self._driver.synchronize()
        times = StepTimes(len(self._steps))
        start = perf_counter_ns()
        for number in walk(self._steps, self):
            call = self._prepared(number)
            begin = perf_counter_ns()
            _run_step(self._steps[number], call)
            self._driver.synchronize()
            times.add(number, begin - start, perf_counter_ns() - start)
        return times.all()

    def place_row(self, row: RowPlace, iteration: int) -> None:
        source = self._at(row.source)
        self.place(row.row, BufferLoc(source.pool_id, source.offset + iteration * row.stride_nbytes))

    def set_counter(self, buffer: int, iteration: int) -> None:
        self._driver.copy_to_device(self._at(buffer), np.array([iteration], np.int64).view(np.uint8))

    def holds(self, buffer: int) -> bool:
        value = np.empty(1, np.uint8)
        self._driver.copy_from_device(value, self._at(buffer))
        return bool(value[0])

    def _prepared(self, number: int) -> Callable[[], None]:
        call = self._calls.get(number)
        if call is None:
            call = self._calls[number] = self._prepare(self._steps[number])
        return call

    def _prepare(self, step: Step) -> Callable[[], None]:
        match step:
            case LaunchStep():
                arguments = tuple(self._at(buffer) for buffer in step.buffers)
                kernel = self._kernels[step.kernel]
                return partial(self._driver.launch, kernel, step.grid, step.block, arguments, step.sizes)
            case CopyStep():
                target, source = self._at(step.target), self._at(step.source)
                return partial(self._driver.copy_on_device, target, source, step.nbytes)
            case HostStep():
                locations = [self._at(buffer) for buffer in step.buffers]
                return partial(call_host, self._driver, step, locations, self._rows)
            case _:
                return _nothing

    def _at(self, buffer: int) -> BufferLoc:
        location = self._locations[buffer]
        assert location is not None, f"buffer {buffer} has no place"
        return location


def _run_step(step: Step, call: Callable[[], None]) -> None:
    try:
        call()
    except DeviceError as error:
        if isinstance(step, HostStep):
            raise
        who = f"@{step.kernel}" if isinstance(step, LaunchStep) else "copy"
        if who in error.message:
            raise
        raise DeviceError(f"{who}: {error.message}") from error


def _nothing() -> None:
    """What a `SyncStep` takes where the queue is in order anyway."""
