"""
The exponential function, and that of base 2.

e^x = 2^n e^r with n = round(x / ln 2) and r = x - n ln 2, |r| <= ln(2) / 2, after Cody and Waite (Software
Manual for the Elementary Functions, 1980): ln 2 is split so that n times its high part is exact. n is rounded
by adding and subtracting 1.5 * 2^n_mantissa_bits, which also leaves n in the low bits of the sum. The product
with 2^n is rounded once, also beyond the largest power of two and where it is subnormal.
e^r is 1 + r + r^2 q(r), q a minimax polynomial. 2^x is 2^n e^r with n = round(x) and r = (x - n) ln 2.

A format has fewer powers of two than n has values, so that `low.ldexp` takes an instruction of its own, or
two products. Where only results up to 1 are asked for, or none that are tiny, one product will do: e^r 2^-k
times 2^(n + k), the former of coefficients times 2^-k. The bits are the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....dialects.float_layout import F32, F64, FloatLayout
from .arithmetic import Float, T


@dataclass(frozen=True)
class _Table:
    lowest: float
    """From here down e^x is 0; n must not be less than `low.ldexp` takes."""
    highest: float
    """From here up e^x is infinite."""
    underflow: float
    """From here down e^x is rounded to 0, and n is the least of which e^r 2^n may not be."""
    tiny: float
    """From here up 2^(n - 1) is a normal number."""
    log2_e: float
    ln2_high: float
    ln2_low: float
    polynomial: tuple[float, ...]


TABLES: dict[FloatLayout, _Table] = {
    F32: _Table(
        lowest=-176.0,
        highest=89.0,
        underflow=-104.0,
        tiny=-86.5,
        log2_e=1.442695,
        ln2_high=0.69314575,
        ln2_low=1.4286068e-06,
        polynomial=(1.0, 1.0, 0.49999994, 0.16666521, 0.041668385, 0.008368721, 0.0013814827),
    ),
    F64: _Table(
        lowest=-1418.0,
        highest=710.0,
        underflow=-745.2,
        tiny=-707.5,
        log2_e=1.4426950408889634,
        ln2_high=0.6931471805598903,
        ln2_low=5.497923018708371e-14,
        polynomial=(
            1.0,
            1.0,
            0.5000000000000011,
            0.16666666666666413,
            0.04166666666653007,
            0.008333333333494055,
            0.0013888888943655823,
            0.00019841269507651793,
            2.480149307032299e-05,
            2.755758524505938e-06,
            2.763025920687884e-07,
            2.5000472089915804e-08,
        ),
    ),
}


def reduce_by_ln2(x: Float[T], offset: int = 0) -> tuple[Float[T], Float[T], Float[T]]:
    """Returns n, r and a float with n + offset in the low bits of its encoding."""
    format = x.arithmetic.format
    table = TABLES[format]
    rounder = 1.5 * 2.0**format.n_mantissa_bits + offset
    rounded = x.times_plus(table.log2_e, rounder)
    n = rounded - rounder
    r = n.times_plus(-table.ln2_high, x)
    return n, n.times_plus(-table.ln2_low, r), rounded


def exp_within(x: Float[T], correction: Float[T] | None = None) -> Float[T]:
    """Returns e^(x + correction) for `lowest <= x <= highest` and a correction much smaller than 1."""
    format = x.arithmetic.format
    # `low.ldexp` adds as much to n, and need not where n is such a difference.
    n, r, _ = reduce_by_ln2(x, 2 * format.bias)
    if correction is not None:
        r = r + correction
    return r.polynomial(TABLES[format].polynomial).ldexp(n)


def exp(x: Float[T]) -> Float[T]:
    """Returns e^x."""
    table = TABLES[x.arithmetic.format]
    return exp_within(x.at_least(table.lowest).at_most(table.highest))


def exp_of_not_positive(x: Float[T]) -> Float[T]:
    """Returns e^x, the bits of `exp`, for an x that is no more than 0, or NaN."""
    format = x.arithmetic.format
    return _exp_by_one_product(x.at_least(TABLES[format].underflow), format.n_mantissa_bits + 1)


def exp_or_tiny(x: Float[T]) -> Float[T]:
    """Returns e^x, the bits of `exp` from `tiny` on, and from there down e^tiny."""
    table = TABLES[x.arithmetic.format]
    return _exp_by_one_product(x.at_least(table.tiny).at_most(table.highest), -1)


def _exp_by_one_product(x: Float[T], shift: int) -> Float[T]:
    """Returns e^x for an x with which 2^(n + shift) is a normal number."""
    format = x.arithmetic.format
    _, r, rounded = reduce_by_ln2(x, format.bias + shift)
    power = (rounded.bits() << format.n_mantissa_bits).as_float()
    return r.polynomial([c * 2.0**-shift for c in TABLES[format].polynomial]) * power


def exp_parts(x: Float[T]) -> tuple[Float[T], Float[T]]:
    """
    Returns s and p with e^x = s + s p, s a power of two: what e^x - 1 needs to be accurate near 0. Requires x
    to be at most 0 and above -80, or -700 in f64. ln 2 has no low part: n times its error is far less in s p
    than a rounding of 1.
    """
    format = x.arithmetic.format
    rounder = 1.5 * 2.0**format.n_mantissa_bits + format.bias
    rounded = x.times_plus(TABLES[format].log2_e, rounder)
    r = (rounded - rounder).times_plus(-math.log(2.0), x)
    scale = (rounded.bits() << format.n_mantissa_bits).as_float()
    return scale, exp_part(r)


def exp_part(r: Float[T]) -> Float[T]:
    """Returns e^r - 1 for |r| <= ln(2) / 2, as accurate near 0."""
    return (r * r).times_plus(r.polynomial(TABLES[r.arithmetic.format].polynomial[2:]), r)


def exp2(x: Float[T]) -> Float[T]:
    """Returns 2^x; exact for integers, as r is 0 there."""
    format = x.arithmetic.format
    # From here down the result is 0; from here up it is infinite.
    bounded = x.at_least(-2.0 * format.bias).at_most(format.bias + 1.0)
    rounder = 1.5 * 2.0**format.n_mantissa_bits
    n = (bounded + rounder) - rounder
    r = (bounded - n) * math.log(2.0)
    return r.polynomial(TABLES[format].polynomial).ldexp(n)
