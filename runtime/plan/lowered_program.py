"""A function after all passes, before a backend's compiler."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp

from .program_plan import NodePlan, ProgramPlan
from .stages import Stages


@dataclass(frozen=True)
class LoweredProgram:
    """
    What the passes and the renderer made of one function: its plan, and the texts of all stages, of which
    `source` is what is compiled. `accessed` are the nodes that the function reads or writes as it was given,
    more than the plan's where the passes found some accesses needless.
    """

    plan: ProgramPlan
    stages: Stages
    module: ModuleOp | None
    """The `low` kernels; None where the program was lowered by an earlier process."""
    code_digest: str = ""
    """The digest of the source, or of a text that has the kernels of other functions too. Empty: no code."""
    joint_source: str | None = None
    """The text to compile where it has the kernels of other functions too."""
    accessed: tuple[NodePlan, ...] = ()
    scratch: frozenset[str] = frozenset()
    """Those of `accessed` that need nothing which outlives a run; nothing had said where they live."""
    key: str | None = None
    """What the program is kept under on disk; None where it is not."""

    @property
    def source(self) -> str:
        """The text to compile; empty where the program launches no kernel."""
        return self.stages["source"] if self.joint_source is None else self.joint_source

    def joined(self, source: str, digest: str) -> LoweredProgram:
        """Returns the program with a text to compile that has the kernels of other functions too."""
        return replace(self, joint_source=source, code_digest=digest)
