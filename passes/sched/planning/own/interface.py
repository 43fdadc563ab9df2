"""The interface of functions that write the kernels of an op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from ..code import KernelCode


class ProgramPart(Protocol):
    """The place of an op in the program that is written."""

    @property
    def vector_nbytes(self) -> int:
        """The bytes of the vectors that arithmetic is done in on the machine that kernels are for."""
        ...

    def buffer_of(self, value: SSAValue) -> SSAValue:
        """Returns the buffer of an operand or of the result."""
        ...

    def scratch(self, type: MemRefType[Any], hint: str) -> SSAValue:
        """Adds a temporary buffer."""
        ...

    def launch(self, code: KernelCode, buffers: Sequence[SSAValue]) -> None:
        """Adds a kernel, and runs it on `buffers`: all distinct, one for each argument."""
        ...


OwnKernels = Callable[[ProgramPart, Any], None]
"""
Writes the kernels of an op and launches them. All operands and the result have buffers, the result has
elements, and the buffers of two operands may be one.
"""
