"""Ops that ask one thing of each float."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from .base import ElementwiseOp, check_exact_result
from .types import FLOATS, TENSOR_T, Computed, ElementKind, tensor_type_of, with_booleans


class PredicateOp(ElementwiseOp, ABC):
    """One operand of floats, and a result of i1."""

    ELEMENTS: ClassVar[ElementKind] = FLOATS
    source = operand_def(TENSOR_T)
    result = result_def(Computed(with_booleans, ("T",)))
    assembly_format = "$source attr-dict `:` type($source)"

    def __init__(self, source: SSAValue):
        result_type = with_booleans(tensor_type_of(source, self.name))
        Operation.__init__(self, operands=(source,), result_types=(result_type,))

    def verify_(self) -> None:
        super().verify_()
        source_type = tensor_type_of(self.source, self.name)
        check_exact_result(self, with_booleans(source_type), f"i1 for each element of {source_type}")


@irdl_op_definition
class IsnanOp(PredicateOp):
    """
    Whether each element is NaN.

    ```mlir
    %c = graph.isnan %x : tensor<4xf32>
    ```
    """

    name = "graph.isnan"


@irdl_op_definition
class IsinfOp(PredicateOp):
    """
    Whether each element is inf or -inf.

    ```mlir
    %c = graph.isinf %x : tensor<4xf32>
    ```
    """

    name = "graph.isinf"


@irdl_op_definition
class IsfiniteOp(PredicateOp):
    """
    Whether each element is neither infinite nor NaN.

    ```mlir
    %c = graph.isfinite %x : tensor<4xf32>
    ```
    """

    name = "graph.isfinite"


@irdl_op_definition
class SignbitOp(PredicateOp):
    """
    Whether the sign of each element is set: true for -0.0, and for a NaN whose sign bit is set.

    ```mlir
    %c = graph.signbit %x : tensor<4xf32>
    ```
    """

    name = "graph.signbit"
