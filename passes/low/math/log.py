"""
The natural logarithm.

x = 2^k m with m in [sqrt(1/2), sqrt(2)), and log(x) = k ln 2 + 2 atanh(s), s = (m - 1) / (m + 1). With f = m
- 1, 2 s = f - s f exactly, so that log(m) = f - s (f - R), where R = 2 atanh(s) / s - 2 is s^2 times a
minimax polynomial in s^2: for x near 1 nothing is lost (Tang, Table-driven implementation of the logarithm
function in IEEE floating-point arithmetic, 1990, uses the same series). ln 2 is split so that k times its
high part is exact.
"""

from __future__ import annotations

import math

from ....dialects.float_layout import F32, F64, FloatLayout
from .arithmetic import Float, T
from .exp import TABLES as EXP_TABLES
from .float_bits import encoded

_POLYNOMIALS: dict[FloatLayout, tuple[float, ...]] = {
    F32: (0.66666776, 0.39977542, 0.2987173),
    F64: (
        0.6666666666666734,
        0.3999999999941468,
        0.28571428742387356,
        0.22222198573206375,
        0.1818356432518203,
        0.15314050572238014,
        0.14795949530848007,
    ),
}


def split_exponent(x: Float[T]) -> tuple[Float[T], Float[T]]:
    """Returns m in [sqrt(1/2), sqrt(2)) and k with `x == m * 2**k`, for a positive finite x."""
    format = x.arithmetic.format
    is_subnormal = x < 2.0 ** (1 - format.bias)
    shift = format.n_mantissa_bits + 1
    normal = is_subnormal.select(x * 2.0**shift, x)
    # Counting exponents from sqrt(1/2) up makes the exponent field the k wanted.
    lowest = encoded(math.sqrt(0.5), format)
    bits = normal.bits() + (encoded(1.0, format) - lowest)
    m = ((bits & format.mantissa) + lowest).as_float()
    # An integer below 2^n_mantissa_bits in the low bits of 2^n_mantissa_bits adds itself to it.
    base = 2.0**format.n_mantissa_bits
    biased = ((bits >> format.n_mantissa_bits) | encoded(base, format)).as_float()
    return m, biased - is_subnormal.select(base + format.bias + shift, base + format.bias)


def log_remainder(s: Float[T]) -> Float[T]:
    """Returns 2 atanh(s) / s - 2, for s of numbers in [sqrt(1/2), sqrt(2))."""
    z = s * s
    return z * z.polynomial(_POLYNOMIALS[s.arithmetic.format])


def log_of_parts(m: Float[T], k: Float[T], correction: Float[T] | None = None) -> Float[T]:
    """
    Returns log(m 2^k), for m in [sqrt(1/2), sqrt(2)) and an integer k, plus a correction of less than an ulp
    of 1.
    """
    format = m.arithmetic.format
    table = EXP_TABLES[format]
    f = m - 1.0
    s = f / (m + 1.0)
    low = s.times_plus(f - log_remainder(s), k * -table.ln2_low)
    if correction is not None:
        low = low - correction
    return k.times_plus(table.ln2_high, f - low)


def log(x: Float[T]) -> Float[T]:
    """Returns log(x): -inf for zeros of both signs, NaN below."""
    result = log_of_parts(*split_exponent(x))
    result = (x < math.inf).select(result, x)
    return (x > 0.0).select(result, x.equals(0.0).select(-math.inf, math.nan))
