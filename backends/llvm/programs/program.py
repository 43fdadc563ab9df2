"""A program of many steps that runs as one call of machine code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ....errors import DeviceError
from ...interface import BufferLoc, CompiledArtifact
from ...step_walk import StepTimes
from ...steps import Step, StepTime
from ..native.library import native_library
from .step_image import StepImage


class AddressedMemory(Protocol):
    """Memory whose pools have addresses."""

    @property
    def generation(self) -> int:
        """Differs whenever a pool came, went or moved."""
        ...

    def address(self, location: BufferLoc) -> int:
        """Returns the address of a place. Raises `DeviceError` where its pool is not allocated."""
        ...


class CpuProgram:
    """
    Steps with the addresses of their buffers. Addresses are looked up when a buffer was placed and when pools
    came, went or moved since the last run. Owned by one thread at a time; a run releases the interpreter's
    lock, and its kernels use the threads of the process's pool.
    """

    def __init__(
        self,
        memory: AddressedMemory,
        artifact: CompiledArtifact,
        steps: Sequence[Step],
        locations: Sequence[BufferLoc | None],
    ) -> None:
        library = native_library()
        self._memory = memory
        self._image = image = StepImage(artifact, steps)
        self._words, self._address = image.instantiate()
        self._n_steps = len(steps)
        self._steps_run = library.steps_run
        self._steps_run_timed = library.steps_run_timed
        self._locations = list(locations)
        self._stale = set(image.slots_of)
        self._pools: dict[int, int] = {}
        self._generation = memory.generation

    def place(self, buffer: int, location: BufferLoc) -> None:
        self._locations[buffer] = location
        if buffer in self._image.slots_of:
            self._stale.add(buffer)

    def run(self) -> None:
        if self._stale or self._generation != self._memory.generation:
            self._resolve()
        self._steps_run(self._address, len(self._image.numbers))

    def run_timed(self) -> list[StepTime]:
        """As the interface has it. What takes no time, a sync step say, ends when the step before it ends."""
        if self._stale or self._generation != self._memory.generation:
            self._resolve()
        numbers = self._image.numbers
        times = np.zeros((len(numbers), 3), np.int64)
        self._steps_run_timed(self._address, len(numbers), times.ctypes.data)
        origin = int(times[0, 0]) if len(numbers) else 0
        result = StepTimes(self._n_steps)
        for number, (begin, taken, n_runs) in zip(numbers, times.tolist(), strict=True):
            if n_runs:
                result.add(number, begin - origin, begin - origin + taken, n_runs)
        return result.all()

    def _resolve(self) -> None:
        """Writes the addresses of the buffers that were placed, and of all where a pool they lie in moved."""
        memory, words = self._memory, self._words
        generation = memory.generation
        if generation != self._generation and self._have_pools_moved():
            self._stale.update(self._image.slots_of)
            self._pools.clear()
        for buffer in sorted(self._stale):
            location = self._locations[buffer]
            assert location is not None, f"buffer {buffer} has no place"
            address = memory.address(location)
            self._pools[location.pool_id] = address - location.offset
            for slot in self._image.slots_of[buffer]:
                words[slot] = address
        self._stale.clear()
        self._generation = generation

    def _have_pools_moved(self) -> bool:
        """Returns whether a pool of the last run, in which nothing may lie any more, went or moved."""
        try:
            return any(
                self._memory.address(BufferLoc(pool_id, 0)) != address
                for pool_id, address in self._pools.items()
            )
        except DeviceError:
            return True
