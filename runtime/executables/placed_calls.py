"""Calls of a program on arrays that lie on its device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...backends.interface import Backend, BufferLoc, CompiledArtifact
from ..memory.slab_pool import SlabPool
from ..plan.program_plan import BufferKind, ProgramPlan
from ..plan.signature import Array
from ..timeline.spans import Track
from .device_array import DeviceArray
from .ordered_calls import run_steps


class PlacedCalls:
    """
    A program bound to the locations of all its buffers but the arguments and results, which each call places.

    `located` says where the other buffers lie; a part of a node is located for symbols that are 0.
    """

    def __init__(
        self,
        backend: Backend,
        artifact: CompiledArtifact,
        plan: ProgramPlan,
        located: Mapping[int, BufferLoc],
        pool: SlabPool,
        track: Track,
    ) -> None:
        self._backend = backend
        self._plan = plan
        self._located = located
        self._pool = pool
        self._track = track
        locations = [located.get(number) for number in range(len(plan.buffers))]
        with pool.lock:
            self._program = backend.driver.bind(artifact, plan.steps, locations)

    def arguments(self, given: Sequence[Array | DeviceArray]) -> list[DeviceArray]:
        """Returns arguments as arrays of the device; what the program may write to is the program's alone."""
        placed: list[DeviceArray] = []
        for number, value in enumerate(given):
            if not isinstance(value, DeviceArray):
                placed.append(DeviceArray.of(self._backend, value))
            elif number in self._plan.donated or value.backend.driver is not self._backend.driver:
                placed.append(value.copy_to(self._backend))
            else:
                placed.append(value)
        return placed

    def results(self, arguments: Sequence[DeviceArray]) -> list[DeviceArray]:
        """Returns arrays for all results: new ones, or the arguments that they are computed in."""
        types, taken = self._plan.signature.result_types, self._plan.taken_arguments
        return [
            arguments[taken[number]]
            if number in taken
            else DeviceArray(self._backend, type.dtype, type.shape)
            for number, type in enumerate(types)
        ]

    def run(
        self, arguments: Sequence[DeviceArray], results: Sequence[DeviceArray], values: Mapping[str, int]
    ) -> None:
        """
        Queues one run, with the lock of the pool held. `values` are those of the static symbols.

        Raises:
            DeviceError: the device failed.
        """
        located = dict(self._located)
        for number, buffer in enumerate(self._plan.buffers):
            if number in self._located:
                if buffer.indices:
                    located[number] = buffer.moved(self._located[number], values)
                    self._program.place(number, located[number])
                continue
            array = (arguments if buffer.kind is BufferKind.ARGUMENT else results)[buffer.number]
            located[number] = array.location
            self._program.place(number, array.location)
        run_steps(self._program, self._plan, self._track)
        for number, index in enumerate(self._plan.returned):
            target, nbytes = results[number].location, self._plan.buffers[index].nbytes
            if nbytes and located[index] != target:
                self._backend.driver.copy_on_device(target, located[index], nbytes)
