"""Functions that order elements."""

from __future__ import annotations

import math

import numpy as np

from ..arrays.array import Array
from ..calls.dispatch import array_function
from ..tracing import graph_ops as ops
from ..tracing.trace import TracedArray
from .arguments.axes import axis_of, integer_of, is_known
from .arguments.operands import INT64, operands, part_of, reshaped, scalar_like
from .dtypes import least_of
from .indexing import gathered_along
from .order_keys import order_keys

__all__ = ["argsort", "sort", "top_k"]

LEAST_SHARE = 8
"""
If one of so many elements of a row is wanted or fewer, not all are sorted: of rows of 64 to 50257 elements
that takes 0.7 of the time for an eighth of them, and no less for a quarter.
"""

INT32 = np.dtype(np.int32)

_STATIC = ("axis", "descending", "stable")


@array_function(static=_STATIC)
def argsort(x: Array, /, axis: int | None = -1, *, descending: bool = False, stable: bool = True) -> Array:
    """
    The indices, in int64, of the elements along `axis` in order; equal elements keep theirs. NaN comes last,
    also if `descending`. None sorts the elements in row-major order.

    Raises AxisError where there is no such axis.
    """
    x, place = _sortable("argsort", x, axis)
    return ops.argsort(x, place, bool(descending))


@array_function(static=_STATIC)
def sort(x: Array, /, axis: int | None = -1, *, descending: bool = False, stable: bool = True) -> Array:
    """The elements along `axis` in order; else as `argsort`."""
    x, place = _sortable("sort", x, axis)
    return ops.sort(x, place, bool(descending))


def _sortable(who: str, x: Array, axis: int | None) -> tuple[TracedArray, int]:
    (x,) = operands(who, x)
    if axis is None:
        return reshaped(x, (x.size,)), 0
    return x, axis_of(who, axis, len(x.shape))


@array_function(static=("k", "axis"))
def top_k(x: Array, k: int, /, *, axis: int = -1) -> tuple[Array, Array]:
    """
    The `k` greatest elements along `axis` in descending order, and their indices in int64. Of equal ones the
    first come first.

    Raises:
        AxisError: there is no such axis.
        ValueError: there are not as many elements, or `k` is negative.
    """
    x, place = _sortable("top_k", x, axis)
    count = integer_of("top_k", "k", k)
    if not 0 <= count <= x.shape[place]:
        raise ValueError(
            f"top_k: k is {count}, for {x.shape[place]} elements (axis {place}, shape {x.shape})"
        )
    extent = x.shape[place]
    if not is_known(extent) or not 0 < LEAST_SHARE * count <= extent:
        indices = part_of(ops.argsort(x, place, True), place, 0, count)
        return gathered_along(x, indices, place), indices
    others = [axis for axis in range(len(x.shape)) if axis != place]
    rows = ops.permute(x, (*others, place)) if others else x
    shape = tuple(rows.shape[:-1])
    rows = reshaped(rows, (math.prod(shape), extent))
    indices = _greatest(rows, count)
    values = gathered_along(rows, indices, 1)
    back = (*range(place), len(others), *range(place, len(others)))

    def arranged(result: TracedArray) -> TracedArray:
        return ops.permute(reshaped(result, (*shape, count)), back)

    return arranged(values), arranged(indices)


def _greatest(rows: TracedArray, count: int) -> TracedArray:
    """
    Returns where the `count` greatest elements of each row are. A row is cut into blocks. Of these as many,
    those with the greatest elements, the first of equal ones, have all that is wanted: no other block has an
    element that comes before the greatest one of a chosen block. The greatest elements of blocks are sorted,
    then all elements of the chosen ones; both are as many where a block has sqrt(extent / count) elements.
    """
    n_rows, extent = rows.shape
    size = 1 << round(math.log2(extent / count) / 2)
    whole = extent // size
    blocks = [reshaped(part_of(rows, 1, 0, whole * size), (n_rows, whole, size))]
    if rest := extent % size:
        blocks.append(reshaped(part_of(rows, 1, whole * size, rest), (n_rows, 1, rest)))
    heads = [ops.reduce("max", order_keys(block), (2,)) for block in blocks]
    heads = ops.concat(heads, 1) if rest else heads[0]
    chosen = ops.cast(part_of(ops.argsort(heads, 1, True), 1, 0, count), INT32 if extent < 1 << 31 else INT64)
    # In the order of the row again, so that of equal elements the first come first.
    chosen = ops.cast(ops.sort(chosen, 1), INT64)
    wide = (n_rows, count, size)
    first = ops.mul(chosen, scalar_like(chosen, size))
    places = ops.add(ops.broadcast(reshaped(first, (n_rows, count, 1)), wide), ops.iota(2, INT64, wide))
    places = reshaped(places, (n_rows, count * size))
    candidates = order_keys(gathered_along(rows, places, 1))
    is_there = ops.lt(places, scalar_like(places, extent))
    lowest = scalar_like(candidates, least_of(candidates.dtype))
    candidates = ops.select(is_there, candidates, lowest)
    order = part_of(ops.argsort(candidates, 1, True), 1, 0, count)
    return gathered_along(places, order, 1)
