"""
log(1 + x), and the inverse hyperbolic functions, which are logarithms of that kind.

With u = 1 + x rounded and e the rounding error, log(1 + x) = log(u) + log(1 + e / u), and the second is e / u
but for what is too small to matter: what x has below the digits of u is not lost (Kahan's method, with the
error found exactly by Dekker's sum).

asinh(x) = log1p(x + x^2 / (1 + sqrt(x^2 + 1))), acosh(x) = log1p(t + sqrt(2 t + t^2)) with t = x - 1, and
atanh(x) = log1p(2 x / (1 - x)) / 2. Where x^2 might overflow, the first two are log(x) + ln 2.
"""

from __future__ import annotations

import math

from ....dialects.float_layout import FloatLayout
from .arithmetic import Float, T
from .log import log_of_parts, split_exponent


def log1p(x: Float[T]) -> Float[T]:
    """Returns log(1 + x): -inf for -1, NaN below."""
    format = x.arithmetic.format
    u = x + 1.0
    error = (x < 1.0).select(x - (u - 1.0), 1.0 - (u - x))
    result = log_of_parts(*split_exponent(u), error / u)
    result = (x < math.inf).select(result, x)
    result = (x > -1.0).select(result, x.equals(-1.0).select(-math.inf, math.nan))
    # Below this 1 + x is 1, and steps with x itself would lose the sign of zero and digits of subnormals.
    return (abs(x) < 2.0 ** -(format.n_mantissa_bits + 2)).select(x, result)


def _huge(format: FloatLayout) -> float:
    """Returns a number whose square is finite, and to which 1 adds nothing."""
    return 2.0 ** (format.bias // 2)


def asinh(x: Float[T]) -> Float[T]:
    """Returns asinh(x)."""
    magnitude = abs(x)
    is_huge = magnitude > _huge(x.arithmetic.format)
    square = magnitude * magnitude
    argument = magnitude + square / ((square + 1.0).sqrt() + 1.0)
    result = log1p(is_huge.select(magnitude, argument)) + is_huge.select(math.log(2.0), 0.0)
    return result.with_sign_of(x)


def acosh(x: Float[T]) -> Float[T]:
    """Returns acosh(x): NaN below 1."""
    is_huge = x > _huge(x.arithmetic.format)
    t = x - 1.0
    argument = t + ((t + t) + t * t).sqrt()
    result = log1p(is_huge.select(x, argument)) + is_huge.select(math.log(2.0), 0.0)
    return (x < 1.0).select(math.nan, result)


def atanh(x: Float[T]) -> Float[T]:
    """Returns atanh(x): infinite for 1 and -1, NaN beyond."""
    magnitude = abs(x)
    result = log1p((magnitude + magnitude) / (1.0 - magnitude)) * 0.5
    return result.with_sign_of(x)
