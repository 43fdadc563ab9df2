"""What the order of elements says: quantiles, medians, ranges, means with weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ...arrays.array import Array
from ...calls.dispatch import array_function
from ...tracing.trace import TracedArray
from ..arguments.axes import axes_of
from ..arguments.operands import FLOAT64, Operand, is_float, operands
from ..arguments.varying_axes import check_not_empty
from ..creation import asarray
from ..elementwise import ceil, clip, floor, maximum, round
from ..indexing import take_along_axis
from ..manipulation import broadcast_to, expand_dims, flip, moveaxis, reshape
from ..predicates import equal, isnan
from ..searching import searchsorted, where
from ..sorting import sort
from ..statistics import count_nonzero, max, mean, min, sum

__all__ = [
    "amax",
    "amin",
    "average",
    "digitize",
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "percentile",
    "ptp",
    "quantile",
]

Axes = int | Sequence[int] | None

amax, amin = max, min

METHODS = ("linear", "lower", "higher", "midpoint", "nearest")
"""How a quantile between two elements is found: numpy's names of those that its older versions had."""


def _rows(who: str, x: Array, axis: Axes, are_combined: bool = True) -> tuple[TracedArray, tuple[int, ...]]:
    """
    Returns an array with the axes to combine as the last one, in order, and the shape with ones for them; of
    floats where elements are combined.
    """
    (source,) = operands(who, x)
    if are_combined and not is_float(source.dtype):
        source = cast(TracedArray, source.astype(FLOAT64))
    axes = axes_of(who, axis, source.ndim)
    check_not_empty(who, source.shape, axes)
    kept = tuple(1 if at in axes else extent for at, extent in enumerate(source.shape))
    rest = [extent for at, extent in enumerate(source.shape) if at not in axes]
    last = moveaxis(source, axes, tuple(range(-len(axes), 0))) if axes else source
    count = math.prod(source.shape[at] for at in axes)
    if count == 0:
        raise ValueError(f"{who}: there are no elements to choose from (shape {source.shape}, axis {axes})")
    return cast(TracedArray, sort(reshape(last, (*rest, count)), axis=-1)), kept


def _at(rows: Array, place: Array) -> Array:
    """Returns the element of each row at a place, a whole number in a float."""
    return take_along_axis(rows, place.astype(np.int64)[..., None], axis=-1)[..., 0]


def _quantiles(rows: Array, count: Array, q: Array, method: str) -> Array:
    """
    Returns the elements of ordered rows at the shares `q`, in axes in front, of their `count` first ones.
    Between two it goes from the nearer one, as numpy does, so that the result never passes either.
    """
    shape = rows.shape[:-1]
    share = reshape(q, (*q.shape, *(1,) * len(shape)))
    place = share * (broadcast_to(count, shape) - 1)
    if method == "nearest":
        place = round(place)
    below, above = clip(floor(place), 0, rows.shape[-1] - 1), clip(ceil(place), 0, rows.shape[-1] - 1)
    every = broadcast_to(rows, (*q.shape, *rows.shape))
    first, last = _at(every, below), _at(every, above)
    if method in ("lower", "nearest"):
        return first
    if method == "higher":
        return last
    part = where(equal(below, above), 0, 0.5) if method == "midpoint" else place - below
    part, gap = part.astype(rows.dtype), last - first
    between = where(part < 0.5, first + gap * part, last - gap * (1 - part))
    return where(equal(first, last), first, between)


@array_function(static=("who", "axis", "method", "keepdims", "leave_out"))
def _quantile(
    who: str, x: Array, q: Array, axis: Axes, method: str, keepdims: bool, leave_out: bool
) -> Array:
    """Returns quantiles for shares of 1, of what is not NaN where that is left out."""
    if method not in METHODS:
        raise ValueError(f"{who}: method is {method!r}, expected one of {', '.join(METHODS)}")
    rows, kept = _rows(who, x, axis, method in ("linear", "midpoint"))
    of_floats = is_float(rows.dtype)
    wide = rows.astype(np.float32) if of_floats and rows.dtype.itemsize < 4 else rows
    shares, size = q.astype(FLOAT64), asarray(rows.shape[-1], FLOAT64)
    if leave_out and of_floats:
        size = count_nonzero(~isnan(rows), axis=-1).astype(FLOAT64)
    found = _quantiles(wide, maximum(size, 1), shares, method)
    if of_floats:
        is_nan = equal(size, 0) if leave_out else isnan(rows[..., -1])
        found = where(is_nan, math.nan, found).astype(rows.dtype)
    return reshape(found, (*q.shape, *kept)) if keepdims else found


def _checked(who: str, q: Any, greatest: float) -> Array:
    """Returns shares of 1. Raises ValueError where one that is known is outside of 0 to `greatest`."""
    if not isinstance(q, TracedArray):
        shares: Any = np.asarray(q, np.float64)
        if not ((shares >= 0) & (shares <= greatest)).all():
            raise ValueError(f"{who}: {q!r} is not from 0 to {greatest:g}")
    given = asarray(q)
    return (given if is_float(given.dtype) else given.astype(FLOAT64)) / greatest


def quantile(
    x: Array, q: Operand, /, axis: Axes = None, *, method: str = "linear", keepdims: bool = False
) -> Array:
    """
    The elements that a share `q`, from 0 to 1, of those along `axis` are below, with the axes of `q` in
    front. NaN where one is NaN. Integers give float64. `method` is that of numpy: one of `METHODS`.

    Raises ValueError for a share outside of that, an unknown method, or no elements.
    """
    return _quantile("quantile", x, _checked("quantile", q, 1), axis, method, keepdims, False)


def percentile(
    x: Array, q: Operand, /, axis: Axes = None, *, method: str = "linear", keepdims: bool = False
) -> Array:
    """What `quantile` gives for `q` of a hundred."""
    return _quantile("percentile", x, _checked("percentile", q, 100), axis, method, keepdims, False)


def nanquantile(
    x: Array, q: Operand, /, axis: Axes = None, *, method: str = "linear", keepdims: bool = False
) -> Array:
    """What `quantile` gives for what is not NaN; NaN where all is."""
    return _quantile("nanquantile", x, _checked("nanquantile", q, 1), axis, method, keepdims, True)


def nanpercentile(
    x: Array, q: Operand, /, axis: Axes = None, *, method: str = "linear", keepdims: bool = False
) -> Array:
    """What `nanquantile` gives for `q` of a hundred."""
    return _quantile("nanpercentile", x, _checked("nanpercentile", q, 100), axis, method, keepdims, True)


@array_function(static=("axis", "keepdims"))
def median(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """
    The element in the middle of those along `axis`, or the mean of the two there; NaN where one is NaN.
    Integers give float64. Raises ValueError where there are no elements.
    """
    rows, kept = _rows("median", x, axis)
    size = rows.shape[-1]
    found = mean(rows[..., (size - 1) // 2 : size // 2 + 1], axis=-1)
    found = where(isnan(rows[..., -1]), math.nan, found)
    return reshape(found, kept) if keepdims else found


def nanmedian(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The median of what is not NaN; NaN where all is. Else as `median`."""
    return _quantile("nanmedian", x, asarray(0.5), axis, "linear", keepdims, True)


@array_function(static=("axis", "keepdims"))
def ptp(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The greatest element along `axis` less the least one."""
    return max(x, axis, keepdims=keepdims) - min(x, axis, keepdims=keepdims)


@array_function(static=("axis", "returned", "keepdims"))
def average(
    x: Array,
    /,
    axis: Axes = None,
    weights: Array | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """
    The mean along `axis`, each element as often as `weights` says: of the shape of `x`, or along one axis.
    With `returned` also the sum of the weights.

    Raises ValueError where the shapes do not go together.
    """
    (source,) = operands("average", x)
    axes = axes_of("average", axis, source.ndim)
    if weights is None:
        found = mean(source, axes, keepdims=keepdims)
        count = math.prod(source.shape[at] for at in axes)
        return (found, broadcast_to(asarray(count, found.dtype), found.shape)) if returned else found
    (heavy,) = operands("average", weights)
    if heavy.shape != source.shape:
        if len(axes) != 1 or heavy.shape != (source.shape[axes[0]],):
            raise ValueError(
                f"average: weights have shape {heavy.shape}, and the array {source.shape} (axis {axis})"
            )
        ahead = tuple(at for at in range(source.ndim) if at != axes[0])
        heavy = broadcast_to(expand_dims(heavy, ahead) if ahead else heavy, source.shape)
    total = sum(heavy, axes, keepdims=keepdims)
    weighted = sum(source * heavy, axes, keepdims=keepdims)
    found = weighted / total
    return (found, total.astype(found.dtype)) if returned else found


@array_function(static=("right",))
def digitize(x: Array, bins: Array, /, right: bool = False) -> Array:
    """
    The number of the bin that each element is in, 0 before the first edge: `bins[i - 1] <= x < bins[i]`, with
    `right` `<` and `<=`. Edges may rise or fall.

    Raises ValueError where the edges have not rank 1.
    """
    edges: Array = bins
    if edges.ndim != 1:
        raise ValueError(f"digitize: bins have shape {edges.shape}, expected one axis")
    rising = searchsorted(edges, x, "left" if right else "right")
    if edges.shape[0] < 2:
        return rising
    falling = edges.shape[0] - searchsorted(flip(edges), x, "left" if right else "right")
    return where(edges[0] <= edges[-1], rising, falling)
