"""
Ops at which a program calls the host: a function of Python's, or print.

Their operands are handed to the host as copies. What a callback is called is part of the program, the
function itself is not: whoever compiles the program gives a function for each name.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, SymbolNameConstraint
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from ..print_format import check_format
from .types import TENSOR

__all__ = ["CallbackOp", "HostCallOp", "PrintOp"]


class HostCallOp(IRDLOperation, ABC):
    """An op at which the host is called: with its operands, all tensors, for its results, any number."""


@irdl_op_definition
class CallbackOp(HostCallOp):
    """
    What a function of the host gives for the operands: numpy arrays in, arrays of the results' types out. The
    function is pure: where its results have no use it is not called, equal calls may be one, and a call that
    does not change in a loop may stand before it.

    ```mlir
    %y, %n = graph.callback @f(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<i32>)
    ```
    """

    name = "graph.callback"
    callee = prop_def(SymbolNameConstraint())
    arguments = var_operand_def(TENSOR)
    res = var_result_def(TENSOR)
    traits = traits_def(Pure())
    assembly_format = "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $res)"

    def __init__(self, callee: str, arguments: Sequence[SSAValue], result_types: Sequence[Attribute]):
        Operation.__init__(
            self,
            operands=arguments,
            result_types=result_types,
            properties={"callee": StringAttr(callee)},
        )


@irdl_op_definition
class PrintOp(HostCallOp):
    """
    Prints a line: the text, in which `{0}`, `{1:.3f}` and so on stand for the operands, as `str.format`
    writes them. Lines come in the order of the program, and each time that the op runs.

    ```mlir
    graph.print "step {0}: {1:.3f}"(%i, %loss) : tensor<i32>, tensor<f32>
    ```
    """

    name = "graph.print"
    format = prop_def(StringAttr)
    arguments = var_operand_def(TENSOR)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$format (`(` $arguments^ `)` `:` type($arguments))? attr-dict"

    def __init__(self, format: str, arguments: Sequence[SSAValue]):
        Operation.__init__(self, operands=arguments, properties={"format": StringAttr(format)})

    def verify_(self) -> None:
        wrong = check_format(self.format.data, len(self.arguments))
        if wrong is not None:
            raise VerifyException(f"{self.name}: {wrong}")
