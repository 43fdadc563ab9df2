"""The targets `llvm-ir` and `asm` of `tenon-opt -t`: a module of `low.kernel`s as text, for the host."""

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from .compile import LLVMCompiler
from .device import host_device
from .renderer import LLVMRenderer


@dataclass(frozen=True)
class LLVMIRTarget(Target):
    """Writes LLVM IR."""

    name = "llvm-ir"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(LLVMRenderer().render(module, host_device()))


@dataclass(frozen=True)
class AsmTarget(Target):
    """Writes the assembly of the host's processor."""

    name = "asm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        device = host_device()
        output.write(LLVMCompiler().assembly(LLVMRenderer().render(module, device), device))
