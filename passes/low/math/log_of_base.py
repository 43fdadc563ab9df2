"""
Logarithms to the bases 2 and 10: the natural logarithm as a double word (see `power.py`) times a double word.
So powers of the base have the integers that they should, and all other results are almost always rounded
right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....dialects.float_layout import F32, F64, FloatLayout
from .arithmetic import Float, T
from .double_word import two_product
from .power import double_word_log


@dataclass(frozen=True)
class _Factor:
    high: float
    low: float


_LOG2_E: dict[FloatLayout, _Factor] = {
    F32: _Factor(high=1.442695, low=1.925963e-08),
    F64: _Factor(high=1.4426950408889634, low=2.0355273740931033e-17),
}

_LOG10_E: dict[FloatLayout, _Factor] = {
    F32: _Factor(high=0.43429446, low=1.9699272e-08),
    F64: _Factor(high=0.4342944819032518, low=1.098319650216765e-17),
}


def _log_times(x: Float[T], factor: _Factor) -> Float[T]:
    log, log_low = double_word_log(x)
    product, product_low = two_product(log, x.arithmetic.constant(factor.high))
    result = product + log.times_plus(factor.low, log_low.times_plus(factor.high, product_low))
    result = (x < math.inf).select(result, x)
    return (x > 0.0).select(result, x.equals(0.0).select(-math.inf, math.nan))


def log2(x: Float[T]) -> Float[T]:
    """Returns the logarithm to the base 2: -inf for zeros of both signs, NaN below."""
    return _log_times(x, _LOG2_E[x.arithmetic.format])


def log10(x: Float[T]) -> Float[T]:
    """Returns the logarithm to the base 10: -inf for zeros of both signs, NaN below."""
    return _log_times(x, _LOG10_E[x.arithmetic.format])
