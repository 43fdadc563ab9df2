"""Calls of a program that run one after the other on its device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter_ns

import numpy as np
import numpy.typing as npt

from ...backends.interface import BufferLoc, CompiledArtifact, Driver, HostMapped, Program
from ...errors import DeviceError, DeviceLostError, OutOfMemoryError
from ..memory.segments import offsets_of
from ..memory.slab_pool import Slab, SlabPool
from ..plan.host_calls import is_of_callback
from ..plan.program_plan import BufferKind, ProgramPlan
from ..plan.signature import Array
from ..timeline.spans import Category, Track
from ..timeline.timeline import active, report_steps, span


class OrderedCalls:
    """
    A program bound to one place for each of its buffers. Arguments and results are mapped for each call on a
    device that can work in host arrays. On others they are copied to and from memory of the device. Allocated
    slabs are added to `slabs`; whoever made this frees them. Runs with the lock of `pool` held.

    `located` says where all other buffers lie; a part of a node is located for symbols that are 0.
    """

    def __init__(
        self,
        driver: Driver,
        artifact: CompiledArtifact,
        plan: ProgramPlan,
        located: Mapping[int, BufferLoc],
        pool: SlabPool,
        slabs: list[Slab],
        track: Track,
    ) -> None:
        self._driver = driver
        self._plan = plan
        self._track = track
        callers = [number for number in range(len(plan.buffers)) if number not in located]
        self._mapper = driver if isinstance(driver, HostMapped) else None
        provide = self._allocated if self._mapper is None else self._reserved
        exchanged = dict(provide(callers, pool, slabs))
        self.locations = tuple(located[n] if n in located else exchanged[n] for n in range(len(plan.buffers)))
        """Where each buffer lies; arguments and results that are mapped lie there during calls only."""
        self._program = driver.bind(artifact, plan.steps, self.locations)
        self._inputs = [
            (buffer.number, exchanged[number])
            for number, buffer in enumerate(plan.buffers)
            if number in exchanged and buffer.kind is BufferKind.ARGUMENT
        ]
        self._outputs: list[tuple[int, BufferLoc]] = []
        """The numbers and places of the results that are computed in place."""
        self._copied: list[tuple[int, BufferLoc]] = []
        """... and of those that are copies: of an argument, a constant, a temporary, or an earlier result."""
        for number, index in enumerate(plan.returned):
            if plan.buffers[index].nbytes:
                is_own = plan.is_computed_in_place(number)
                (self._outputs if is_own else self._copied).append((number, self.locations[index]))

    def run(self, arrays: Sequence[Array], results: Sequence[Array], values: Mapping[str, int]) -> None:
        """
        Fills `results`. `values` are those of the static symbols.

        Raises:
            DeviceError: the device failed.
        """
        for number, buffer in self._plan.moving:
            self._program.place(number, buffer.moved(self.locations[number], values))
        if self._mapper is None:
            self._run_with_copies(arrays, results)
        else:
            self._run_in_place(self._mapper, arrays, results)

    def _reserved(
        self, callers: Sequence[int], pool: SlabPool, slabs: list[Slab]
    ) -> Iterator[tuple[int, BufferLoc]]:
        for number in callers:
            slabs.append(pool.reserve(self._plan.buffers[number].nbytes))
            yield number, slabs[-1].at(0)

    def _allocated(
        self, callers: Sequence[int], pool: SlabPool, slabs: list[Slab]
    ) -> Iterator[tuple[int, BufferLoc]]:
        if callers:
            *offsets, nbytes = offsets_of(self._plan.buffers[number].nbytes for number in callers)
            slabs.append(pool.allocate(nbytes))
            yield from zip(callers, map(slabs[-1].at, offsets), strict=True)

    def _run_in_place(self, mapper: HostMapped, arrays: Sequence[Array], results: Sequence[Array]) -> None:
        driver = self._driver
        mapped: list[int] = []
        try:
            for number, location in self._inputs:
                mapper.map_host(location.pool_id, _bytes_of(arrays[number]))
                mapped.append(location.pool_id)
            for number, location in self._outputs:
                mapper.map_host(location.pool_id, _bytes_of(results[number]))
                mapped.append(location.pool_id)
            run_steps(self._program, self._plan, self._track)
            driver.synchronize()
            for number, location in self._copied:
                driver.copy_from_device(results[number], location)
        finally:
            for pool_id in mapped:
                driver.free_pool(pool_id)

    def _run_with_copies(self, arrays: Sequence[Array], results: Sequence[Array]) -> None:
        driver, names = self._driver, self._plan.signature.argument_names
        for number, location in self._inputs:
            array = arrays[number]
            with span(f"{names[number]} to device", Category.TRANSFER, self._track, nbytes=array.nbytes):
                driver.copy_to_device(location, array)
        run_steps(self._program, self._plan, self._track)
        for number, location in (*self._outputs, *self._copied):
            array = results[number]
            with span(f"result {number} to host", Category.TRANSFER, self._track, nbytes=array.nbytes):
                driver.copy_from_device(array, location)


def run_steps(program: Program, plan: ProgramPlan, track: Track) -> None:
    """
    Runs all steps of a program; where a timeline is recorded, one by one, and reports them.

    Raises:
        DeviceError: the device failed.
    """
    timeline = active()
    try:
        if timeline is None:
            program.run()
        else:
            start = perf_counter_ns()
            times = program.run_timed()
            report_steps(timeline, track, plan.steps, times, start, plan.costs or None)
    except DeviceError as error:
        if is_of_callback(error):
            raise
        raise _named(error, plan.signature.name) from error


def _named(error: DeviceError, name: str) -> DeviceError:
    """Returns an error of the same kind, lost or out of memory, whose message begins with `name`."""
    message = f"{name}: {error.message}"
    match error:
        case DeviceLostError():
            named = DeviceLostError(message)
            named.in_flight = error.in_flight
            return named
        case OutOfMemoryError():
            return OutOfMemoryError(message)
        case _:
            return DeviceError(message)


def _bytes_of(array: Array) -> npt.NDArray[np.uint8]:
    """Returns a contiguous array's bytes as a row, without a copy."""
    return array.reshape(-1).view(np.uint8)
