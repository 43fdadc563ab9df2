"""
The power function.

|x|^y = e^(y log|x|). An error in the exponent is a relative error of the result, so y log|x|, up to 710, is
needed to some ten bits more than a float has: the logarithm is computed as a double word (Dekker 1971). As in
`log.py`, log(x) = k ln 2 + 2 atanh(s), s = (m - 1) / (m + 1); s is a quotient and its exact remainder over
the divisor, and atanh(s) = s + s z (1/3 + z q(z)), z = s^2, with a minimax polynomial q whose rounding no
longer matters.

The special cases are those of IEEE 754: pow(x, 0) and pow(1, y) are 1 even for NaN, pow(-1, +-inf) is 1,
zeros and infinities keep the sign of an odd integer power, a negative base to a power that is no integer is
NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....dialects.float_layout import F32, F64, FloatLayout
from .arithmetic import Float, Mask, T
from .double_word import fast_two_sum, two_product
from .exp import TABLES as EXP_TABLES
from .exp import exp_within
from .log import split_exponent


@dataclass(frozen=True)
class _Table:
    third_high: float
    third_low: float
    polynomial: tuple[float, ...]
    largest_exponent: float
    """|x|^y is 0, 1 or infinite for every x when |y| is this large."""


_TABLES: dict[FloatLayout, _Table] = {
    F32: _Table(
        third_high=0.3333333,
        third_low=1.9868216e-08,
        polynomial=(0.20000076, 0.14273567, 0.11709288),
        largest_exponent=2.0**33,
    ),
    F64: _Table(
        third_high=0.3333333333333333,
        third_low=1.850371707708594e-17,
        polynomial=(
            0.1999999999999999,
            0.1428571428572255,
            0.11111111108769668,
            0.09090909434980887,
            0.07692278447553694,
            0.0666815824517149,
            0.05837418690044303,
            0.05994427904766179,
        ),
        largest_exponent=2.0**65,
    ),
}


def double_word_log(x: Float[T]) -> tuple[Float[T], Float[T]]:
    """Returns log(x) as a double word, for a positive finite x."""
    format = x.arithmetic.format
    table, exp_table = _TABLES[format], EXP_TABLES[format]
    m, k = split_exponent(x)
    f = m - 1.0
    divisor = m + 1.0
    divisor_low = m - (divisor - 1.0)
    reciprocal = 1.0 / divisor
    s = f * reciprocal
    product, product_low = two_product(s, divisor)
    s_low = (-s).times_plus(divisor_low, (f - product) - product_low) * reciprocal
    z, z_low = two_product(s, s)
    z_low = s.times_plus(s_low + s_low, z_low)
    # third + z q(z)
    tail = z * z.polynomial(table.polynomial)
    factor = tail + table.third_high
    factor_low = (tail - (factor - table.third_high)) + table.third_low
    # s z (third + z q(z))
    t, t_low = two_product(z, factor)
    t_low = z.times_plus(factor_low, z_low.times_plus(factor, t_low))
    u, u_low = two_product(s, t)
    u_low = s.times_plus(t_low, s_low.times_plus(t, u_low))
    atanh, atanh_low = fast_two_sum(s, u)
    atanh_low = atanh_low + (s_low + u_low)
    high, low = fast_two_sum(k * exp_table.ln2_high, atanh + atanh)
    low = low + k.times_plus(exp_table.ln2_low, atanh_low + atanh_low)
    return fast_two_sum(high, low)


def _power_of_magnitude(magnitude: Float[T], y: Float[T]) -> Float[T]:
    """Returns magnitude^y for a positive finite magnitude."""
    format = y.arithmetic.format
    table, exp_table = _TABLES[format], EXP_TABLES[format]
    log, log_low = double_word_log(magnitude)
    bounded = y.at_least(-table.largest_exponent).at_most(table.largest_exponent)
    exponent, exponent_low = two_product(bounded, log)
    exponent_low = bounded.times_plus(log_low, exponent_low)
    result = exp_within(exponent, exponent_low)
    result = (exponent > exp_table.highest).select(math.inf, result)
    return (exponent < exp_table.lowest).select(0.0, result)


def _parity(y: Float[T]) -> tuple[Mask[T], Mask[T]]:
    """Returns where y is an integer (infinities are), and where half of it is."""
    half = y * 0.5
    return y.floor().equals(y), half.floor().equals(half)


def power(x: Float[T], y: Float[T]) -> Float[T]:
    """Returns x^y."""
    magnitude = abs(x)
    is_integer, is_even = _parity(y)
    result = _power_of_magnitude(magnitude, y)
    result = (x < 0.0).select(is_integer.select(result, math.nan), result)
    is_zero = magnitude.equals(0.0)
    extreme = (is_zero ^ (y > 0.0)).select(math.inf, 0.0)
    result = (is_zero | magnitude.equals(math.inf)).select(extreme, result)
    # Only an odd integer power keeps the sign of the base.
    signed = is_integer.select(is_even.select(result, result.with_sign_of(x)), result)
    result = x.is_unordered(y).select(math.nan, signed)
    return (x.equals(1.0) | y.equals(0.0)).select(1.0, result)
