"""
The inverse sine and cosine.

asin(s) = s + s z q(z), z = s^2, for s <= 1/2, with a minimax polynomial q. Above, asin(x) = pi/2 - 2 asin(s)
with s = sqrt((1 - x) / 2), whose radicand is exact; and acos(x) = pi/2 - asin(x), each where nothing cancels.
"""

from __future__ import annotations

import math

from ....dialects.float_layout import F32, F64, FloatLayout
from .arithmetic import Float, Mask, T

_POLYNOMIALS: dict[FloatLayout, tuple[float, ...]] = {
    F32: (0.16666752, 0.074952975, 0.045470376, 0.024179516, 0.042166304),
    F64: (
        0.16666666666665408,
        0.07500000000337008,
        0.044642856828333154,
        0.03038195913677673,
        0.022371758054902626,
        0.01735970469592438,
        0.013885236145234625,
        0.012169207047953816,
        0.006527995653717943,
        0.019528208497085846,
        -0.01622416316801616,
        0.03191220837960612,
    ),
}

_HALF_PI: dict[FloatLayout, tuple[float, float]] = {
    F32: (3.1415925 / 2, 1.509958e-07 / 2),
    F64: (math.pi / 2, 1.2246467991473532e-16 / 2),
}


def _arcsine(magnitude: Float[T]) -> tuple[Mask[T], Float[T], Float[T]]:
    """
    Returns where the magnitude is above 1/2, and s and the rest of asin(s), with s the magnitude itself or
    above 1/2 the sine of half of the angle that is left to pi/2.
    """
    is_large = magnitude > 0.5
    z = is_large.select((1.0 - magnitude) * 0.5, magnitude * magnitude)
    s = is_large.select(z.sqrt(), magnitude)
    return is_large, s, s * (z * z.polynomial(_POLYNOMIALS[magnitude.arithmetic.format]))


def asin(x: Float[T]) -> Float[T]:
    """Returns asin(x): NaN beyond -1 and 1."""
    high, low = _HALF_PI[x.arithmetic.format]
    is_large, s, rest = _arcsine(abs(x))
    complement = high - ((s + s) + (rest + rest - low))
    return is_large.select(complement, s + rest).with_sign_of(x)


def acos(x: Float[T]) -> Float[T]:
    """Returns acos(x): NaN beyond -1 and 1."""
    high, low = _HALF_PI[x.arithmetic.format]
    is_large, s, rest = _arcsine(abs(x))
    is_negative = x < 0.0
    signed_rest = is_negative.select(-rest, rest)
    near_middle = high - (x + (signed_rest - low))
    s, rest = s + s, rest + rest
    near_end = is_negative.select(2.0 * high - (s + (rest - 2.0 * low)), s + rest)
    return is_large.select(near_end, near_middle)
