"""
The odd functions that saturate at 1: tanh and erf.

Both are x p(z) / q(z), z = x^2, up to where they round to 1: one rational function for the whole range. All
coefficients are positive, so that no sum cancels and the rounding errors of p and q stay below an ulp or so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .arithmetic import Float, T


@dataclass(frozen=True)
class SaturatingRational:
    """Coefficients from the constant term up. The function is 1 from `bound` on."""

    bound: float
    numerator: Sequence[float]
    denominator: Sequence[float]


def saturating_rational(x: Float[T], table: SaturatingRational) -> Float[T]:
    """Returns x p(x^2) / q(x^2), never beyond 1 and -1."""
    clamped = x.at_least(-table.bound).at_most(table.bound)
    z = clamped * clamped
    quotient = clamped * z.polynomial(table.numerator) / z.polynomial(table.denominator)
    return quotient.at_least(-1.0).at_most(1.0)
