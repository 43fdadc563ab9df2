"""
Logarithms to the bases 2 and 10.

x = 2^k m as for the natural logarithm, and log(m) = 2 atanh(s) = 2 s + s R, with s = (m - 1) / (m + 1) as a
double word (see `log.py`). Then log_b(x) = k log_b(2) + 2 s log_b(e) + s R log_b(e). The first two are summed
with their rounding errors, as the high part of log_b(2) has so few bits that k times it is exact; the last
one is small beside them. So powers of the base have the integers that they should, and other results are
almost always rounded right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....dialects.float_layout import F32, F64, FloatLayout
from .arithmetic import Float, T
from .double_word import fast_two_sum, two_product
from .log import log_remainder, split_exponent


@dataclass(frozen=True)
class _Base:
    """The logarithms of e and of 2, each as a sum of two numbers."""

    e_high: float
    e_low: float
    two_high: float
    two_low: float


_BASE_2: dict[FloatLayout, _Base] = {
    F32: _Base(e_high=1.442695, e_low=1.925963e-08, two_high=1.0, two_low=0.0),
    F64: _Base(e_high=1.4426950408889634, e_low=2.0355273740931033e-17, two_high=1.0, two_low=0.0),
}

_BASE_10: dict[FloatLayout, _Base] = {
    F32: _Base(e_high=0.4342945, e_low=-1.010305e-08, two_high=0.3010254, two_low=4.605039e-06),
    F64: _Base(
        e_high=0.4342944819032518,
        e_low=1.098319650216765e-17,
        two_high=0.3010299956640665,
        two_low=-8.532344317057107e-14,
    ),
}


def _log(x: Float[T], base: _Base) -> Float[T]:
    m, k = split_exponent(x)
    f, divisor = m - 1.0, m + 1.0
    divisor_low = m - (divisor - 1.0)
    inverse = x.arithmetic.constant(1.0) / divisor
    s = f * inverse
    # What is left of f, times the inverse, is what s lacks.
    s_low = (-s).times_plus(divisor_low, s.times_plus(-divisor, f)) * inverse
    product, product_low = two_product(s + s, x.arithmetic.constant(base.e_high))
    total, total_low = fast_two_sum(k * base.two_high, product)
    low = (s + s).times_plus(base.e_low, product_low)
    low = s.times_plus(log_remainder(s), s_low + s_low).times_plus(base.e_high, low)
    if base.two_low:
        low = k.times_plus(base.two_low, low)
    result = total + (total_low + low)
    result = (x < math.inf).select(result, x)
    return (x > 0.0).select(result, x.equals(0.0).select(-math.inf, math.nan))


def log2(x: Float[T]) -> Float[T]:
    """Returns the logarithm to the base 2: -inf for zeros of both signs, NaN below."""
    return _log(x, _BASE_2[x.arithmetic.format])


def log10(x: Float[T]) -> Float[T]:
    """Returns the logarithm to the base 10: -inf for zeros of both signs, NaN below."""
    return _log(x, _BASE_10[x.arithmetic.format])
