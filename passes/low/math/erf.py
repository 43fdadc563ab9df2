"""
The error function.

erf(|x|) = 1 - e^-g with g = -log(erfc(|x|)), a smooth function that grows like x^2: g = |x| (2 / sqrt(pi) +
|x| q(|x|)), q a minimax polynomial in f32 and a rational function in f64, fitted for the error relative to
erf. With e^-g = s + s p (see `exp.py`) the result is (1 - s) - s p, so that small arguments keep all their
digits. From `bound` on it is 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....dialects.float_layout import F32, F64, FloatLayout
from .arithmetic import Float, T
from .exp import exp_parts


@dataclass(frozen=True)
class _Table:
    bound: float
    numerator: tuple[float, ...]
    denominator: tuple[float, ...]


_SLOPE = 2.0 / math.sqrt(math.pi)
"""The derivative at 0; less 1 it is a constant with digits to spare."""

_TABLES: dict[FloatLayout, _Table] = {
    F32: _Table(
        bound=3.93,
        numerator=(
            0.6366195,
            0.1027768,
            -0.019149596,
            -0.00016635773,
            0.0016726516,
            -0.0006357677,
            0.00011842883,
            -9.341081e-06,
        ),
        denominator=(),
    ),
    F64: _Table(
        bound=5.93,
        numerator=(
            0.6366197723675814,
            1.1190264999855855,
            0.9422845517835674,
            0.475265720316374,
            0.15243105185766864,
            0.030541499427253364,
            0.0034545206670338305,
            0.00016174363258307948,
            1.3520179650761579e-09,
        ),
        denominator=(
            1.0,
            1.5963278880016798,
            1.2524810893850797,
            0.5926448762779448,
            0.17925794246581575,
            0.03392842274863544,
            0.0036320066148497723,
            0.0001618358164298542,
        ),
    ),
}


def erf(x: Float[T]) -> Float[T]:
    """Returns erf(x)."""
    table = _TABLES[x.arithmetic.format]
    magnitude = abs(x).at_most(table.bound)
    q = magnitude.polynomial(table.numerator)
    if table.denominator:
        q = q / magnitude.polynomial(table.denominator)
    g = magnitude.times_plus(q.times_plus(magnitude, _SLOPE - 1.0), magnitude)
    scale, part = exp_parts(-g)
    return (-scale).times_plus(part, 1.0 - scale).with_sign_of(x)
