"""Ops that compute nothing, and say how a value is to be treated."""

from __future__ import annotations

from abc import ABC

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from .base import GraphOp
from .types import TENSOR_T

__all__ = ["DetachOp", "MarkerOp", "MaterializeOp"]


class MarkerOp(GraphOp, ABC):
    """An op whose result is its operand."""

    source = operand_def(TENSOR_T)
    result = result_def(TENSOR_T)
    assembly_format = "$source attr-dict `:` type($result)"

    def __init__(self, source: SSAValue):
        Operation.__init__(self, operands=(source,), result_types=(source.type,))


@irdl_op_definition
class DetachOp(MarkerOp):
    """
    The same values, through which no derivative is taken. Nothing is left of it once a program is compiled.

    ```mlir
    %y = graph.detach %x : tensor<4xf32>
    ```
    """

    name = "graph.detach"


@irdl_op_definition
class MaterializeOp(MarkerOp):
    """
    The same values, in a buffer: what reads them neither computes them again nor is fused with what computes
    them.

    ```mlir
    %y = graph.materialize %x : tensor<4xf32>
    ```
    """

    name = "graph.materialize"
