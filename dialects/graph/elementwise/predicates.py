"""Ops whose result is i1: comparisons, and questions about one float."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Commutative

from ..base import ElementwiseOp, check_exact_result
from ..types import ANY, FLOATS, TENSOR_T, Computed, tensor_type_of, with_booleans

__all__ = [
    "CompareOp",
    "EqOp",
    "GeOp",
    "GtOp",
    "IsfiniteOp",
    "IsinfOp",
    "IsnanOp",
    "LeOp",
    "LtOp",
    "NeOp",
    "PredicateOp",
    "SignbitOp",
]


class CompareOp(ElementwiseOp, ABC):
    """Two operands of one type, and a result of i1."""

    ELEMENTS: ClassVar = ANY
    IS_HEAVY: ClassVar = False
    EXAMPLE: ClassVar[str] = "%c = {name} %x, %y : {type}"
    lhs = operand_def(TENSOR_T)
    rhs = operand_def(TENSOR_T)
    result = result_def(Computed(with_booleans, ("T",)))
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        result_type = with_booleans(tensor_type_of(lhs, self.name))
        Operation.__init__(self, operands=(lhs, rhs), result_types=(result_type,))

    def verify_(self) -> None:
        operand_type = tensor_type_of(self.lhs, self.name)
        check_exact_result(self, with_booleans(operand_type), f"i1 for each element of {operand_type}")


class PredicateOp(ElementwiseOp, ABC):
    """One operand of floats, and a result of i1."""

    ELEMENTS: ClassVar = FLOATS
    IS_HEAVY: ClassVar = False
    EXAMPLE: ClassVar[str] = "%c = {name} %x : {type}"
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
class EqOp(CompareOp):
    """Whether the elements are equal; NaN equals nothing."""

    name = "graph.eq"
    traits = traits_def(Commutative())


@irdl_op_definition
class NeOp(CompareOp):
    """Whether the elements differ; NaN differs from everything."""

    name = "graph.ne"
    traits = traits_def(Commutative())


@irdl_op_definition
class LtOp(CompareOp):
    """Whether `lhs` is less than `rhs`; false for NaN. False is less than true."""

    name = "graph.lt"


@irdl_op_definition
class LeOp(CompareOp):
    """Whether `lhs` is less than or equal to `rhs`; false for NaN."""

    name = "graph.le"


@irdl_op_definition
class GtOp(CompareOp):
    """Whether `lhs` is greater than `rhs`; false for NaN."""

    name = "graph.gt"


@irdl_op_definition
class GeOp(CompareOp):
    """Whether `lhs` is greater than or equal to `rhs`; false for NaN."""

    name = "graph.ge"


@irdl_op_definition
class IsnanOp(PredicateOp):
    """Whether each element is NaN."""

    name = "graph.isnan"


@irdl_op_definition
class IsinfOp(PredicateOp):
    """Whether each element is inf or -inf."""

    name = "graph.isinf"


@irdl_op_definition
class IsfiniteOp(PredicateOp):
    """Whether each element is neither infinite nor NaN."""

    name = "graph.isfinite"


@irdl_op_definition
class SignbitOp(PredicateOp):
    """Whether the sign of each element is set: true for -0.0, and for a NaN whose sign bit is set."""

    name = "graph.signbit"
