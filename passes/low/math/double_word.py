"""
Arithmetic on unevaluated sums of two floats (Dekker, A floating-point technique for extending the available
precision, 1971; the error of a product by a fused multiply-add).
"""

from __future__ import annotations

from .arithmetic import Float, T


def split(a: Float[T]) -> tuple[Float[T], Float[T]]:
    """Returns a high half with so few bits that its product with another is exact, and the exact rest."""
    format = a.arithmetic.format
    # 12 of 24 or 26 of 53 bits stay
    mask = (1 << format.nbits) - (1 << (format.n_mantissa_bits + 2) // 2)
    high = (a.bits() & mask).as_float()
    return high, a - high


def fast_two_sum(a: Float[T], b: Float[T]) -> tuple[Float[T], Float[T]]:
    """Returns a + b and its rounding error, for `|a| >= |b|` or a zero."""
    total = a + b
    return total, b - (total - a)


def two_sum(a: Float[T], b: Float[T]) -> tuple[Float[T], Float[T]]:
    """Returns a + b and its rounding error (Knuth, The art of computer programming, volume 2)."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


def two_product(a: Float[T], b: Float[T]) -> tuple[Float[T], Float[T]]:
    """Returns a * b and its rounding error, which is exact where it does not underflow."""
    product = a * b
    return product, a.times_plus(b, -product)
