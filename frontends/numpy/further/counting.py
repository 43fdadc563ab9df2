"""How often values are there."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays.array import Array
from ...calls.dispatch import array_function
from ...tracing.trace import TracedArray
from ..arguments.axes import integer_of
from ..arguments.operands import (
    BOOL,
    FLOAT64,
    INT64,
    Operand,
    common,
    is_float,
    is_integer,
    no_loop,
)
from ..creation import asarray, linspace, zeros
from ..elementwise import clip
from ..indexing import take
from ..manipulation import reshape
from ..predicates import equal
from ..searching import searchsorted, where
from ..sorting import sort
from ..statistics import diff, max, min, sum
from ..values import values_of

__all__ = ["bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd", "isin"]


def bincount(
    x: Array, /, weights: Array | None = None, minlength: int = 0, *, length: int | None = None
) -> Array:
    """
    How often each of the numbers 0, 1, ... is there, or the sums of the `weights` of those that are it.
    `length`, jax's name, says how many numbers there are to count, and leaves others out; without it that is
    one more than the greatest, and `minlength` or more, for which the values must be known.

    Raises:
        TracingError: `x` is traced and there is no `length`.
        ValueError: its rank is not 1, a value is negative, or the weights have another shape.
        TypeError: it is not of integers.
    """
    numbers = asarray(x)
    if numbers.ndim != 1:
        raise ValueError(f"bincount: the array has shape {numbers.shape}, expected one axis")
    if not is_integer(numbers.dtype) and numbers.dtype != BOOL:
        raise no_loop("bincount", numbers.dtype)
    if length is None:
        values = values_of("bincount", numbers, "bincount(x, length=...)")
        if values.size and values.min() < 0:
            raise ValueError(f"bincount: {values.min()} is negative")
        least = integer_of("bincount", "minlength", minlength)
        length = builtins.max(int(values.max()) + 1 if values.size else 0, least)
    _check_weights("bincount", weights, numbers)
    return _counted(numbers, weights, integer_of("bincount", "length", length))


def _check_weights(who: str, weights: object, x: Array) -> None:
    """Raises ValueError where there are weights of another shape than the array."""
    if weights is not None and (shape := asarray(weights).shape) != x.shape:
        raise ValueError(f"{who}: weights have shape {shape}, and the array {x.shape}")


@array_function(static=("length",))
def _counted(numbers: Array, weights: Array | None, length: int) -> Array:
    places = numbers.astype(INT64)
    heavy = asarray(1, INT64) if weights is None else weights.astype(FLOAT64)
    counts = zeros((length,), heavy.dtype)
    if not length:
        return counts
    is_counted = (places >= 0) & (places < length)
    return counts.at[clip(places, 0, length - 1)].add(where(is_counted, heavy, 0))


def histogram_bin_edges(
    x: Array,
    /,
    bins: int | Array | Sequence[float] = 10,
    range: tuple[float, float] | None = None,
) -> Array:
    """
    The edges of `bins` bins of one width, from the least to the greatest element or over `range`; edges
    themselves as they are.

    Raises ValueError where there are no bins, edges of another rank than 1, or a range that ends before it
    begins.
    """
    if not isinstance(bins, int | np.integer):
        edges = asarray(bins)
        if edges.ndim != 1:
            raise ValueError(f"histogram: bins have shape {edges.shape}, expected one axis")
        return edges
    if bins < 1:
        raise ValueError(f"histogram: {bins} bins, expected 1 or more")
    source = asarray(x)
    if range is not None:
        if not builtins.any(isinstance(each, TracedArray) for each in range) and range[0] > range[1]:
            raise ValueError(f"histogram: the range {range} ends before it begins")
        low, high = (asarray(each).astype(FLOAT64) for each in range)
    elif source.size == 0:
        low, high = asarray(0.0), asarray(1.0)
    else:
        low, high = min(source).astype(FLOAT64), max(source).astype(FLOAT64)
    is_point = equal(low, high)
    edges = linspace(where(is_point, low - 0.5, low), where(is_point, high + 0.5, high), bins + 1)
    return edges.astype(source.dtype) if is_float(source.dtype) else edges


def histogram(
    x: Array,
    /,
    bins: int | Array | Sequence[float] = 10,
    range: tuple[float, float] | None = None,
    density: bool = False,
    weights: Array | None = None,
) -> tuple[Array, Array]:
    """
    How many elements are in each bin, and the edges, as `histogram_bin_edges` gives them, which must rise.
    The last bin has its right edge too; what is outside of all, or NaN, is not counted. With `weights` their
    sums; with `density` as shares of the whole over the widths.

    Raises ValueError where weights have another shape than `x`, and as `histogram_bin_edges`.
    """
    source = asarray(x)
    edges = histogram_bin_edges(source, bins, range)
    _check_weights("histogram", weights, source)
    return _sorted_into(source, edges, weights, density), edges


def histogram2d(
    x: Array,
    y: Array,
    /,
    bins: int | Array | Sequence[Any] = 10,
    range: Sequence[tuple[float, float] | None] | None = None,
    density: bool = False,
    weights: Array | None = None,
) -> tuple[Array, Array, Array]:
    """
    How many points are in each bin of a plane, which `x` and `y` say where they are, and the edges along both
    axes, each as `histogram` has them; `bins` are those of both axes, or a pair. Raises as `histogramdd`.
    """
    given: Any = bins
    if not isinstance(bins, int | np.integer) and len(bins) != 2:
        given = (bins, bins)
    found, (first, second) = histogramdd((x, y), given, range, density, weights)
    return found, first, second


def histogramdd(
    sample: Array | Sequence[Array],
    /,
    bins: int | Sequence[Any] = 10,
    range: Sequence[tuple[float, float] | None] | None = None,
    density: bool = False,
    weights: Array | None = None,
) -> tuple[Array, list[Array]]:
    """
    How many points are in each bin of a space as f64, and the edges along each axis, as `histogram` has them.
    Points are the rows of an array, or arrays of all their coordinates along an axis each; `bins` and `range`
    are those of all axes or one for each.

    Raises ValueError where points and weights are not of one number, there are not as many bins or ranges as
    axes, and as `histogram_bin_edges`.
    """
    if isinstance(sample, list | tuple):
        lines = [reshape(asarray(each), (-1,)) for each in sample]
    else:
        points = asarray(sample)
        if points.ndim != 2:
            raise ValueError(f"histogramdd: points have shape {points.shape}, expected two axes")
        lines = [points[:, axis] for axis in builtins.range(points.shape[1])]
    if len({line.shape for line in lines}) > 1:
        raise ValueError(f"histogramdd: coordinates have shapes {[line.shape for line in lines]}")
    of_axes = [bins] * len(lines) if isinstance(bins, int | np.integer) else list(bins)
    ranges = [None] * len(lines) if range is None else list(range)
    for what, each in (("bins", of_axes), ("range", ranges)):
        if len(each) != len(lines):
            raise ValueError(f"histogramdd: {what} of {len(each)} axes, of {len(lines)}")
    if lines:
        _check_weights("histogramdd", weights, lines[0])
    edges = [
        histogram_bin_edges(line, each, limits)
        for line, each, limits in zip(lines, of_axes, ranges, strict=True)
    ]
    return _counted_in_boxes(lines, edges, weights, density), edges


@array_function(static=("density",))
def _counted_in_boxes(lines: list[Array], edges: list[Array], weights: Array | None, density: bool) -> Array:
    place, is_counted = asarray(0), asarray(True)
    for line, each in zip(lines, edges, strict=True):
        along, is_inside = _places(line, each)
        place = place * (each.shape[0] - 1) + along
        is_counted = is_counted & is_inside
    shape = tuple(each.shape[0] - 1 for each in edges)
    heavy = asarray(1.0) if weights is None else weights.astype(FLOAT64)
    counts = zeros((math.prod(shape),), FLOAT64).at[place].add(where(is_counted, heavy, 0))
    found = reshape(counts, shape)
    if not density:
        return found
    shares = found / sum(found)
    for axis, each in enumerate(edges):
        shares = shares / reshape(diff(each).astype(FLOAT64), (-1, *(1,) * (len(edges) - 1 - axis)))
    return shares


def _places(x: Array, edges: Array) -> tuple[Array, Array]:
    """Returns the bin of each element, some bin of those outside of all, and whether it is in one."""
    values, limits = common("histogram", x, edges)
    count = limits.shape[0] - 1
    place = where(equal(values, limits[-1]), count - 1, searchsorted(limits, values, "right") - 1)
    return clip(place, 0, count - 1), (values >= limits[0]) & (values <= limits[-1])


@array_function(static=("density",))
def _sorted_into(x: Array, edges: Array, weights: Array | None, density: bool) -> Array:
    place, is_counted = _places(reshape(x, (-1,)), edges)
    heavy = asarray(1, INT64) if weights is None else reshape(weights, (-1,))
    if heavy.dtype == BOOL:
        heavy = heavy.astype(INT64)
    found = (
        zeros((edges.shape[0] - 1,), heavy.dtype)
        .at[place]
        .add(where(is_counted, heavy, 0).astype(heavy.dtype))
    )
    if not density:
        return found
    shares = found.astype(FLOAT64)
    return shares / diff(edges).astype(FLOAT64) / sum(shares)


@array_function(static=("invert",))
def isin(x: Operand, test_elements: Operand, /, *, invert: bool = False) -> Array:
    """Whether each element is among others, or with `invert` is not. NaN is among nothing."""
    values, others = common("isin", x, test_elements)
    ordered = sort(reshape(others, (-1,)))
    if ordered.shape[0] == 0:
        found = zeros(values.shape, BOOL)
    else:
        place = clip(searchsorted(ordered, values), 0, ordered.shape[0] - 1)
        found = equal(take(ordered, place, 0), values)
    return ~found if invert else found
