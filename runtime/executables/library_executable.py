"""A program in a shared library that was exported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from ...errors import CallError, TenonError
from ..plan.signature import Array
from .device_array import DeviceArray
from .executable import CompiledFunction, Executable
from .node_arrays import NodeArrays

if TYPE_CHECKING:
    from ..reports.memory_plan import MemoryPlan

Run = Callable[[Sequence[Array], Sequence[Array]], None]
"""Runs the program on arrays that fit, and fills the results. Raises `CallError` where it refuses."""


class LibraryExecutable(Executable):
    """
    Calls a function of a library, in the caller's arrays and thread, and the threads of the process. Any
    number of threads may call it at the same time. The library stays loaded when it is closed.
    """

    def __init__(self, function: CompiledFunction, run: Run) -> None:
        super().__init__(function)
        self._library: Run | None = run
        self.nodes = NodeArrays(self.name, (), {}, self._refuse, self._refuse)

    def memory_plan(self) -> MemoryPlan:
        """Raises TenonError: a library does not say where its buffers lie."""
        self._refuse()

    def close(self) -> None:
        self._library = None

    def _run(
        self, arrays: list[Array], targets: list[Array] | None, values: Mapping[str, int]
    ) -> list[Array]:
        run = self._library
        if run is None:
            raise self._closed_error()
        results = self.signature.empty_results() if targets is None else targets
        try:
            run(arrays, results)
        except CallError as error:
            raise CallError(f"{self.name}: {error.message}") from None
        return results

    def _execute(
        self, given: list[Array | DeviceArray], chosen: Sequence[int], values: Mapping[str, int]
    ) -> dict[int, DeviceArray]:
        self._refuse()

    def _refuse(self, *_: object) -> NoReturn:
        raise TenonError(f"{self.name}: a library that was loaded takes and gives arrays, and no more")
