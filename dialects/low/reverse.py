"""The lanes of a vector from the last to the first, `low.reverse`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure


@irdl_op_definition
class ReverseOp(IRDLOperation):
    """
    The lanes of a vector from the last to the first, for elements that lie in memory the other way around.

    ```mlir
    %r = low.reverse %v : vector<8xf32>
    ```
    """

    name = "low.reverse"
    T: ClassVar = VarConstraint("T", VectorType.constr())
    source = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source)"

    def __init__(self, source: SSAValue):
        Operation.__init__(self, operands=(source,), result_types=(source.type,))
