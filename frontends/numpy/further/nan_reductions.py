"""Reductions that leave NaN out."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...arrays.array import Array
from ...calls.dispatch import array_function
from ..arguments.axes import axes_of
from ..arguments.operands import is_float, operands
from ..elementwise import sqrt
from ..manipulation import squeeze
from ..order_keys import float_keys, floats_of
from ..predicates import isnan
from ..searching import argmax, argmin, where
from ..statistics import (
    all,
    correction_of,
    count_nonzero,
    cumprod,
    cumsum,
    max,
    mean,
    min,
    of_floats,
    prod,
    sum,
    var,
    wide_for_sums,
)

__all__ = [
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]

Axes = int | Sequence[int] | None
_REDUCED = ("axis", "keepdims")
_SUMMED = ("axis", "dtype", "keepdims")
_SPREAD = ("axis", "dtype", "ddof", "correction", "keepdims")


def _without(who: str, x: Array, value: float) -> Array:
    """Returns an array with `value` in the place of NaN."""
    (source,) = operands(who, x)
    return where(isnan(source), value, source) if is_float(source.dtype) else source


@array_function(static=_SUMMED)
def nansum(x: Array, /, axis: Axes = None, dtype: object = None, *, keepdims: bool = False) -> Array:
    """The sum of what is not NaN, else as `sum`."""
    return sum(_without("nansum", x, 0), axis, dtype, keepdims=keepdims)


@array_function(static=_SUMMED)
def nanprod(x: Array, /, axis: Axes = None, dtype: object = None, *, keepdims: bool = False) -> Array:
    """The product of what is not NaN, else as `prod`."""
    return prod(_without("nanprod", x, 1), axis, dtype, keepdims=keepdims)


@array_function(static=("axis", "dtype"))
def nancumsum(x: Array, /, axis: int | None = None, dtype: object = None) -> Array:
    """What `cumsum` gives with 0 in the place of NaN."""
    return cumsum(_without("nancumsum", x, 0), axis, dtype)


@array_function(static=("axis", "dtype"))
def nancumprod(x: Array, /, axis: int | None = None, dtype: object = None) -> Array:
    """What `cumprod` gives with 1 in the place of NaN."""
    return cumprod(_without("nancumprod", x, 1), axis, dtype)


@array_function(static=_REDUCED)
def nanmax(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The greatest of what is not NaN, NaN where all is; else as `max`."""
    (source,) = operands("nanmax", x)
    if not is_float(source.dtype):
        return max(source, axis, keepdims=keepdims)
    # One reduction: NaN is what is left where there is nothing above it.
    (greatest,) = operands("nanmax", max(float_keys(source), axis, keepdims=keepdims))
    return floats_of(greatest, source.dtype)


@array_function(static=_REDUCED)
def nanmin(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The least of what is not NaN, NaN where all is; else as `min`."""
    (source,) = operands("nanmin", x)
    if not is_float(source.dtype):
        return min(source, axis, keepdims=keepdims)
    keys = float_keys(source, nan_is_greatest=True)
    (least,) = operands("nanmin", min(keys, axis, keepdims=keepdims))
    return floats_of(least, source.dtype)


def _unless_all_are_nan(x: Array, found: Array, value: float, axis: Axes, keepdims: bool) -> Array:
    """Returns what a reduction found, and `value` where there was nothing but NaN."""
    if not is_float(x.dtype):
        return found
    return where(all(isnan(x), axis, keepdims=keepdims), value, found)


@array_function(static=_REDUCED)
def nanargmax(x: Array, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """The index of the greatest of what is not NaN, -1 where all is (numpy raises); else as `argmax`."""
    found = argmax(_without("nanargmax", x, -math.inf), axis, keepdims=keepdims)
    return _unless_all_are_nan(x, found, -1, axis, keepdims)


@array_function(static=_REDUCED)
def nanargmin(x: Array, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """The index of the least of what is not NaN, -1 where all is (numpy raises); else as `argmin`."""
    found = argmin(_without("nanargmin", x, math.inf), axis, keepdims=keepdims)
    return _unless_all_are_nan(x, found, -1, axis, keepdims)


@array_function(static=_SUMMED)
def nanmean(x: Array, /, axis: Axes = None, dtype: object = None, *, keepdims: bool = False) -> Array:
    """The mean of what is not NaN, NaN where there is nothing; else as `mean`."""
    source = of_floats("nanmean", x, dtype)
    if not is_float(source.dtype):
        return mean(source, axis, keepdims=keepdims)
    wide = wide_for_sums(source)
    count = count_nonzero(~isnan(wide), axis, keepdims=keepdims)
    return (nansum(wide, axis, keepdims=keepdims) / count.astype(wide.dtype)).astype(source.dtype)


@array_function(static=_SPREAD)
def nanvar(
    x: Array,
    /,
    axis: Axes = None,
    dtype: object = None,
    *,
    ddof: float | None = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Array:
    """
    The variance of what is not NaN; NaN where that is not more than `correction` elements. Else as `var`.

    Raises ValueError where `correction` and `ddof` are given.
    """
    return _variance("nanvar", x, axis, dtype, correction_of("nanvar", ddof, correction), keepdims)


@array_function(static=_SPREAD)
def nanstd(
    x: Array,
    /,
    axis: Axes = None,
    dtype: object = None,
    *,
    ddof: float | None = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Array:
    """The square root of what `nanvar` gives."""
    return sqrt(_variance("nanstd", x, axis, dtype, correction_of("nanstd", ddof, correction), keepdims))


def _variance(who: str, x: Array, axis: Axes, dtype: object, correction: float, keepdims: bool) -> Array:
    source = of_floats(who, x, dtype)
    if not is_float(source.dtype):
        return var(source, axis, correction=correction, keepdims=keepdims)
    wide, axes = wide_for_sums(source), axes_of(who, axis, source.ndim)
    is_there = ~isnan(wide)
    count = count_nonzero(is_there, axes, keepdims=True).astype(wide.dtype)
    off = where(is_there, wide - nansum(wide, axes, keepdims=True) / count, 0)
    left = count - correction
    found = where(left > 0, sum(off * off, axes, keepdims=True) / left, math.nan).astype(source.dtype)
    return found if keepdims else squeeze(found, axes)
