"""
Pooling to a given number of places, and its gradients. Place `i` of `n` takes the elements of an axis of
`extent` from `i * extent // n` to before `-(-(i + 1) * extent // n)`; where `n` is no divisor windows differ
in size, and overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ... import nn
from ... import numpy as tnp
from ...tracing import graph_ops as ops
from .pooling import static_extents, to_places
from .promotion import INT64, as_dtype, computed_in
from .table import Traced, Wanted, aten

Numbers = np.ndarray[Any, Any]


def _windows(extent: int, places: int) -> tuple[Numbers, Numbers]:
    """
    Returns for each place the elements of its window, and whether there are so many: all windows have as many
    as the largest one. The windows that an element is in are those of `_windows(places, extent)`.
    """
    if not places:
        return np.zeros((0, 1), np.int64), np.zeros((0, 1), np.bool_)
    start = np.arange(places) * extent // places
    end = -(-(np.arange(places) + 1) * extent // places)
    at: Numbers = start[:, None] + np.arange(np.max(end - start))
    return np.clip(at, 0, extent - 1), np.less(at, end[:, None])


def _is_even(extents: Sequence[int], places: Sequence[int]) -> bool:
    return all(n and not extent % n for extent, n in zip(extents, places, strict=True))


def _spread(x: Traced, axis: int, at: Numbers, inside: Numbers, value: float) -> Traced:
    """Returns `x` with windows and their elements in the place of an axis, and `value` beyond their ends."""
    found: Traced = tnp.take(x, ops.constant(at.reshape(-1)), axis=axis)
    shape = (*x.shape[:axis], *at.shape, *x.shape[axis + 1 :])
    found = ops.reshape(found, shape)
    if inside.all():
        return found
    mask = ops.reshape(ops.constant(inside), (*at.shape, *(1 for _ in x.shape[axis + 1 :])))
    return tnp.where(mask, found, ops.full(value, found.dtype, ()))


def _sums(x: Traced, axis: int, at: Numbers, inside: Numbers) -> Traced:
    return tnp.sum(_spread(x, axis, at, inside, 0), axis=axis + 1)


def _along(factors: Numbers, rank: int, axis: int, like: Traced) -> Traced:
    """Returns a factor for each element of an axis."""
    placed = factors.reshape(-1, *(1 for _ in range(rank - axis - 1)))
    return as_dtype(ops.constant(placed.astype(np.float64)), like.dtype)


@aten("_adaptive_avg_pool2d.default", "_adaptive_avg_pool3d.default", "adaptive_avg_pool1d.default")
def adaptive_avg_pool(x: Traced, size: Sequence[int], *, wanted: Wanted) -> Traced:
    count, rank = len(size), len(x.shape)
    extents = static_extents(x, count)
    value = as_dtype(x, computed_in(x.dtype))
    if _is_even(extents, size):
        windows = tuple(extent // n for extent, n in zip(extents, size, strict=True))
        return as_dtype(nn.avg_pool(value, windows, strides=windows), x.dtype)
    for number, (extent, places) in enumerate(zip(extents, size, strict=True)):
        axis = rank - count + number
        at, inside = _windows(extent, places)
        value = _sums(value, axis, at, inside) / _along(inside.sum(1), rank, axis, value)
    return as_dtype(value, x.dtype)


@aten("_adaptive_avg_pool2d_backward.default", "_adaptive_avg_pool3d_backward.default")
def adaptive_avg_pool_backward(grad: Traced, x: Traced) -> Traced:
    rank = len(x.shape)
    # One image may come without an axis for it.
    count = rank - 2 if rank > 3 else 2
    extents, size = static_extents(x, count), static_extents(grad, count)
    value = as_dtype(grad, computed_in(x.dtype))
    for number, (extent, places) in enumerate(zip(extents, size, strict=True)):
        axis = rank - count + number
        value = value / _along(_windows(extent, places)[1].sum(1), rank, axis, value)
        value = _sums(value, axis, *_windows(places, extent))
    return as_dtype(value, x.dtype)


@aten("adaptive_max_pool2d.default", "adaptive_max_pool3d.default")
def adaptive_max_pool(
    x: Traced, size: Sequence[int], *, wanted: tuple[Wanted, Wanted]
) -> tuple[Traced, Traced]:
    count, rank = len(size), len(x.shape)
    extents = static_extents(x, count)
    rest = tuple(x.shape[: rank - count])
    value, linear = x, np.zeros((), np.int64)
    for number, (extent, places) in enumerate(zip(extents, size, strict=True)):
        at, inside = _windows(extent, places)
        value = _spread(value, rank - count + 2 * number, at, inside, float("-inf"))
        linear = (linear[..., None, None] * extent) + at
    # Places first, and then all elements of their windows.
    first = len(rest)
    order = [*range(first), *range(first, first + 2 * count, 2), *range(first + 1, first + 2 * count, 2)]
    taps = prod(value.shape[axis] for axis in order[first + count :])
    value = ops.reshape(ops.permute(value, order), (*rest, *size, taps))
    linear = linear.transpose(*range(0, 2 * count, 2), *range(1, 2 * count, 2)).reshape(*size, taps)
    # Of several NaN the last one is it, of other elements the first of the greatest.
    tap = ops.iota(0, INT64, (taps,))
    last = tnp.max(tnp.where(tnp.isnan(value), tap, as_dtype(-1, INT64)), axis=-1, keepdims=True)
    greatest = as_dtype(tnp.argmax(value, axis=-1, keepdims=True), INT64)
    chosen = tnp.where(tnp.less(last, as_dtype(0, INT64)), greatest, last)
    here = tnp.equal(tap, chosen)
    place = tnp.sum(tnp.where(here, ops.constant(linear), as_dtype(0, INT64)), axis=-1)
    return tnp.max(value, axis=-1), place


@aten("adaptive_max_pool2d_backward.default", "adaptive_max_pool3d_backward.default")
def adaptive_max_pool_backward(grad: Traced, x: Traced, indices: Traced) -> Traced:
    return to_places(grad, x, indices, len(x.shape) - 2 if len(x.shape) > 3 else 2)
