"""Polynomials, as arrays of their coefficients, that of the highest power first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays.array import Array
from ...calls.dispatch import array_function
from ..arguments.axes import integer_of
from ..arguments.operands import FLOAT64, Operand, common, is_float, operands
from ..creation import arange, asarray, zeros, zeros_like
from ..dtypes import astype
from ..elementwise import sqrt
from ..linalg.least_squares import lstsq
from ..manipulation import concat
from ..statistics import sum
from .calculus import vander
from .sequences import convolve

__all__ = ["polyadd", "polyder", "polyfit", "polyint", "polymul", "polysub", "polyval"]


@array_function
def polyval(p: Array, x: Operand, /) -> Array:
    """The value at `x` of a polynomial, its coefficient of the highest power first, by Horner's rule."""
    factors, at = common("polyval", p, x)
    _check_rank("polyval", factors)
    found = zeros_like(at)
    for place in range(factors.shape[0]):
        found = found * at + factors[place]
    return found


@array_function(static=("deg", "rcond"))
def polyfit(x: Array, y: Array, /, deg: int, rcond: float | None = None, *, w: Array | None = None) -> Array:
    """
    The coefficients, that of the highest power first, of the polynomial of degree `deg` with the least sum of
    squared distances from the values `y` at `x`, of each column if `y` has rank 2; distances are multiplied
    by `w`. Powers are divided by their norms first, and singular values below `rcond` times the greatest one
    (epsilon times how many places there are) count as 0, as in numpy.

    Raises ValueError for a negative degree, and for other shapes.
    """
    places, values = common("polyfit", x, y)
    if not is_float(places.dtype):
        places, values = places.astype(FLOAT64), values.astype(FLOAT64)
    degree = integer_of("polyfit", "deg", deg)
    if degree < 0:
        raise ValueError(f"polyfit: deg is {degree}")
    if places.ndim != 1 or values.ndim not in (1, 2) or values.shape[0] != places.shape[0]:
        raise ValueError(f"polyfit: places and values have shapes {places.shape} and {values.shape}")
    if not places.shape[0]:
        raise ValueError("polyfit: there are no places")
    powers = vander(places, degree + 1)
    if w is not None:
        (weights,) = operands("polyfit", w)
        if weights.shape != places.shape:
            raise ValueError(f"polyfit: w has shape {weights.shape}, expected {places.shape}")
        powers = powers * weights[:, None]
        values = values * (weights if values.ndim == 1 else weights[:, None])
    scale = sqrt(sum(powers * powers, axis=0))
    bound = places.shape[0] * float(np.finfo(places.dtype).eps) if rcond is None else rcond
    found = lstsq(powers / scale, values, rcond=asarray(bound, dtype=places.dtype)).x
    return found / (scale if found.ndim == 1 else scale[:, None])


@array_function
def polyadd(a1: Array, a2: Array, /) -> Array:
    """The sum of two polynomials. Raises ValueError where coefficients have another rank than 1."""
    first, second = _of_one_length("polyadd", a1, a2)
    return first + second


@array_function
def polysub(a1: Array, a2: Array, /) -> Array:
    """The first of two polynomials less the second. Raises ValueError as `polyadd`."""
    first, second = _of_one_length("polysub", a1, a2)
    return first - second


def _of_one_length(who: str, a1: Array, a2: Array) -> tuple[Array, Array]:
    first, second = common(who, a1, a2)
    for factors in (first, second):
        _check_rank(who, factors)
    length = max(first.shape[0], second.shape[0])
    return _behind_zeros(first, length), _behind_zeros(second, length)


def _behind_zeros(factors: Array, length: int) -> Array:
    return concat([zeros((length - factors.shape[0],), factors.dtype), factors])


def _check_rank(who: str, factors: Array) -> None:
    if factors.ndim != 1:
        raise ValueError(f"{who}: coefficients have shape {factors.shape}, expected one axis")


def polymul(a1: Array, a2: Array, /) -> Array:
    """
    The product of two polynomials. Coefficients of 0 before the first other one stay, which numpy, that looks
    at values, leaves out. Raises ValueError where coefficients have another rank than 1.
    """
    first, second = asarray(a1), asarray(a2)
    for factors in (first, second):
        _check_rank("polymul", factors)
    return convolve(first, second)


def polyder(p: Array, /, m: int = 1) -> Array:
    """
    The `m`-th derivative of a polynomial. Raises ValueError for a negative `m`, and where coefficients have
    another rank than 1.
    """
    factors = asarray(p)
    _check_rank("polyder", factors)
    for _ in range(_times("polyder", m)):
        factors = factors[:-1] * arange(factors.shape[0] - 1, 0, -1)
    return factors


def polyint(p: Array, /, m: int = 1, k: Operand | Sequence[Operand] = 0) -> Array:
    """
    The `m`-th integral of a polynomial, with the constant `k`, or one for each of the `m` in order. Raises
    ValueError for a negative `m`, another number of constants, and coefficients of another rank than 1.
    """
    factors, constants = asarray(p), asarray(k)
    _check_rank("polyint", factors)
    times = _times("polyint", m)
    if constants.shape not in ((), (1,), (times,)):
        raise ValueError(f"polyint: constants of shape {constants.shape}, expected one or {times}")
    for time in range(times):
        constant = constants[time] if constants.shape == (times,) else constants
        divided = factors / arange(factors.shape[0], 0, -1)
        factors = concat([divided, astype(constant, divided.dtype).reshape((1,))])
    return factors


def _times(who: str, m: int) -> int:
    times = integer_of(who, "m", m)
    if times < 0:
        raise ValueError(f"{who}: m is {times}")
    return times
