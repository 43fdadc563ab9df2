"""Elementwise functions that say what is so: comparisons, logic, and what kind of number an element is."""

from __future__ import annotations

from ...dialects import graph
from ..arrays.array import Array
from ..calls.dispatch import array_function
from ..tracing import graph_ops as ops
from .arguments.operands import (
    BOOL,
    FLOAT64,
    Operand,
    array_of,
    common,
    is_float,
    operands,
    scalar_like,
    together,
    truths,
)

__all__ = [
    "equal",
    "greater",
    "greater_equal",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "not_equal",
    "signbit",
]


@array_function
def equal(x1: Operand, x2: Operand, /) -> Array:
    """Whether the elements are equal; false where one is NaN."""
    return ops.eq(*operands("equal", x1, x2))


@array_function
def greater(x1: Operand, x2: Operand, /) -> Array:
    """Whether `x1` is greater; false where one is NaN."""
    return ops.gt(*operands("greater", x1, x2))


@array_function
def greater_equal(x1: Operand, x2: Operand, /) -> Array:
    """Whether `x1` is greater or equal; false where one is NaN."""
    return ops.ge(*operands("greater_equal", x1, x2))


def isclose(
    x1: Operand, x2: Operand, /, rtol: Operand = 1e-05, atol: Operand = 1e-08, *, equal_nan: bool = False
) -> Array:
    """
    Whether the elements differ by no more than `atol` and `rtol` times the absolute value of `x2`. Infinities
    are close to themselves, NaN to NaN if `equal_nan`.
    """
    return _isclose(x1, x2, rtol, atol, bool(equal_nan))


@array_function(static=("equal_nan",))
def _isclose(x1: Operand, x2: Operand, rtol: Operand, atol: Operand, equal_nan: bool) -> Array:
    lhs, rhs = common("isclose", x1, x2)
    dtype = lhs.dtype if is_float(lhs.dtype) else FLOAT64
    lhs, rhs, relative, absolute = together(
        "isclose", [lhs, rhs, array_of(rtol, dtype), array_of(atol, dtype)]
    )
    same = ops.eq(lhs, rhs)
    lhs, rhs = ops.cast(lhs, dtype), ops.cast(rhs, dtype)
    limit = ops.add(absolute, ops.mul(relative, ops.abs(rhs)))
    near = ops.and_(ops.le(ops.abs(ops.sub(lhs, rhs)), limit), ops.isfinite(rhs))
    near = ops.or_(near, same)
    return ops.or_(near, ops.and_(ops.isnan(lhs), ops.isnan(rhs))) if equal_nan else near


@array_function
def isfinite(x: Array, /) -> Array:
    """Whether the element is neither NaN nor infinite."""
    (x,) = operands("isfinite", x)
    return ops.isfinite(x) if is_float(x.dtype) else ops.full(True, BOOL, x.shape)


@array_function
def isinf(x: Array, /) -> Array:
    """Whether the element is infinite."""
    (x,) = operands("isinf", x)
    return ops.unary(graph.IsinfOp, x) if is_float(x.dtype) else ops.full(False, BOOL, x.shape)


@array_function
def isnan(x: Array, /) -> Array:
    """Whether the element is NaN."""
    (x,) = operands("isnan", x)
    return ops.isnan(x) if is_float(x.dtype) else ops.full(False, BOOL, x.shape)


@array_function
def less(x1: Operand, x2: Operand, /) -> Array:
    """Whether `x1` is less; false where one is NaN."""
    return ops.lt(*operands("less", x1, x2))


@array_function
def less_equal(x1: Operand, x2: Operand, /) -> Array:
    """Whether `x1` is less or equal; false where one is NaN."""
    return ops.le(*operands("less_equal", x1, x2))


@array_function
def logical_and(x1: Operand, x2: Operand, /) -> Array:
    """Whether both elements are not zero."""
    return ops.and_(*truths("logical_and", x1, x2))


@array_function
def logical_not(x: Array, /) -> Array:
    """Whether the element is zero."""
    return ops.not_(*truths("logical_not", x))


@array_function
def logical_or(x1: Operand, x2: Operand, /) -> Array:
    """Whether one of the elements is not zero."""
    return ops.or_(*truths("logical_or", x1, x2))


@array_function
def logical_xor(x1: Operand, x2: Operand, /) -> Array:
    """Whether one of the elements is zero and the other is not."""
    return ops.xor(*truths("logical_xor", x1, x2))


@array_function
def not_equal(x1: Operand, x2: Operand, /) -> Array:
    """Whether the elements differ; true where one is NaN."""
    return ops.ne(*operands("not_equal", x1, x2))


@array_function
def signbit(x: Array, /) -> Array:
    """Whether the sign bit is set: also of -0.0. Of integers, whether they are less than 0."""
    (x,) = operands("signbit", x)
    if is_float(x.dtype):
        return ops.unary(graph.SignbitOp, x)
    return ops.full(False, BOOL, x.shape) if x.dtype.kind in "bu" else ops.lt(x, scalar_like(x, 0))
