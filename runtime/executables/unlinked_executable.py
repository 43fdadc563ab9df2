"""A program for a processor that this machine is not: its texts and its object file, and no calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from ...backends.interface import BufferLoc
from ...errors import DeviceError
from ..plan.program_plan import Launch, ProgramPlan
from ..plan.signature import Array
from ..plan.stages import Stages
from .device_array import DeviceArray
from .executable import CompiledFunction, Executable
from .node_arrays import NodeArrays

if TYPE_CHECKING:
    from ..reports.memory_plan import MemoryPlan


class UnlinkedExecutable(Executable):
    """Says at each call, and wherever a tensor node is read or written, why the program does not run."""

    def __init__(self, backend_name: str, plan: ProgramPlan, stages: Stages, unmet: str) -> None:
        super().__init__(CompiledFunction(plan.signature, backend_name, stages, plan.symbols))
        self.program = plan
        self._unmet = unmet
        places = {node.name: BufferLoc(number, 0) for number, node in enumerate(plan.nodes)}
        self.nodes = NodeArrays(self.name, plan.nodes, places, self._refuse, self._refuse)

    def memory_plan(self) -> MemoryPlan:
        self._refuse()

    @property
    def launches(self) -> tuple[Launch, ...]:
        return self.program.launches

    def close(self) -> None:
        """Has nothing to give back."""

    def _run(
        self, arrays: list[Array], targets: list[Array] | None, values: Mapping[str, int]
    ) -> list[Array]:
        self._refuse()

    def _execute(
        self, given: list[Array | DeviceArray], chosen: Sequence[int], values: Mapping[str, int]
    ) -> dict[int, DeviceArray]:
        self._refuse()

    def _refuse(self, *_: object) -> NoReturn:
        raise DeviceError(f"{self.name}: {self._unmet}")
