"""
e^x - 1, and the hyperbolic sine and cosine, which are made of it.

With e^x = s + s p (see `exp.py`) a quarter of e^x - 1 is (s/4) p + (s/4 - 1/4), whose second term is exact as
long as it matters; s/4 is a float where e^x itself is infinite already and cosh is not. With d = e^|x| - 1
the sine is (d + d / (d + 1)) / 2 and the cosine ((d + 1) + 1 / (d + 1)) / 2.
"""

from __future__ import annotations

from ....dialects.float_layout import F32, F64, FloatLayout
from .arithmetic import Float, T
from .exp import TABLES, exp_part, reduce_by_ln2

_LOWEST: dict[FloatLayout, float] = {F32: -20.0, F64: -40.0}
"""From here down e^x - 1 is -1."""

_HIGHEST: dict[FloatLayout, float] = {F32: 89.6, F64: 710.6}
"""From here up the hyperbolic functions are infinite, though a quarter of e^x is not yet."""


def _tiny(format: FloatLayout) -> float:
    """Returns a number below which e^x - 1 and sinh(x) are x; the steps for larger ones would underflow."""
    return 2.0 ** -(format.n_mantissa_bits + 2)


def _quarter_of_expm1(x: Float[T]) -> Float[T]:
    """Returns (e^x - 1) / 4 for x between `_LOWEST` and `_HIGHEST`."""
    format = x.arithmetic.format
    _, r, rounded = reduce_by_ln2(x, format.bias - 2)
    quarter = (rounded.bits() << format.n_mantissa_bits).as_float()
    return quarter.times_plus(exp_part(r), quarter - 0.25)


def expm1(x: Float[T]) -> Float[T]:
    """Returns e^x - 1."""
    format = x.arithmetic.format
    bounded = x.at_least(_LOWEST[format]).at_most(TABLES[format].highest)
    result = _quarter_of_expm1(bounded) * 4.0
    return (abs(x) < _tiny(format)).select(x, result)


def sinh(x: Float[T]) -> Float[T]:
    """Returns sinh(x)."""
    format = x.arithmetic.format
    quarter = _quarter_of_expm1(abs(x).at_most(_HIGHEST[format]))
    # Doubled last, as the sum of the halves might be infinite in both terms of a quotient.
    result = (quarter + quarter / (quarter * 4.0 + 1.0)) * 2.0
    return (abs(x) < _tiny(format)).select(x, result.with_sign_of(x))


def cosh(x: Float[T]) -> Float[T]:
    """Returns cosh(x)."""
    quarter = _quarter_of_expm1(abs(x).at_most(_HIGHEST[x.arithmetic.format]))
    half = quarter + quarter + 0.5
    return half + 0.25 / half
