"""A program that is interpreted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ...backends.interface import Backend, BufferLoc
from ...backends.registry import REFERENCE, get_backend
from ...errors import DeviceError, TenonError
from ..plan.program_plan import NodePlan
from ..plan.signature import Array
from ..timeline.spans import Category, Track
from ..timeline.timeline import span
from .device_array import DeviceArray
from .executable import CompiledFunction, Executable
from .node_arrays import NodeArrays
from .turn import Turn

if TYPE_CHECKING:
    from ..reports.memory_plan import MemoryPlan

_TRACK = Track("reference", "interpreter")
_TOO_LARGE = ("array is too big", "Maximum allowed", "Python int too large")


Interpret = Callable[[Sequence[Array], dict[str, Array], Mapping[str, int]], Sequence[Array]]
"""What gives the results for arguments, tensor nodes that it changes in place, and static symbols."""


class ReferenceExecutable(Executable):
    """
    Calls `interpret`. Calls of a program with tensor nodes run one after the other; one that fails leaves the
    nodes as they were.
    """

    def __init__(
        self,
        function: CompiledFunction,
        interpret: Interpret,
        nodes: Sequence[NodePlan] = (),
        keeper: ReferenceExecutable | None = None,
    ) -> None:
        """A `keeper`, the same program for other sizes, shares its tensor nodes."""
        super().__init__(function)
        self._interpret: Interpret | None = interpret
        self._lock = Turn(self.name)
        self._node_plans = tuple(nodes)
        self._contents: dict[str, Array] = {}
        self._keeper = self if keeper is None else keeper
        if keeper is not None:
            self.nodes = keeper.nodes
            return
        places = {node.name: BufferLoc(number, 0) for number, node in enumerate(nodes)}
        self.nodes = NodeArrays(self.name, nodes, places, self._read_node, self._write_node)
        """The tensor nodes of the program, which keep their values from call to call."""

    def memory_plan(self) -> MemoryPlan:
        raise TenonError(f"{self.name}: the reference interpreter has no memory plan")

    def close(self) -> None:
        self._interpret = None

    def _run(
        self, arrays: list[Array], targets: list[Array] | None, values: Mapping[str, int]
    ) -> list[Array]:
        interpret = self._interpret
        if interpret is None:
            raise self._closed_error()
        if not self._node_plans:
            return self._results(interpret, arrays, targets, {}, values)
        return self._keeper.run_on_nodes(
            lambda contents: self._results(interpret, arrays, targets, contents, values)
        )

    def _execute(
        self, given: list[Array | DeviceArray], chosen: Sequence[int], values: Mapping[str, int]
    ) -> dict[int, DeviceArray]:
        """The arrays lie on the one device of the backend `reference` that all interpreted programs share."""
        arrays = [value.read() if isinstance(value, DeviceArray) else value for value in given]
        results = self._run([np.array(array, order="C") for array in arrays], None, values)
        return {number: DeviceArray.of(_device(), results[number]) for number in chosen}

    def run_on_nodes(self, run: Callable[[dict[str, Array]], list[Array]]) -> list[Array]:
        """Runs what changes the contents of the nodes, which it is given; where it fails they stay."""
        with self._lock:
            contents = {name: array.copy() for name, array in self._contents.items()}
            results = run(contents)
            self._contents = contents
            self.nodes.note_written(contents)
        return results

    def _results(
        self,
        interpret: Interpret,
        arrays: list[Array],
        targets: list[Array] | None,
        contents: dict[str, Array],
        values: Mapping[str, int],
    ) -> list[Array]:
        results: list[Array] = []
        try:
            with span(self.name, Category.ROUTINE, _TRACK):
                computed = interpret(arrays, contents, values)
        except (MemoryError, OverflowError, ValueError) as error:
            # numpy has no exception of its own for arrays that no address space can hold.
            if not isinstance(error, MemoryError) and not str(error).startswith(_TOO_LARGE):
                raise
            message = f"{self.name}: the reference interpreter has no memory left ({error})"
            raise DeviceError(message) from None
        for number, result in enumerate(computed):
            if targets is not None:
                np.copyto(targets[number], result, casting="no")
                results.append(targets[number])
            else:
                results.append(np.array(result, order="C"))
        return results

    def _read_node(self, target: Array, location: BufferLoc) -> None:
        with self._lock:
            target[...] = self._contents[self._node_plans[location.pool_id].name]

    def _write_node(self, location: BufferLoc, source: Array) -> None:
        plan = self._node_plans[location.pool_id]
        with self._lock:
            self._contents[plan.name] = source.reshape(plan.type.shape).copy()


@cache
def _device() -> Backend:
    return get_backend(REFERENCE)
