"""
The targets `llvm-ir`, `asm` and `obj` of `tenon-opt -t`: a module of `low.kernel`s for a processor. Their
option says which: `-t 'asm{target=x86-64-v3}'`; without it the environment variable `TENON_TARGET` does, and
else it is the host's.
"""

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from ...errors import TenonError
from .compile import shared_compiler
from .device import cpu_device
from .renderer import LLVMRenderer


@dataclass(frozen=True)
class LLVMIRTarget(Target):
    """Writes LLVM IR."""

    name = "llvm-ir"

    target: str | None = None

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(LLVMRenderer().render(module, cpu_device(self.target)))


@dataclass(frozen=True)
class AsmTarget(Target):
    """Writes assembly."""

    name = "asm"

    target: str | None = None

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        device = cpu_device(self.target)
        output.write(shared_compiler().assembly(LLVMRenderer().render(module, device), device))


@dataclass(frozen=True)
class ObjectTarget(Target):
    """Writes an object file, which is no text."""

    name = "obj"

    target: str | None = None

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        raise TenonError("obj: an object file is no text (hint: tenon-opt -t obj -o FILE)")

    def object_code(self, module: ModuleOp) -> bytes:
        device = cpu_device(self.target)
        return shared_compiler().object_code(LLVMRenderer().render(module, device), device)
