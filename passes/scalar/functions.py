"""Scalar code for functions that are made of others; results are to be rounded to the element type."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.graph.base import fastmath_of
from .builder import ScalarBuilder
from .ops import cmpf, float_op, hint_of, select

_RANGES: dict[Attribute, tuple[float, float, float, float]] = {
    f32: (2.0**60, 2.0**-40, 2.0**-70, 2.0**100),
    f64: (2.0**500, 2.0**-400, 2.0**-600, 2.0**600),
}
"""Above and below what `hypot` scales its operands, and the factors that it then takes."""


def hypot(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    """
    The root of the sum of the squares, of operands multiplied by a power of two where the squares of the
    greater one would be too large or lose digits.
    """
    held = args[0].type
    large, small, down, up = _RANGES[held]
    first, second = (float_op(b, math.AbsFOp, value) for value in args)
    larger = float_op(b, arith.MaximumfOp, first, second)
    one, infinity = b.constant(1.0, held), b.constant(inf, held)
    is_large = cmpf(b, "ogt", larger, b.constant(large, held))
    is_small = cmpf(b, "olt", larger, b.constant(small, held))
    scales = (b.constant(down, held), b.constant(up, held))
    scale = select(b, is_large, scales[0], select(b, is_small, scales[1], one))
    inverses = (b.constant(1 / down, held), b.constant(1 / up, held))
    inverse = select(b, is_large, inverses[0], select(b, is_small, inverses[1], one))
    squares = [float_op(b, arith.MulfOp, value, scale) for value in (first, second)]
    squares = [float_op(b, arith.MulfOp, value, value) for value in squares]
    root = float_op(b, math.SqrtOp, float_op(b, arith.AddfOp, *squares))
    result = float_op(b, arith.MulfOp, root, inverse)
    is_infinite = b.op(arith.OrIOp, cmpf(b, "oeq", first, infinity), cmpf(b, "oeq", second, infinity))
    return select(b, is_infinite, infinity, result, hint_of(op))


def logaddexp(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    """max + log1p(e^-|x - y|); the difference of equal infinities would be NaN."""
    flags = fastmath_of(op)
    lhs, rhs = args
    held = lhs.type
    larger = float_op(b, arith.MaximumfOp, lhs, rhs)
    difference = float_op(b, math.AbsFOp, float_op(b, arith.SubfOp, lhs, rhs))
    ratio = float_op(b, math.ExpOp, float_op(b, arith.NegfOp, difference), fastmath=flags)
    added = float_op(b, math.Log1pOp, ratio, fastmath=flags)
    added = select(b, cmpf(b, "oeq", lhs, rhs), b.constant(log(2.0), held), added)
    return float_op(b, arith.AddfOp, larger, added, hint=hint_of(op))
