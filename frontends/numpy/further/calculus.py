"""Differences, areas and slopes of sampled functions, polynomials, and how variables vary together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...arrays.array import Array
from ...calls.dispatch import array_function
from ..arguments.axes import axes_of, axis_of
from ..arguments.operands import FLOAT64, Operand, is_float, operands
from ..creation import asarray, zeros_like
from ..elementwise import abs, clip, remainder, sqrt
from ..manipulation import concat, reshape, stack
from ..predicates import isnan
from ..products.linear_algebra import diagonal, matmul
from ..searching import searchsorted, where
from ..statistics import cumsum, diff, mean, sum

__all__ = [
    "corrcoef",
    "cov",
    "ediff1d",
    "gradient",
    "interp",
    "trapezoid",
    "unwrap",
    "vander",
]


@array_function
def ediff1d(x: Array, /) -> Array:
    """The differences of neighbours, in row-major order."""
    return diff(reshape(x, (-1,)))


def _part(rank: int, axis: int, begin: int | None, end: int | None) -> tuple[slice, ...]:
    return tuple(slice(begin, end) if at == axis else slice(None) for at in range(rank))


def gradient(
    x: Array, /, *varargs: Operand, axis: int | Sequence[int] | None = None, edge_order: int = 1
) -> Any:
    """
    The slope of sampled values along each axis, a list of them for several axes: of the second order inside,
    and of order `edge_order` at both ends. Each of `varargs` is the distance of samples along an axis, or
    where they are.

    Raises:
        ValueError: there are too few samples, `edge_order` is neither 1 nor 2, or coordinates have not the
            extent of their axis.
        TypeError: there are not none, one or as many distances as axes.
    """
    if edge_order not in (1, 2):
        raise ValueError(f"gradient: edge_order is {edge_order}, expected 1 or 2")
    source = asarray(x)
    axes = axes_of("gradient", axis, source.ndim)
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError(
            f"gradient: {len(varargs)} distances for {len(axes)} axes, expected none, one or as many"
        )
    spacings = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    found = [
        _slope(source, spacing, along, edge_order) for along, spacing in zip(axes, spacings, strict=True)
    ]
    return found[0] if len(found) == 1 and (axis is not None or source.ndim == 1) else found


@array_function(static=("axis", "edge_order"))
def _slope(x: Array, spacing: Any, axis: int, edge_order: int) -> Array:
    values = x if is_float(x.dtype) else x.astype(FLOAT64)
    extent, rank = values.shape[axis], values.ndim
    if extent < edge_order + 1:
        raise ValueError(f"gradient: {extent} samples along axis {axis}, expected {edge_order + 1} or more")
    if spacing.ndim > 1 or (spacing.ndim == 1 and spacing.shape[0] != extent):
        raise ValueError(
            f"gradient: coordinates of shape {spacing.shape} for {extent} samples of axis {axis}"
        )

    def part(begin: int | None, end: int | None) -> Array:
        return values[_part(rank, axis, begin, end)]

    if not spacing.ndim:
        inside = (part(2, None) - part(None, -2)) / (spacing * 2)
        first, last = (part(1, 2) - part(0, 1)) / spacing, (part(-1, None) - part(-2, -1)) / spacing
        if edge_order == 2:
            first = (part(1, 2) * 4 - part(0, 1) * 3 - part(2, 3)) / (spacing * 2)
            last = (part(-1, None) * 3 - part(-2, -1) * 4 + part(-3, -2)) / (spacing * 2)
        return concat([first, inside, last], axis=axis).astype(values.dtype)
    shape = tuple(extent - 1 if at == axis else 1 for at in range(rank))
    gaps = reshape(diff(spacing), shape)

    def gap(begin: int | None, end: int | None) -> Array:
        return gaps[_part(rank, axis, begin, end)]

    # Of a parabola through three neighbours: B. Fornberg, Generation of Finite Difference Formulas on
    # Arbitrarily Spaced Grids, Mathematics of Computation 51 (1988).
    before, behind = gap(None, -1), gap(1, None)
    inside = (
        part(2, None) * before / (behind * (before + behind))
        + part(1, -1) * (behind - before) / (before * behind)
        - part(None, -2) * behind / (before * (before + behind))
    )
    first, last = (part(1, 2) - part(0, 1)) / gap(0, 1), (part(-1, None) - part(-2, -1)) / gap(-1, None)
    if edge_order == 2:
        one, two = gap(0, 1), gap(1, 2)
        first = (
            -part(0, 1) * (2 * one + two) / (one * (one + two))
            + part(1, 2) * (one + two) / (one * two)
            - part(2, 3) * one / (two * (one + two))
        )
        one, two = gap(-2, -1), gap(-1, None)
        last = (
            part(-3, -2) * two / (one * (one + two))
            - part(-2, -1) * (one + two) / (one * two)
            + part(-1, None) * (2 * two + one) / (two * (one + two))
        )
    return concat([first, inside, last], axis=axis).astype(values.dtype)


@array_function(static=("axis",))
def trapezoid(y: Array, /, x: Array | None = None, dx: Operand = 1.0, axis: int = -1) -> Array:
    """The area under values along `axis`, `dx` apart or at the places `x`, by the trapezoidal rule."""
    (values,) = operands("trapezoid", y)
    along = axis_of("trapezoid", axis, values.ndim)
    width: Any = dx
    if x is not None:
        width = diff(x, axis=-1 if x.ndim == 1 else along)
        if x.ndim == 1:
            width = reshape(width, tuple(-1 if at == along else 1 for at in range(values.ndim)))
    rank = values.ndim
    pairs = values[_part(rank, along, 1, None)] + values[_part(rank, along, None, -1)]
    return sum(pairs * width * 0.5, axis=along)


@array_function
def interp(
    x: Operand, xp: Array, fp: Array, /, left: Operand | None = None, right: Operand | None = None
) -> Array:
    """
    Values at `x` on the lines between the points `(xp, fp)`, whose places must rise; `left` and `right`
    before and behind them, else the first and the last value. NaN at NaN.

    Raises ValueError where the points are not two arrays of one extent, 1 or more.
    """
    places, values, at = xp.astype(FLOAT64), fp.astype(FLOAT64), asarray(x).astype(FLOAT64)
    if places.ndim != 1 or places.shape != values.shape or places.shape[0] == 0:
        raise ValueError(
            f"interp: points have shapes {places.shape} and {values.shape}, expected one axis of 1 or more"
        )
    if places.shape[0] == 1:
        inside = zeros_like(at) + values[0]
    else:
        begin = clip(searchsorted(places, at, "right") - 1, 0, places.shape[0] - 2)
        first, low = places[begin], values[begin]
        slope = (values[begin + 1] - low) / (places[begin + 1] - first)
        inside = slope * (at - first) + low
    inside = where(at >= places[-1], values[-1], inside)
    inside = where(at < places[0], values[0] if left is None else left, inside)
    inside = where(at > places[-1], values[-1] if right is None else right, inside)
    return where(isnan(at), at, inside)


@array_function(static=("N", "increasing"))
def vander(x: Array, /, N: int | None = None, increasing: bool = False) -> Array:
    """
    The matrix of the powers of each element, of 0 to `N - 1`, the highest first unless `increasing`.

    Raises ValueError where the rank is not 1.
    """
    if x.ndim != 1:
        raise ValueError(f"vander: the array has shape {x.shape}, expected one axis")
    count = x.shape[0] if N is None else N
    powers = [zeros_like(x) + 1]
    for _ in range(count - 1):
        powers.append(powers[-1] * x)
    powers = powers[:count]
    if not powers:
        return zeros_like(x)[:, None][:, :0]
    return stack(powers if increasing else powers[::-1], axis=1)


@array_function(static=("discont", "axis", "period"))
def unwrap(
    p: Array, /, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi
) -> Array:
    """Angles along `axis`, steps of more than half a `period`, and than `discont`, made the shorter way."""
    (angles,) = operands("unwrap", p)
    along = axis_of("unwrap", axis, angles.ndim)
    if not is_float(angles.dtype) and isinstance(period, float):
        angles = angles.astype(FLOAT64)
    steps = diff(angles, axis=along)
    half = period // 2 if isinstance(period, int) and not is_float(angles.dtype) else period / 2
    shorter = remainder(steps + half, period) - half
    if half * 2 == period:
        shorter = where((shorter == -half) & (steps > 0), half, shorter)
    turns = shorter - steps
    turns = where(abs(steps) < (half if discont is None else discont), 0, turns)
    rest = angles[_part(angles.ndim, along, 1, None)] + cumsum(turns, along)
    return concat([angles[_part(angles.ndim, along, None, 1)], rest], axis=along)


@array_function(static=("rowvar", "bias", "ddof"))
def cov(
    m: Array, /, y: Array | None = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None
) -> Array:
    """
    How the rows of `m`, and of `y` below it, vary together: the sums of the products of their distances from
    their means, over the number of columns less `ddof` (1, or 0 with `bias`). Without `rowvar` columns are
    variables.

    Raises ValueError where there are more than two axes.
    """
    table = _variables(m, rowvar)
    if y is not None:
        table = concat([table, _variables(y, rowvar)], axis=0)
    less = (0 if bias else 1) if ddof is None else ddof
    off = table - mean(table, axis=1, keepdims=True)
    left = table.shape[1] - less
    found = matmul(off, off.T) / (left if left > 0 else 0.0)
    return found[0, 0] if found.shape == (1, 1) else found


def _variables(m: Array, rowvar: bool) -> Array:
    (table,) = operands("cov", m)
    if table.ndim > 2:
        raise ValueError(f"cov: the array has shape {table.shape}, expected one or two axes")
    wide: Array = table if is_float(table.dtype) else table.astype(FLOAT64)
    if wide.ndim < 2:
        return reshape(wide, (1, -1))
    return wide if rowvar or wide.shape[0] == 1 else wide.T


@array_function(static=("rowvar",))
def corrcoef(x: Array, /, y: Array | None = None, rowvar: bool = True) -> Array:
    """What `cov` gives, over the square roots of the variances: from -1 to 1."""
    found = cov(x, y, rowvar)
    if not found.ndim:
        return found / found
    spread = sqrt(diagonal(found))
    return clip(found / spread[:, None] / spread[None, :], -1, 1)
