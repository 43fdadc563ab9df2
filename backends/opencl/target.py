"""`tenon-opt -t opencl-c`: the OpenCL C of a module, for no device in particular."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from .device import UNLIMITED
from .renderer import OpenCLRenderer


@dataclass(frozen=True)
class OpenCLCTarget(Target):
    """Prints every `low.kernel` as OpenCL C 1.2. Needs no OpenCL."""

    name = "opencl-c"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Raises `DiagnosticException` naming the op that OpenCL C cannot express."""
        output.write(OpenCLRenderer(self.name).render(module, UNLIMITED))
