"""
Sine, cosine and tangent, for every float.

With x = q pi/2 + r (see `half_pi_reduction.py`) the first two are sin(r) or cos(r) or their negatives, by q
modulo 4; the tangent is their quotient, -cos(r) / sin(r) for odd q.
sin(r) = r + r z S(z) and cos(r) = 1 - z/2 + z^2 C(z), z = r^2, with minimax polynomials S and C.
"""

from __future__ import annotations

import math

from .arithmetic import Float, Integer, T
from .float_format import F32, F64, FloatFormat
from .half_pi_reduction import reduce_by_half_pi

_SINE: dict[FloatFormat, tuple[float, ...]] = {
    F32: (-0.16666655, 0.00833216, -0.0001951525),
    F64: (
        -0.1666666666666663,
        0.008333333333322113,
        -0.00019841269829584847,
        2.7557313619699957e-06,
        -2.5050747490300276e-08,
        1.5896213883744876e-10,
    ),
}

_COSINE: dict[FloatFormat, tuple[float, ...]] = {
    F32: (0.041666646, -0.0013887316, 2.443312e-05),
    F64: (
        0.041666666666666595,
        -0.001388888888887305,
        2.4801587288846547e-05,
        -2.755731417776667e-07,
        2.087570062879879e-09,
        -1.1358525224435749e-11,
    ),
}


def _sine_and_cosine(r: Float[T]) -> tuple[Float[T], Float[T]]:
    """Returns sin(r) and cos(r) for |r| <= pi/4 or little more."""
    format = r.arithmetic.format
    z = r * r
    sine = (r * z).times_plus(z.polynomial(_SINE[format]), r)
    return sine, (z * z).times_plus(z.polynomial(_COSINE[format]), z.times_plus(-0.5, 1.0))


def _quarter_wave(quadrant: Integer[T], r: Float[T]) -> Float[T]:
    """Returns sin(quadrant * pi/2 + r)."""
    format = r.arithmetic.format
    sine, cosine = _sine_and_cosine(r)
    result = (quadrant & 1).is_nonzero().select(cosine, sine)
    sign = (quadrant & 2).resize(format.width) << (format.width - 2)
    return (result.bits() ^ sign).as_float()


def sin(x: Float[T]) -> Float[T]:
    """Returns sin(x): NaN for infinities."""
    magnitude = abs(x)
    quadrant, r = reduce_by_half_pi(magnitude)
    result = _quarter_wave(quadrant, r)
    sign = x.bits() & x.arithmetic.format.sign_bit
    return (magnitude < math.inf).select((result.bits() ^ sign).as_float(), math.nan)


def cos(x: Float[T]) -> Float[T]:
    """Returns cos(x): NaN for infinities."""
    magnitude = abs(x)
    quadrant, r = reduce_by_half_pi(magnitude)
    return (magnitude < math.inf).select(_quarter_wave(quadrant + 1, r), math.nan)


def tan(x: Float[T]) -> Float[T]:
    """Returns tan(x): NaN for infinities."""
    magnitude = abs(x)
    quadrant, r = reduce_by_half_pi(magnitude)
    sine, cosine = _sine_and_cosine(r)
    is_odd = (quadrant & 1).is_nonzero()
    quotient = is_odd.select(-cosine, sine) / is_odd.select(sine, cosine)
    sign = x.bits() & x.arithmetic.format.sign_bit
    return (magnitude < math.inf).select((quotient.bits() ^ sign).as_float(), math.nan)
