"""A program compiled for a backend's device."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from ..backends.interface import Backend, BufferLoc, CompiledArtifact, HostMapped
from ..errors import DeviceError
from .executable import Executable
from .program_plan import BufferKind, LaunchStep, ProgramPlan, Step, TransferStep
from .signature import Array
from .slab_pool import Slab, slab_pool_of
from .stages import Stages

ALIGNMENT = 64
"""Bytes that slabs, and arguments and results within them, are aligned to."""


class DeviceExecutable(Executable):
    """
    Owns a slab for its constants, one for its temporaries and, where the device cannot work in host arrays,
    one for its arguments and results, until it is closed. Calls of it and of all others on its device run one
    after the other.
    """

    def __init__(
        self, backend: Backend, artifact: CompiledArtifact, plan: ProgramPlan, stages: Stages
    ) -> None:
        super().__init__(plan.signature, backend.name, stages)
        self.program = plan
        self._driver = driver = backend.driver
        self._pool = slab_pool_of(driver)
        self._is_mapped = isinstance(driver, HostMapped)
        self._slabs: list[Slab] = []
        # Given the list that grows, before anything is allocated: a failure frees what there is.
        self._finalizer = weakref.finalize(self, self._pool.free, self._slabs)
        self._finalizer.atexit = False
        try:
            self._locations = self._locate(plan)
            self._steps = [(_kernel_of(step), self._prepare(artifact, step)) for step in plan.steps]
            if plan.constants.nbytes:
                constants = next(
                    location
                    for location, buffer in zip(self._locations, plan.buffers, strict=True)
                    if buffer.kind is BufferKind.CONSTANT and buffer.nbytes
                )
                with self._pool.lock:
                    driver.copy_to_device(BufferLoc(constants.pool_id, 0), plan.constants)
        except BaseException:
            self.close()
            raise
        self._inputs = [
            (buffer.number, location)
            for buffer, location in zip(plan.buffers, self._locations, strict=True)
            if buffer.kind is BufferKind.ARGUMENT and buffer.nbytes
        ]
        self._outputs, self._copied_results = self._split_results(plan)

    @property
    def source(self) -> str:
        return self.stages["source"]

    def close(self) -> None:
        self._finalizer()

    def _locate(self, plan: ProgramPlan) -> list[BufferLoc]:
        """Allocates the slabs and returns where each buffer lies. Buffers of no bytes share a place."""
        constants = self._allocate(plan.constants.nbytes)
        temporaries = self._allocate(plan.temporary_nbytes)
        empty = self._allocate(ALIGNMENT if any(not buffer.nbytes for buffer in plan.buffers) else 0)
        callers = [b for b in plan.buffers if b.kind in (BufferKind.ARGUMENT, BufferKind.RESULT)]
        nbytes = 0 if self._is_mapped else sum(_aligned(buffer.nbytes) for buffer in callers)
        exchanged = self._allocate(nbytes)
        offset = 0
        locations: list[BufferLoc] = []
        for buffer in plan.buffers:
            if not buffer.nbytes:
                assert empty is not None
                locations.append(empty.at(0))
            elif buffer.kind is BufferKind.CONSTANT:
                assert constants is not None
                locations.append(constants.at(buffer.offset))
            elif buffer.kind is BufferKind.TEMPORARY:
                assert temporaries is not None
                locations.append(temporaries.at(buffer.offset))
            elif self._is_mapped:
                slab = self._pool.reserve(buffer.nbytes)
                self._slabs.append(slab)
                locations.append(slab.at(0))
            else:
                assert exchanged is not None
                locations.append(exchanged.at(offset))
                offset += _aligned(buffer.nbytes)
        return locations

    def _allocate(self, nbytes: int) -> Slab | None:
        if not nbytes:
            return None
        slab = self._pool.allocate(nbytes, ALIGNMENT)
        self._slabs.append(slab)
        return slab

    def _prepare(self, artifact: CompiledArtifact, step: Step) -> Callable[[], None]:
        driver = self._driver
        if isinstance(step, LaunchStep):
            kernel = driver.get_kernel(artifact, step.kernel)
            arguments = tuple(self._locations[buffer] for buffer in step.buffers)
            return partial(driver.launch, kernel, step.grid, step.block, arguments)
        if isinstance(step, TransferStep):
            target, source = self._locations[step.target], self._locations[step.source]
            return partial(driver.copy_on_device, target, source, step.nbytes)
        return driver.synchronize

    def _split_results(
        self, plan: ProgramPlan
    ) -> tuple[list[tuple[int, BufferLoc]], list[tuple[int, BufferLoc]]]:
        """
        Returns the numbers and places of the results that are computed in place, and of those that are
        copies: of an argument, a constant, a temporary, or a result before them.
        """
        in_place: list[tuple[int, BufferLoc]] = []
        copied: list[tuple[int, BufferLoc]] = []
        for number, index in enumerate(plan.returned):
            buffer = plan.buffers[index]
            if buffer.nbytes:
                is_own = buffer.kind is BufferKind.RESULT and buffer.number == number
                (in_place if is_own else copied).append((number, self._locations[index]))
        return in_place, copied

    def _run(self, arrays: list[Array], targets: list[Array] | None) -> list[Array]:
        results = self.signature.empty_results() if targets is None else targets
        with self._pool.lock:
            if not self._finalizer.alive:
                raise self._closed_error()
            if self._is_mapped:
                self._run_in_place(arrays, results)
            else:
                self._run_with_copies(arrays, results)
        return results

    def _run_in_place(self, arrays: list[Array], results: list[Array]) -> None:
        driver = self._driver
        assert isinstance(driver, HostMapped)
        mapped: list[int] = []
        try:
            for number, location in self._inputs:
                driver.map_host(location.pool_id, _bytes_of(arrays[number]))
                mapped.append(location.pool_id)
            for number, location in self._outputs:
                driver.map_host(location.pool_id, _bytes_of(results[number]))
                mapped.append(location.pool_id)
            self._run_steps()
            driver.synchronize()
            for number, location in self._copied_results:
                driver.copy_from_device(results[number], location)
        finally:
            for pool_id in mapped:
                driver.free_pool(pool_id)

    def _run_with_copies(self, arrays: list[Array], results: list[Array]) -> None:
        driver = self._driver
        for number, location in self._inputs:
            driver.copy_to_device(location, arrays[number])
        self._run_steps()
        for number, location in (*self._outputs, *self._copied_results):
            driver.copy_from_device(results[number], location)

    def _run_steps(self) -> None:
        for name, step in self._steps:
            try:
                step()
            except DeviceError as error:
                where = "" if name in error.message else f"{name}: "
                raise DeviceError(f"{self.name}: {where}{error.message}") from error


def _kernel_of(step: Step) -> str:
    match step:
        case LaunchStep():
            return f"@{step.kernel}"
        case TransferStep():
            return "transfer"
        case _:
            return "sync"


def _aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def _bytes_of(array: Array) -> npt.NDArray[np.uint8]:
    """Returns a contiguous array's bytes as a row, without a copy."""
    return array.reshape(-1).view(np.uint8)
