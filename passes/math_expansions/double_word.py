"""
Arithmetic on unevaluated sums of two floats, without fused multiply-add (Dekker, A floating-point technique
for extending the available precision, 1971). Numbers are split by cutting off bits, not by multiplying, so
that nothing overflows.
"""

from __future__ import annotations

from .arithmetic import Float, T


def split(a: Float[T]) -> tuple[Float[T], Float[T]]:
    """Returns a high half with so few bits that its product with another is exact, and the exact rest."""
    high = (a.bits() & a.arithmetic.format.high_half_mask).as_float()
    return high, a - high


def fast_two_sum(a: Float[T], b: Float[T]) -> tuple[Float[T], Float[T]]:
    """Returns a + b and its rounding error, for `|a| >= |b|` or a zero."""
    total = a + b
    return total, b - (total - a)


def two_product(a: Float[T], b: Float[T]) -> tuple[Float[T], Float[T]]:
    """Returns a * b and its rounding error; in f64 but for a part in 2^106."""
    product = a * b
    a_high, a_low = split(a)
    b_high, b_low = split(b)
    error = a_high * b_high - product
    error = error + a_high * b_low
    error = error + a_low * b_high
    return product, error + a_low * b_low
