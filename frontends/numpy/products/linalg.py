"""
The linear algebra of `tenon.numpy.linalg`: what the standard's extension has that needs no factorisation.

cholesky, det, eigh, eigvalsh, inv, matrix_rank, pinv, qr, slogdet, solve, svd and svdvals are not there, and
neither are norms and powers that need them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...arrays.array import Array
from ...calls.dispatch import array_function
from ...tracing import graph_ops as ops
from ...tracing.trace import TracedArray
from ..arguments.axes import axes_of, axis_of, integer_of
from ..arguments.operands import FLOAT64, INT64, common, is_float, numbers, operands, part_of, scalar_like
from .contraction import multiplied, product
from .linear_algebra import (
    diagonal_along,
    matmul,
    matrix_transpose,
    rank_of_matrices,
    tensordot,
    trace_along,
    vecdot,
)

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
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


@array_function(static=("n",))
def matrix_power(x: Array, n: int, /) -> Array:
    """
    The product of `n` times the same square matrices, the identity for 0.

    Raises ValueError where the matrices are not square, or `n` is negative, as there is no inverse.
    """
    (source,) = operands("matrix_power", x)
    rank = rank_of_matrices("matrix_power", source)
    rows, columns = source.shape[-2:]
    if rows != columns:
        raise ValueError(
            f"matrix_power: last 2 dimensions of the array must be square (shape {source.shape})"
        )
    exponent = integer_of("matrix_power", "n", n)
    if exponent < 0:
        raise ValueError(f"matrix_power: there is no inverse for negative powers (n {exponent})")
    row, column = (ops.iota(axis, INT64, source.shape) for axis in (rank - 2, rank - 1))
    result = ops.cast(ops.eq(row, column), source.dtype)
    for position, bit in enumerate(reversed(bin(exponent)[2:])):
        if position:
            source = _squared(source, source)
        if bit == "1":
            result = source if exponent & -exponent == 1 << position else _squared(result, source)
    return result


def _squared(lhs: TracedArray, rhs: TracedArray) -> TracedArray:
    batch = tuple(range(len(lhs.shape) - 2))
    return product(lhs, (*batch, "row", "k"), rhs, (*batch, "k", "column"), (*batch, "row", "column"))


def _in_floats(who: str, x: Array) -> TracedArray:
    (source,) = numbers(who, x)
    return source if is_float(source.dtype) else ops.cast(source, FLOAT64)


@array_function(static=("keepdims", "ord"))
def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> Array:
    """
    The norms of matrices, which are the last two axes: `fro` (or None), or 1, -1, inf or -inf, which are the
    greatest or least sum of the absolute values of a column, or of a row.

    Raises ValueError for another norm (2, -2 and `nuc` need singular values), and below rank 2.
    """
    source = _in_floats("matrix_norm", x)
    rank = rank_of_matrices("matrix_norm", source)
    if ord in ("fro", None):
        return _rooted(source, (rank - 2, rank - 1), bool(keepdims))
    if isinstance(ord, str) or abs(ord) not in (1, math.inf):
        why = "it needs singular values" if ord in (2, -2, "nuc") else "expected 'fro', 1, -1, inf or -inf"
        raise ValueError(f"matrix_norm: there is no norm of ord {ord!r} ({why})")
    along = rank - 2 if abs(ord) == 1 else rank - 1
    sums = ops.reduce("add", ops.abs(source), (along,), True)
    other = (rank - 1) + (rank - 2) - along
    if not sums.shape[other]:
        if ord < 0:
            raise ValueError(
                f"matrix_norm: no {'columns' if abs(ord) == 1 else 'rows'} to choose from (shape "
                f"{source.shape})"
            )
        sums = ops.full(
            0,
            sums.dtype,
            tuple(max(extent, 1) if d == other else extent for d, extent in enumerate(sums.shape)),
        )
    found = ops.reduce("max" if ord > 0 else "min", sums, (other,), True)
    return found if keepdims else ops.reshape(found, source.shape[:-2])


def _rooted(x: TracedArray, axes: tuple[int, ...], keep: bool) -> TracedArray:
    return ops.sqrt(ops.reduce("add", ops.mul(x, x), axes, keep))


@array_function(static=("axis", "keepdims", "ord"))
def vector_norm(
    x: Array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: float = 2
) -> Array:
    """
    The norms of vectors along `axis`, of all elements for None: inf and -inf are the greatest and the least
    absolute value, 0 the number of elements that are not zero, and any other number the root of the sum of
    powers.

    Raises AxisError where there is no such axis, ValueError where there is nothing to choose from.
    """
    source = _in_floats("vector_norm", x)
    axes, keep = axes_of("vector_norm", axis, len(source.shape)), bool(keepdims)
    sizes = [source.shape[each] for each in axes]
    magnitude = ops.abs(source)
    if abs(ord) == math.inf:
        if 0 in sizes and ord < 0:
            raise ValueError(f"vector_norm: no elements to choose from (axes {axes} of shape {source.shape})")
        if 0 in sizes:
            return ops.reduce("add", magnitude, axes, keep)
        return ops.reduce("max" if ord > 0 else "min", magnitude, axes, keep)
    if ord == 0:
        counted = ops.cast(ops.ne(source, scalar_like(source, 0)), source.dtype)
        return ops.reduce("add", counted, axes, keep)
    if ord == 1:
        return ops.reduce("add", magnitude, axes, keep)
    if ord == 2:
        return _rooted(source, axes, keep)
    total = ops.reduce("add", ops.pow(magnitude, scalar_like(source, ord)), axes, keep)
    return ops.pow(total, scalar_like(total, 1 / ord))
