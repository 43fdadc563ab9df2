"""A function after all passes, before a backend's compiler."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from .program_plan import NodePlan, ProgramPlan
from .stages import Stages


@dataclass(frozen=True)
class LoweredProgram:
    """
    What the passes and the renderer made of one function: its plan, the module of `low` kernels, and the text
    to compile, which may hold the kernels of other functions too. `accessed` are the nodes that the function
    reads or writes as it was given, more than the plan's where the passes found some accesses needless.
    """

    plan: ProgramPlan
    module: ModuleOp
    source: str
    stages: Stages
    accessed: tuple[NodePlan, ...] = ()
