"""`a * b + c` rounded once, on machines and numpy versions that offer no fma."""

from __future__ import annotations

from math import inf

import numpy as np

from .numpy_types import F32, Array, is_narrow

_PART = 1 << 14
"""
Numbers that are computed at once, with intermediates that fit into a cache: 2^19 take 56 ms at once and 28 ms
in parts of this size.
"""

_FEW = 8
"""So few numbers are computed one by one: 8 take 30 us so and 39 us in numpy, 1 takes 18 us and 41 us."""


def fma(a: Array, b: Array, c: Array) -> Array:
    """
    Returns `a * b + c` rounded once, for floats of one dtype; narrow ones are computed by an f32 fma and
    then rounded to their own precision.
    """
    dtype = a.dtype
    if is_narrow(dtype):
        return _fma_f32(a.astype(F32), b.astype(F32), c.astype(F32)).astype(dtype)
    return _fma_f32(a, b, c) if dtype == F32 else _fma_f64(a, b, c)


def round_to_odd(nearest: Array, error: Array) -> Array:
    """
    Returns the sum of `nearest` and `error` rounded to odd, given that `nearest` is that sum rounded to
    nearest.

    A value rounded to odd keeps, in its last bit, that it was inexact; rounding it once more, to a precision
    at least two bits narrower, gives what rounding the exact sum would have given (Boldo and Melquiond 2008).
    """
    nearest = np.asarray(nearest)
    bits: Array = nearest.view(np.int32 if nearest.dtype == F32 else np.int64)
    moves = (bits & 1 == 0) & (error != 0) & np.isfinite(nearest)
    if np.any(moves & (nearest == 0)):
        towards = np.copysign(np.inf, error).astype(nearest.dtype)
        return np.where(moves, np.nextafter(nearest, towards), nearest)
    is_outwards = np.signbit(error) == (bits < 0)
    moved: Array = np.subtract(np.add(bits, moves & is_outwards), moves & ~is_outwards)
    return moved.view(nearest.dtype)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Returns the rounded sum and its exact error (Knuth)."""
    total = a + b
    b_part = total - a
    return total, (a - (total - b_part)) + (b - b_part)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Returns the rounded f64 product and its exact error (Dekker), if nothing over- or underflows."""
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _split(value: Array) -> tuple[Array, Array]:
    """Splits an f64 into two halves of 26 bits (Veltkamp)."""
    scaled = value * np.float64(2**27 + 1)
    high = scaled - (scaled - value)
    return high, value - high


def _fma_f32(a: Array, b: Array, c: Array) -> Array:
    product = np.multiply(a, b, dtype=np.float64)  # exact: 48 bits, and f64 has the range
    total = np.asarray(product + c)
    result = np.asarray(total.astype(F32))
    # Rounding twice is rounding once unless the first gives a tie of the second; the bits that subnormal
    # results drop are others.
    suspect = ((total.view(np.int64) & 0x1FFF_FFFF) == 0x1000_0000) | (np.abs(total) < 2.0**-126)
    if suspect.any():
        product, c = (np.broadcast_to(operand, total.shape)[suspect] for operand in (product, c))
        result[suspect] = round_to_odd(*_two_sum(product, c.astype(np.float64))).astype(F32)
    return result


def _fma_f64(a: Array, b: Array, c: Array) -> Array:
    """
    Boldo and Melquiond's algorithm where no intermediate can over- or underflow, on scaled operands where one
    could, exact rational arithmetic where the result may be subnormal, and plain arithmetic where an operand
    is zero, infinite or NaN.
    """
    if not a.shape == b.shape == c.shape:
        a, b, c = np.broadcast_arrays(a, b, c)
    result = np.empty(a.shape)
    row_a, row_b, row_c, row = a.reshape(-1), b.reshape(-1), c.reshape(-1), result.reshape(-1)
    for start in range(0, row.size, _PART):
        part = slice(start, start + _PART)
        _fma_part(row_a[part], row_b[part], row_c[part], row[part])
    return result


def _fma_part(a: Array, b: Array, c: Array, out: Array) -> None:
    if out.size <= _FEW:
        _fma_others(a, b, c, out)
        return
    is_safe = _within(a, 2.0**400) & _within(b, 2.0**400) & _within(c, 2.0**900)
    if is_safe.all():
        out[:] = _fma_in_range(a, b, c)
        return
    out[is_safe] = _fma_in_range(a[is_safe], b[is_safe], c[is_safe])
    others = ~is_safe
    result = np.empty(np.count_nonzero(others))
    _fma_others(a[others], b[others], c[others], result)
    out[others] = result


def _fma_others(a: Array, b: Array, c: Array, out: Array) -> None:
    """Computes rows of any numbers."""
    factors_finite = np.isfinite(a) & np.isfinite(b)
    factors_nonzero = (a != 0) & (b != 0)
    # a product that overflows or underflows must not meet an infinite or a zero `c` rounded
    is_addend_finite = np.isfinite(c)
    is_addend_nonzero = c != 0
    out[:] = np.where(factors_finite & ~is_addend_finite, c, a * b + c)
    is_product = factors_finite & factors_nonzero & ~is_addend_nonzero
    if is_product.any():
        out[is_product] = (a * b)[is_product]
    far = factors_finite & is_addend_finite & factors_nonzero & is_addend_nonzero
    if np.count_nonzero(far) > _FEW:
        out[far] = _fma_out_of_range(a[far], b[far], c[far])
        return
    for index in np.flatnonzero(far):
        out[index] = _fma_exactly(float(a[index]), float(b[index]), float(c[index]))


def _fma_in_range(a: Array, b: Array, c: Array) -> Array:
    product, product_error = _two_product(a, b)
    high, high_error = _two_sum(c, product_error)
    total, total_error = _two_sum(product, high)
    return total + round_to_odd(*_two_sum(high_error, total_error))


def _fma_out_of_range(a: Array, b: Array, c: Array) -> Array:
    """Returns `a * b + c` for rows of finite numbers, none of them zero, of any exponents."""
    a_fraction, a_exponent = np.frexp(a)
    b_fraction, b_exponent = np.frexp(b)
    exponent = a_exponent + b_exponent
    scaled = np.ldexp(c, -exponent)
    # Against a product of a quarter or more, with at most 106 bits, only the sign of so little counts.
    scaled = np.where(np.abs(scaled) < 2.0**-900, np.copysign(2.0**-900, c), scaled)
    near = _fma_in_range(a_fraction, b_fraction, scaled)
    _, near_exponent = np.frexp(near)
    result = np.ldexp(near, exponent)
    # A product below the last bits of `c`, by more than a rounding, leaves it as it is.
    is_lost = (np.abs(c) >= 2.0**-900) & (np.abs(a * b) <= np.abs(c) * 2.0**-64)
    result = np.where(is_lost, c, result)
    is_normal = (near == 0) | (near_exponent + exponent > -1021)
    is_known = is_lost | (is_normal & (np.abs(scaled) <= 2.0**900))
    for index in np.flatnonzero(~is_known):
        result[index] = _fma_exactly(float(a[index]), float(b[index]), float(c[index]))
    return result


def _within(value: Array, limit: float) -> Array:
    magnitude = np.abs(value)
    return (magnitude <= limit) & (magnitude >= 1 / limit)


def _fma_exactly(a: float, b: float, c: float) -> float:
    (a_above, a_below), (b_above, b_below), (c_above, c_below) = (x.as_integer_ratio() for x in (a, b, c))
    above = a_above * b_above * c_below + c_above * a_below * b_below
    try:
        return above / (a_below * b_below * c_below)  # rounded once
    except OverflowError:
        return inf if above > 0 else -inf
