"""The source text of the reference backend: the kernels of a module as they are, in the dialect `low`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from ...dialects import low
from ...semantics.errors import InterpreterError
from ..interface import DeviceInfo
from .kernels.low import PreparedKernel


@dataclass(frozen=True)
class ReferenceRenderer:
    """Prints kernels, without the rest of their module."""

    suffix: str = ".mlir"

    def render(self, module: ModuleOp, device: DeviceInfo) -> str:
        """Raises `DiagnosticException` naming an op that the interpreter has no rule for."""
        texts: list[str] = []
        for op in module.body.ops:
            if isinstance(op, low.KernelOp):
                try:
                    PreparedKernel(op)
                except InterpreterError as error:
                    raise DiagnosticException(str(error)) from error
                texts.append(str(op) + "\n")
        return "".join(texts)
