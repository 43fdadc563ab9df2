"""
Arguments of sin, cos and tan, brought into [-pi/4, pi/4] for every float.

Arguments that are not large lose a multiple of pi/2, which is three floats, after Cody and Waite (Software
manual for the elementary functions, 1980). Others are reduced after Payne and Hanek (Radian reduction for
trigonometric functions, 1983), which no lane of a vector pays for where all are near.

With |x| = M 2^E, M an integer, |x| 2/pi modulo 4 is M times a window of the binary digits of 2/pi, modulo a
power of two: digits before the window give multiples of 4, digits behind it are too small to matter. The
product is formed in limbs of 32 bits. Its two leading bits, rounded, are the quadrant; the rest is a
fixed-point fraction of pi/2, which is turned into a double word and multiplied by pi/2. The fraction keeps so
many bits that the argument nearest to a multiple of pi/2 (2^-30 in f32, 2^-61 in f64) loses none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ....dialects.float_layout import F32, F64, FloatLayout
from .arithmetic import Float, Integer, Mask, T
from .double_word import fast_two_sum, split, two_sum
from .float_bits import encoded

_TWO_OVER_PI = int(
    "A2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E3A424DD2E0"
    "06492EEA09D1921CFE1DEB1CB129A73EE88235F52EBB4484E99C7026B45F7E413991D639835339F4"
    "9C845F8BBDF9283B1FF897FFDE05980FEF2F118B5A0A6D1F6D367ECF27CB09B74F463F669E5FEA2D"
    "7527BAC7EBE5F17B3D0739F78A5292EA6BFB5FB11F8D5D0856033046FC7B6BABF0CFBC209AF4361D",
    16,
)
"""The first 1280 binary digits of 2/pi behind the point."""
_N_DIGITS = 1280

_WINDOW_WORDS = 3
"""Words of 2/pi that a window holds, as wide as the float."""

_LIMB = (1 << 32) - 1


@dataclass(frozen=True)
class _Table:
    n_words: int
    """Words of 2/pi, as wide as the float, that windows are taken from."""
    half_pi_high: float
    half_pi_low: float
    half_pi: tuple[float, float, float]
    """Three floats whose sum is pi/2."""
    rounder: float
    """What makes the sum of it and a small number round to an integer, whose low bits the sum's bits are."""
    near: float
    """Below this, products of a quotient and the three floats have all the digits that are needed."""


_TABLES: dict[FloatLayout, _Table] = {
    F32: _Table(
        n_words=8,
        half_pi_high=1.5703125,
        half_pi_low=0.0004838268,
        half_pi=(1.5707964, -4.371139e-08, -1.7151245e-15),
        rounder=1.5 * 2.0**23,
        near=2.0**15,
    ),
    F64: _Table(
        n_words=20,
        half_pi_high=1.5707963109016418,
        half_pi_low=1.5893254773528196e-08,
        half_pi=(1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
        rounder=1.5 * 2.0**52,
        near=2.0**30,
    ),
}


def reduce_by_half_pi(x: Float[T]) -> tuple[Integer[T], Float[T]]:
    """
    Returns q and r with `x == q * pi/2 + r` modulo 2 pi, |r| <= pi/4 or little more, for x >= 0; only the two
    low bits of q count. Where x is not finite, r and q mean nothing.
    """
    quadrant, high, low = _reduce(x)
    return quadrant, high + low


def reduce_by_half_pi_to_double_word(x: Float[T]) -> tuple[Integer[T], Float[T], Float[T]]:
    """As `reduce_by_half_pi`, with the rounding error of r as the third result."""
    quadrant, high, low = _reduce(x)
    return quadrant, *fast_two_sum(high, low)


def _reduce(x: Float[T]) -> tuple[Integer[T], Float[T], Float[T]]:
    """Returns the quadrant, and the remainder as two floats that are not added yet."""
    is_near = x < _TABLES[x.arithmetic.format].near
    return is_near.choose(_reduce_near(x), lambda: _reduce_far(is_near, x))


def _reduce_near(x: Float[T]) -> tuple[Integer[T], Float[T], Float[T]]:
    """As `_reduce`, after Cody and Waite, where x is below `near`."""
    table = _TABLES[x.arithmetic.format]
    first, second, third = table.half_pi
    shifted = x.times_plus(2 / math.pi, table.rounder)
    q = shifted - table.rounder
    # Exact: both are multiples of the same digit, and what is left of them is below 1.
    rest = (-q).times_plus(first, x)
    product = q * second
    product_low = q.times_plus(third, q.times_plus(second, -product))
    high, low = two_sum(rest, -product)
    return shifted.bits(), high, low - product_low


def _reduce_far(is_near: Mask[T], x: Float[T]) -> tuple[Integer[T], Float[T], Float[T]]:
    """As `_reduce`, after Payne and Hanek, where x is not near."""
    format = x.arithmetic.format
    # The window of a small argument would begin before the table.
    bits = is_near.select(1.0, x).bits()
    window = _window(bits >> format.n_mantissa_bits, format)
    significand = (bits & format.mantissa) | (1 << format.n_mantissa_bits)
    limbs = _product(_limbs([significand]), _limbs(window))
    top = limbs[-1]
    quadrant = ((top + (1 << 29)) >> 30).resize(format.nbits)
    high, low, sign = _fraction(limbs, (top & (1 << 29)).is_nonzero(), format)
    return quadrant, (high.bits() ^ sign).as_float(), (low.bits() ^ sign).as_float()


def _window(exponent: Integer[T], format: FloatLayout) -> list[Integer[T]]:
    """
    Returns the words, the lowest first, of the digits of 2/pi that matter for a biased exponent; the digit of
    weight 2^-j in 2/pi times the significand's last digit has weight 2 where the window begins.
    """
    table, width = _TABLES[format], format.nbits
    # No exponent below that of 1/2 is asked for: its window begins at digit 0 of the padded table.
    first_exponent = format.bias - 1
    n_leading_zeros = format.n_mantissa_bits + 3
    digits = _TWO_OVER_PI >> (_N_DIGITS + n_leading_zeros - table.n_words * width)
    arithmetic = exponent.arithmetic
    words = [
        arithmetic.integer(digits >> (width * (table.n_words - 1 - i)) & ((1 << width) - 1))
        for i in range(table.n_words)
    ]
    start = exponent - first_exponent
    index_bits = width.bit_length() - 1
    n_words, stage = _WINDOW_WORDS + 1, 1 << ((table.n_words - 1).bit_length() - 1)
    while stage:
        is_set = (start & (stage << index_bits)).is_nonzero()
        n_needed = n_words + stage - 1
        words = [
            is_set.select_integer(words[i + stage], words[i]) if i + stage < len(words) else words[i]
            for i in range(min(n_needed, len(words)))
        ]
        stage >>= 1
    shift = start & (width - 1)
    rest = shift ^ (width - 1)
    window = [(high << shift) | ((low >> 1) >> rest) for high, low in pairwise(words)]
    return window[::-1]


def _limbs(words: Sequence[Integer[T]]) -> list[Integer[T]]:
    """Returns words, the lowest first, as limbs of 32 bits in 64-bit integers."""
    if words[0].width == 32:
        return [word.resize(64) for word in words]
    return [limb for word in words for limb in (word & _LIMB, word >> 32)]


def _product(factor: Sequence[Integer[T]], limbs: Sequence[Integer[T]]) -> list[Integer[T]]:
    """Returns `factor * limbs` cut to as many limbs; the lowest and the highest are not cut to 32 bits."""
    result: list[Integer[T]] = []
    last = len(limbs) - 1
    for i, multiplier in enumerate(factor):
        carry: Integer[T] | None = None
        for position in range(i, last + 1):
            total = multiplier * limbs[position - i]
            if i:
                total = total + result[position]
            if carry is not None:
                total = total + carry
            carry = total >> 32 if position < last else None
            limb = total & _LIMB if 0 < position < last else total
            result[position : position + 1] = [limb]
    return result


def _fraction(
    limbs: Sequence[Integer[T]], is_negative: Mask[T], format: FloatLayout
) -> tuple[Float[T], Float[T], Integer[T]]:
    """
    Returns the limbs without the two leading bits, read as a signed fraction of 1, times pi/2: the magnitude
    as an exact product and what is to be added to it, and the sign as bits.
    """
    arithmetic = limbs[0].arithmetic
    all_ones, zero = arithmetic.integer((1 << 64) - 1, 64), arithmetic.integer(0, 64)
    inversion = is_negative.select_integer(all_ones, zero)
    if format is F32:
        words = [(limbs[2] << 34) | (limbs[1] << 2)]
    else:
        words = [(limbs[5] << 34) | (limbs[4] << 2) | (limbs[3] >> 30), (limbs[3] << 34) | (limbs[2] << 2)]
    # The magnitude; inverting instead of negating is off by one in a digit too many.
    words = [word ^ inversion for word in words]
    first, second, third = (_digits(words, i * format.n_mantissa_bits, format) for i in range(3))
    high, low = fast_two_sum(first, second)
    high, middle = split(high)
    low = middle + (low + third)
    table = _TABLES[format]
    product = high * table.half_pi_high
    rest = high.times_plus(table.half_pi_low, low * (math.pi / 2))
    sign = is_negative.select_integer(arithmetic.integer(format.sign), arithmetic.integer(0))
    return product, rest, sign


def _digits(words: Sequence[Integer[T]], skip: int, format: FloatLayout) -> Float[T]:
    """Returns the digits of a fraction behind the first `skip`, as many as a float holds, as a float."""
    count = min(format.n_mantissa_bits, 64 * len(words) - skip)
    index, offset = divmod(skip, 64)
    digits = words[index] >> (64 - count) if offset == 0 else (words[index] << offset) >> (64 - count)
    if offset + count > 64:
        digits = digits | (words[index + 1] >> (128 - offset - count))
    # Digits below the leading 1 of a power of two add themselves to it.
    base = 2.0 ** (format.n_mantissa_bits - skip - count)
    return (digits.resize(format.nbits) | encoded(base, format)).as_float() - base
