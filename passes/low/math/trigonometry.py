"""
Sine, cosine and tangent, for every float.

With x = q pi/2 + r (see `half_pi_reduction.py`) the first two are sin(r) or cos(r) or their negatives, by q
modulo 4; the tangent is their quotient, -cos(r) / sin(r) for odd q.
sin(r) = r + r z S(z) and cos(r) = 1 - z/2 + z^2 C(z), z = r^2, with minimax polynomials S and C.
"""

from __future__ import annotations

import math

from ....dialects.float_layout import F32, F64, FloatLayout
from .arithmetic import Float, Integer, T
from .half_pi_reduction import reduce_by_half_pi, reduce_by_half_pi_to_double_word

_SINE: dict[FloatLayout, tuple[float, ...]] = {
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

_COSINE: dict[FloatLayout, tuple[float, ...]] = {
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


def _quarter_wave(quadrant: Integer[T], r: Float[T]) -> Float[T]:
    """Returns sin(quadrant * pi/2 + r)."""
    format = r.arithmetic.format
    z = r * r
    sine = (r * z).times_plus(z.polynomial(_SINE[format]), r)
    cosine = (z * z).times_plus(z.polynomial(_COSINE[format]), z.times_plus(-0.5, 1.0))
    result = (quadrant & 1).is_nonzero().select(cosine, sine)
    sign = (quadrant & 2).resize(format.nbits) << (format.nbits - 2)
    return (result.bits() ^ sign).as_float()


def sin(x: Float[T]) -> Float[T]:
    """Returns sin(x): NaN for infinities."""
    magnitude = abs(x)
    quadrant, r = reduce_by_half_pi(magnitude)
    result = _quarter_wave(quadrant, r)
    sign = x.bits() & x.arithmetic.format.sign
    return (magnitude < math.inf).select((result.bits() ^ sign).as_float(), math.nan)


def cos(x: Float[T]) -> Float[T]:
    """Returns cos(x): NaN for infinities."""
    magnitude = abs(x)
    quadrant, r = reduce_by_half_pi(magnitude)
    return (magnitude < math.inf).select(_quarter_wave(quadrant + 1, r), math.nan)


def _sine_and_cosine_of_double_word(r: Float[T], r_low: Float[T]) -> tuple[Float[T], Float[T]]:
    """Returns sin(r + r_low) and cos(r + r_low), each more accurate than alone, for the quotient of both."""
    format = r.arithmetic.format
    z = r * r
    sine = r + (r * z).times_plus(z.polynomial(_SINE[format]), r_low)
    half = z * 0.5
    main = 1.0 - half
    # 1 - z/2 is not exact; what it lacks and the slope of the cosine go into the small term
    lost = (1.0 - main) - half
    small = (z * z).times_plus(z.polynomial(_COSINE[format]), lost - r * r_low)
    return sine, main + small


def tan(x: Float[T]) -> Float[T]:
    """Returns tan(x): NaN for infinities."""
    magnitude = abs(x)
    quadrant, r, r_low = reduce_by_half_pi_to_double_word(magnitude)
    sine, cosine = _sine_and_cosine_of_double_word(r, r_low)
    is_odd = (quadrant & 1).is_nonzero()
    quotient = is_odd.select(-cosine, sine) / is_odd.select(sine, cosine)
    sign = x.bits() & x.arithmetic.format.sign
    return (magnitude < math.inf).select((quotient.bits() ^ sign).as_float(), math.nan)
