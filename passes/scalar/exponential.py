"""Scalar code for exp, and what is known of the sign of its operand."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import math
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import graph
from ...dialects.graph.base import fastmath_of
from ...dialects.low.not_positive import set_of_not_positive
from .builder import ScalarBuilder
from .ops import float_op, hint_of


def exponential(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    """e to the power of the operand, marked where that is at most 0 by how it is made; not yet rounded."""
    value = float_op(b, math.ExpOp, *args, fastmath=fastmath_of(op), hint=hint_of(op))
    made = value.owner
    if isinstance(made, math.ExpOp) and is_less_its_greatest(op.operands[0]):
        set_of_not_positive(made)
    return value


def is_less_its_greatest(value: SSAValue) -> bool:
    """
    Returns whether a tensor is `sub x (broadcast (reduce max x keep))`, of which exponentials are taken so
    that none overflows: each element is at most 0, or NaN.
    """
    difference = value.owner
    if not isinstance(difference, graph.SubOp):
        return False
    everywhere = difference.rhs.owner
    if not isinstance(everywhere, graph.BroadcastOp):
        return False
    greatest = everywhere.source.owner
    return (
        isinstance(greatest, graph.ReduceOp)
        and greatest.kind.data is graph.ReduceKind.MAX
        and greatest.keep is not None
        and greatest.source is difference.lhs
    )
