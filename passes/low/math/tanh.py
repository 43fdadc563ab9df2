"""
The hyperbolic tangent.

tanh(x) = (s - 1 + (s + 1) t) / (s + 1 + (s - 1) t) with s = 2^n, n = round(2 x / ln 2), t = tanh(r) and
r = x - n ln(2) / 2, |r| <= ln(2) / 4: x is the sum of r and of log(s) / 2. t is r + r^3 q(r^2), q a minimax
polynomial. Where n is 0 the quotient is 2 t / 2, so that small arguments keep all their digits. All steps for
-x are those for x, times powers of two: the result is odd to the last bit, without a step for the sign.

ln(2) / 2 needs no low part: as n grows, what n times its error does to the result gets less. From `saturated`
on s - 1 and s + 1 are s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....dialects.float_layout import F32, F64, FloatLayout
from .arithmetic import Float, T


@dataclass(frozen=True)
class _Table:
    saturated: float
    polynomial: tuple[float, ...]


_TABLES: dict[FloatLayout, _Table] = {
    F32: _Table(saturated=10.0, polynomial=(-0.33333322, 0.13331184, -0.05272703)),
    F64: _Table(
        saturated=20.0,
        polynomial=(
            -0.3333333333333249,
            0.1333333333278375,
            -0.053968252782014524,
            0.021869370714677008,
            -0.008857308770098441,
            0.003444837804346077,
        ),
    ),
}

_POSITIVE = 2.0**-100
"""Added to r^2 q(r^2), which is -0.0 for an r of -0.0: then r times the sum is -0.0, and t is."""


def tanh(x: Float[T]) -> Float[T]:
    """Returns tanh(x)."""
    format = x.arithmetic.format
    table = _TABLES[format]
    bounded = x.at_least(-table.saturated).at_most(table.saturated)
    # The low bits of the sum are those of n + bias, the encoded exponent of s.
    rounder = 1.5 * 2.0**format.n_mantissa_bits + format.bias
    rounded = bounded.times_plus(2.0 / math.log(2.0), rounder)
    s = (rounded.bits() << format.n_mantissa_bits).as_float()
    r = (rounded - rounder).times_plus(-math.log(2.0) / 2.0, bounded)
    square = r * r
    t = square.times_plus(square.polynomial(table.polynomial), _POSITIVE).times_plus(r, r)
    # 1 - s and not s - 1: the difference of -0.0 and 0.0 is -0.0, their sum is not.
    one_less_s, s_and_one = 1.0 - s, s + 1.0
    return s_and_one.times_plus(t, -one_less_s) / (-one_less_s).times_plus(t, s_and_one)
