"""
The phases of the default pipeline under names that pipeline text can use. `pipeline.py` says what is in
them; their options are what they are told of the machine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.passes import ModulePass

from ..errors import TenonError
from .machine.groups import GroupLimits
from .machine.target import DEFAULT_TARGET, Target

_GPU_VECTOR_NBYTES = 16
"""The most that a work-item of a GPU loads at once."""


@dataclass(frozen=True)
class LowPipeline:
    """
    The default passes from sched to low kernels that every backend can render, for a machine: the options are
    those of `Target`.
    """

    name = "low-pipeline"
    vector_nbytes: int = DEFAULT_TARGET.vector_nbytes
    vector_registers: int = DEFAULT_TARGET.vector_registers
    l3_nbytes: int = DEFAULT_TARGET.l3_nbytes

    def passes(self) -> tuple[ModulePass, ...]:
        from .pipeline import low_passes

        return low_passes(Target.told(self))


@dataclass(frozen=True)
class GraphPipeline:
    """
    The default passes from graph to better graph, for a machine. `target` is cpu or gpu; the other options
    are those of `Target`.
    """

    name = "graph-pipeline"
    vector_nbytes: int = DEFAULT_TARGET.vector_nbytes
    target: str = "cpu"
    vector_registers: int = DEFAULT_TARGET.vector_registers
    l1_nbytes: int = DEFAULT_TARGET.l1_nbytes
    l2_nbytes: int = DEFAULT_TARGET.l2_nbytes
    l3_nbytes: int = DEFAULT_TARGET.l3_nbytes
    n_threads: int = DEFAULT_TARGET.n_threads
    multiplies_bytes: bool = DEFAULT_TARGET.multiplies_bytes

    def passes(self) -> tuple[ModulePass, ...]:
        """Raises TenonError for a target that is neither cpu nor gpu."""
        from .pipeline import graph_passes

        return graph_passes(self._machine())

    def _machine(self) -> Target:
        if self.target not in ("cpu", "gpu"):
            raise TenonError(f"{self.name}: target '{self.target}' is not one of cpu, gpu")
        return replace(Target.told(self), groups=self._groups() if self.target == "gpu" else None)

    def _groups(self) -> GroupLimits:
        return GroupLimits(vector_nbytes=min(self.vector_nbytes, _GPU_VECTOR_NBYTES))


@dataclass(frozen=True)
class SchedPipeline(GraphPipeline):
    """
    The default passes from graph to sched, with memory planned, for a machine. Work-groups of a gpu have up
    to `max_items` work-items, which share up to `shared_nbytes`.
    """

    name = "sched-pipeline"
    max_items: int = GroupLimits.max_items
    shared_nbytes: int = GroupLimits.shared_nbytes

    def passes(self) -> tuple[ModulePass, ...]:
        """Raises TenonError for a target that is neither cpu nor gpu."""
        from .pipeline import sched_passes

        return sched_passes(self._machine())

    def _groups(self) -> GroupLimits:
        return GroupLimits(
            max_items=self.max_items,
            shared_nbytes=self.shared_nbytes,
            vector_nbytes=min(self.vector_nbytes, _GPU_VECTOR_NBYTES),
        )


@dataclass(frozen=True)
class DefaultPipeline(SchedPipeline):
    """The graph, sched and low pipelines one after the other."""

    name = "default-pipeline"

    def passes(self) -> tuple[ModulePass, ...]:
        """Raises TenonError for a target that is neither cpu nor gpu."""
        from .pipeline import graph_passes

        low = LowPipeline(self.vector_nbytes, self.vector_registers, self.l3_nbytes)
        return (*graph_passes(self._machine()), *super().passes(), *low.passes())


NamedPipeline = GraphPipeline | SchedPipeline | LowPipeline | DefaultPipeline

NAMED_PIPELINES: dict[str, type[NamedPipeline]] = {
    pipeline.name: pipeline for pipeline in (GraphPipeline, SchedPipeline, LowPipeline, DefaultPipeline)
}
