"""A function after all passes, before a backend's compiler."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp

from ...backends.cache.code import compile_code, load_code
from ...backends.interface import Backend, CompiledArtifact, unmet_by_host
from ...dialects.dims.expressions import DimExpr
from ..timeline.spans import Category
from ..timeline.timeline import span
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
    vanishing: tuple[DimExpr, ...] = ()
    """The extents that a program of its own has where they are 0."""
    artifact: CompiledArtifact | None = None
    """The code, where it was loaded already, by the device that it was looked up for."""

    @property
    def name(self) -> str:
        return self.plan.signature.name

    @property
    def source(self) -> str:
        """The text to compile; empty where the program launches no kernel."""
        return self.stages["source"] if self.joint_source is None else self.joint_source

    def compiled(self, backend: Backend) -> CompiledArtifact:
        """
        Returns the code for a device: from the cache on disk, if it is there. None in it where there are no
        kernels, or where they are for another processor than the host's.

        Raises:
            KernelCompileError: the backend's compiler rejects the source.
        """
        compiler, device = backend.compiler, backend.device
        if not self.code_digest or unmet_by_host(device):
            return CompiledArtifact(None, ())
        if self.artifact is not None:
            return self.artifact
        if self.module is None and (kept := load_code(compiler, self.code_digest, device)) is not None:
            return kept
        with span("compile", Category.COMPILE, program=self.name, device=device.name):
            return compile_code(compiler, self.source, device)

    def joined(self, source: str, digest: str) -> LoweredProgram:
        """Returns the program with a text to compile that has the kernels of other functions too."""
        return replace(self, joint_source=source, code_digest=digest)
