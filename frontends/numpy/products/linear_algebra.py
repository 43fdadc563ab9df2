"""Products of matrices and vectors."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ...arrays.array import Array
from ...calls.dispatch import array_function
from ...tracing import graph_ops as ops
from ...tracing.trace import TracedArray
from ..arguments.axes import axes_of, axis_of, broadcast_shapes, integer_of
from ..arguments.operands import common, operands, reshaped
from ..manipulation import check_rank
from ..statistics import sum_dtype, total
from .contraction import diagonal_of, factors, multiplied, product

__all__ = [
    "diagonal",
    "dot",
    "inner",
    "kron",
    "matmul",
    "matrix_transpose",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
]

_PREFERRED = ("preferred_element_type",)


@array_function(static=_PREFERRED)
def matmul(x1: Array, x2: Array, /, *, preferred_element_type: object = None) -> Array:
    """
    The products of matrices, which are the last two axes; those before broadcast. An array of rank 1 is a row
    on the left and a column on the right, and its axis goes. dtypes are promoted, and integers wrap.

    Under `preferred_element_type` the elements of both are converted to that dtype instead, in which products
    are added up: int8 by int8 in int32 is exact, and bf16 by bf16 in float32 is rounded to float32 only.

    Raises:
        TypeError: the preferred dtype does not hold that of an array.
        ValueError: an array has rank 0, or the extents do not go together.
    """
    (lhs, rhs), dtype = factors("matmul", preferred_element_type, x1, x2)
    for position, x in enumerate((lhs, rhs)):
        if not x.shape:
            raise ValueError(f"matmul: input operand {position} does not have enough dimensions (shape ())")
    inner = lhs.shape[len(lhs.shape) - 1], rhs.shape[max(len(rhs.shape) - 2, 0)]
    if inner[0] != inner[1]:
        raise ValueError(
            f"matmul: the last axis of {lhs.shape} and the "
            f"{'only' if len(rhs.shape) == 1 else 'second last'} axis "
            f"of {rhs.shape} must have one size ({inner[0]} and {inner[1]})"
        )
    return _batched(
        "matmul",
        lhs,
        (*("row",)[: len(lhs.shape) - 1], "k"),
        rhs,
        ("k", *("column",)[: len(rhs.shape) - 1]),
        dtype,
    )


def _batched(
    who: str,
    lhs: TracedArray,
    lhs_core: tuple[str, ...],
    rhs: TracedArray,
    rhs_core: tuple[str, ...],
    dtype: np.dtype[Any],
) -> TracedArray:
    """
    Returns the product over `k` of the last axes, which have names, in `dtype`; the axes before them
    broadcast.
    """
    lhs_batch, rhs_batch = len(lhs.shape) - len(lhs_core), len(rhs.shape) - len(rhs_core)
    batch = max(lhs_batch, rhs_batch)
    broadcast_shapes(who, [lhs.shape[:lhs_batch], rhs.shape[:rhs_batch]])
    names: tuple[Hashable, ...] = tuple(range(batch))
    result = (*names, *(name for name in (*lhs_core, *rhs_core) if name != "k"))
    lhs_names, rhs_names = (*names[batch - lhs_batch :], *lhs_core), (*names[batch - rhs_batch :], *rhs_core)
    return product(lhs, lhs_names, rhs, rhs_names, result, dtype)


@array_function(static=("axis", *_PREFERRED))
def vecdot(x1: Array, x2: Array, /, *, axis: int = -1, preferred_element_type: object = None) -> Array:
    """
    The sums of the products along `axis`, one of the last axes of both: counted from the end. The others
    broadcast. `preferred_element_type` is that of `matmul`.

    Raises:
        AxisError: one of the arrays has no such axis.
        TypeError: the preferred dtype does not hold that of an array.
        ValueError: the extents do not go together.
    """
    (lhs, rhs), dtype = factors("vecdot", preferred_element_type, x1, x2)
    place = integer_of("vecdot", "axis", axis)
    places = [axis_of("vecdot", place, len(x.shape)) for x in (lhs, rhs)]
    if lhs.shape[places[0]] != rhs.shape[places[1]]:
        raise ValueError(f"vecdot: axis {axis} must have one size in shapes {lhs.shape} and {rhs.shape}")
    ends = [_with_axis_last(x, at) for x, at in zip((lhs, rhs), places, strict=True)]
    return _batched("vecdot", ends[0], ("k",), ends[1], ("k",), dtype)


def _with_axis_last(x: TracedArray, axis: int) -> TracedArray:
    order = (*range(axis), *range(axis + 1, len(x.shape)), axis)
    return x if axis == len(x.shape) - 1 else ops.permute(x, order)


@array_function(static=("axes", *_PREFERRED))
def tensordot(
    x1: Array,
    x2: Array,
    /,
    axes: int | Sequence[int | Sequence[int]] = 2,
    *,
    preferred_element_type: object = None,
) -> Array:
    """
    The sums of the products over `axes`: as many last axes of `x1` and first ones of `x2`, or those of either
    that a pair says. The others follow each other. `preferred_element_type` is that of `matmul`.

    Raises:
        AxisError: an array has no such axis.
        TypeError: the preferred dtype does not hold that of an array.
        ValueError: the axes are not as many on both sides, one is given twice, or the extents differ.
    """
    (lhs, rhs), dtype = factors("tensordot", preferred_element_type, x1, x2)
    left, right = _paired_axes(lhs, rhs, axes)
    for a, b in zip(left, right, strict=True):
        if lhs.shape[a] != rhs.shape[b]:
            raise ValueError(
                f"tensordot: shape-mismatch for sum (axis {a} of {lhs.shape} is {lhs.shape[a]}, "
                f"axis {b} of {rhs.shape} is {rhs.shape[b]})"
            )
    summed = {b: a for a, b in zip(left, right, strict=True)}
    lhs_names = tuple(range(len(lhs.shape)))
    rhs_names = tuple(summed.get(b, len(lhs_names) + b) for b in range(len(rhs.shape)))
    result = (*(a for a in lhs_names if a not in left), *(n for n in rhs_names if n >= len(lhs_names)))
    return product(lhs, lhs_names, rhs, rhs_names, result, dtype)


def _paired_axes(
    lhs: TracedArray, rhs: TracedArray, axes: int | Sequence[int | Sequence[int]]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    ranks = len(lhs.shape), len(rhs.shape)
    if isinstance(axes, tuple | list):
        if len(axes) != 2:
            raise ValueError(f"tensordot: axes must be an integer or a pair (axes {axes})")
        left, right = (
            axes_of("tensordot", each, rank, "axes") for each, rank in zip(axes, ranks, strict=True)
        )
        if len(left) != len(right):
            raise ValueError(f"tensordot: {len(left)} axes of x1 and {len(right)} of x2 (axes {axes})")
        return left, right
    count = integer_of("tensordot", "axes", axes)
    if not 0 <= count <= min(ranks):
        raise ValueError(f"tensordot: {count} axes of shapes {lhs.shape} and {rhs.shape}")
    return tuple(range(ranks[0] - count, ranks[0])), tuple(range(count))


@array_function
def outer(x1: Array, x2: Array, /) -> Array:
    """The product of each element of `x1` with each of `x2`, in row-major order: a matrix."""
    lhs, rhs = (reshaped(x, (x.size,)) for x in common("outer", x1, x2))
    return multiplied(lhs, ("row",), rhs, ("column",), ("row", "column"))


@array_function(static=_PREFERRED)
def inner(x1: Array, x2: Array, /, *, preferred_element_type: object = None) -> Array:
    """
    The sums of products over the last axis of both; the others follow each other. Of rank 0, the product.
    `preferred_element_type` is that of `matmul`.
    """
    (lhs, rhs), dtype = factors("inner", preferred_element_type, x1, x2)
    if not lhs.shape or not rhs.shape:
        return _scaled(lhs, rhs, dtype)
    return _over_axes("inner", lhs, len(lhs.shape) - 1, rhs, len(rhs.shape) - 1, dtype)


@array_function(static=_PREFERRED)
def dot(x1: Array, x2: Array, /, *, preferred_element_type: object = None) -> Array:
    """
    The sums of products over the last axis of `x1` and the second last of `x2`, or its only one. Of rank 0,
    the product. `preferred_element_type` is that of `matmul`.
    """
    (lhs, rhs), dtype = factors("dot", preferred_element_type, x1, x2)
    if not lhs.shape or not rhs.shape:
        return _scaled(lhs, rhs, dtype)
    return _over_axes("dot", lhs, len(lhs.shape) - 1, rhs, max(len(rhs.shape) - 2, 0), dtype)


def _scaled(lhs: TracedArray, rhs: TracedArray, dtype: np.dtype[Any]) -> TracedArray:
    lhs, rhs = (ops.cast(x, dtype, x.weak) for x in (lhs, rhs))
    names = tuple(range(max(len(lhs.shape), len(rhs.shape))))
    return multiplied(lhs, names[: len(lhs.shape)], rhs, names[: len(rhs.shape)], names)


def _over_axes(
    who: str, lhs: TracedArray, a: int, rhs: TracedArray, b: int, dtype: np.dtype[Any]
) -> TracedArray:
    if lhs.shape[a] != rhs.shape[b]:
        raise ValueError(
            f"{who}: shapes {lhs.shape} and {rhs.shape} not aligned "
            f"({lhs.shape[a]} of axis {a} and {rhs.shape[b]} of axis {b})"
        )
    lhs_names = tuple("k" if axis == a else axis for axis in range(len(lhs.shape)))
    rhs_names = tuple("k" if axis == b else len(lhs_names) + axis for axis in range(len(rhs.shape)))
    kept = [name for name in (*lhs_names, *rhs_names) if name != "k"]
    return product(lhs, lhs_names, rhs, rhs_names, kept, dtype)


@array_function
def kron(x1: Array, x2: Array, /) -> Array:
    """`x2` times each element of `x1`, put where that is; the lower rank gets ones at the front."""
    lhs, rhs = common("kron", x1, x2)
    rank = max(len(lhs.shape), len(rhs.shape))
    left, right = ((1,) * (rank - len(x.shape)) + x.shape for x in (lhs, rhs))
    lhs, rhs = reshaped(lhs, left), reshaped(rhs, right)
    result = [name for axis in range(rank) for name in (axis, axis + rank)]
    blocks = multiplied(lhs, tuple(range(rank)), rhs, tuple(range(rank, 2 * rank)), result)
    return reshaped(blocks, tuple(a * b for a, b in zip(left, right, strict=True)))


@array_function
def matrix_transpose(x: Array, /) -> Array:
    """Returns `x` with its last two axes exchanged. Raises ValueError below rank 2."""
    (x,) = operands("matrix_transpose", x)
    rank = rank_of_matrices("matrix_transpose", x)
    return ops.permute(x, (*range(rank - 2), rank - 1, rank - 2))


def rank_of_matrices(who: str, x: TracedArray) -> int:
    """Returns the rank of `x`. Raises ValueError where there are no matrices in it."""
    check_rank(who, x, 2)
    return len(x.shape)


@array_function(static=("offset", "axis1", "axis2"))
def diagonal(x: Array, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """
    The elements whose index along `axis2` is that along `axis1` and `offset`, in an axis at the end.

    Raises:
        AxisError: there is no such axis.
        ValueError: the rank is below 2, or the axes are the same.
    """
    return diagonal_along("diagonal", x, offset, axis1, axis2)


def diagonal_along(who: str, x: Array, offset: int, axis1: int, axis2: int) -> TracedArray:
    """Returns what `diagonal` does, with `who` in its errors."""
    (source,) = operands(who, x)
    rank = rank_of_matrices(who, source)
    first, second = axis_of(who, axis1, rank, "axis1"), axis_of(who, axis2, rank, "axis2")
    if first == second:
        raise ValueError(
            f"{who}: axis1 and axis2 cannot be the same ({axis1} and {axis2}, shape {source.shape})"
        )
    return diagonal_of(source, first, second, integer_of(who, "offset", offset))


@array_function(static=("offset", "axis1", "axis2", "dtype"))
def trace(x: Array, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: object = None) -> Array:
    """The sum of what `diagonal` gives. dtypes are those of `sum`."""
    return trace_along("trace", x, offset, axis1, axis2, dtype)


def trace_along(who: str, x: Array, offset: int, axis1: int, axis2: int, dtype: object) -> TracedArray:
    """Returns what `trace` does, with `who` in its errors."""
    along = diagonal_along(who, x, offset, axis1, axis2)
    wanted = sum_dtype(who, along, dtype)
    return total(who, along, (len(along.shape) - 1,), wanted, False)
