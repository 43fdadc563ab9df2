"""What `tenon.numpy.linalg` has of vectors and products, by the signatures of the standard's extension."""

from __future__ import annotations

from ...arrays.array import Array
from ...calls.dispatch import array_function
from ...tracing import graph_ops as ops
from ..arguments.axes import axis_of
from ..arguments.operands import common, numbers, part_of
from ..products.contraction import multiplied
from ..products.linear_algebra import (
    diagonal_along,
    matmul,
    matrix_transpose,
    tensordot,
    trace_along,
    vecdot,
)

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_transpose",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
]


@array_function(static=("axis",))
def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """
    The cross product of vectors of three elements along `axis`; the other axes broadcast.

    Raises:
        AxisError: there is no such axis.
        ValueError: its extent is not 3.
    """
    lhs, rhs = numbers("cross", x1, x2)
    place = axis_of("cross", axis, len(lhs.shape))
    if lhs.shape[place] != 3:
        raise ValueError(
            f"cross: the vectors must have 3 elements (axis {axis} of shape {lhs.shape} has "
            f"{lhs.shape[place]})"
        )
    a, b = ([part_of(x, place, k, 1) for k in range(3)] for x in (lhs, rhs))
    parts = [ops.sub(ops.mul(a[i], b[j]), ops.mul(a[j], b[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
    return ops.concat(parts, place)


@array_function(static=("offset",))
def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """The diagonals of matrices, which are the last two axes: that `offset` above the main one."""
    return diagonal_along("diagonal", x, offset, -2, -1)


@array_function(static=("offset", "dtype"))
def trace(x: Array, /, *, offset: int = 0, dtype: object = None) -> Array:
    """The sums of what `diagonal` gives. dtypes are those of `tenon.numpy.sum`."""
    return trace_along("trace", x, offset, -2, -1, dtype)


@array_function
def outer(x1: Array, x2: Array, /) -> Array:
    """The products of each element of `x1` with each of `x2`. Raises ValueError unless both have rank 1."""
    lhs, rhs = common("outer", x1, x2)
    if len(lhs.shape) != 1 or len(rhs.shape) != 1:
        raise ValueError(f"outer: both arrays must have one dimension (shapes {lhs.shape} and {rhs.shape})")
    return multiplied(lhs, ("row",), rhs, ("column",), ("row", "column"))
