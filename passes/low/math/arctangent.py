"""
The inverse tangent, of a number and of the direction of a point.

The angle of (x, y) with x, y >= 0 is c + atan(t), where t is y / x near the x axis, -x / y near the y axis
and (y - x) / (y + x) between, and c is 0, pi/2 and pi/4. So |t| <= tan(pi/8), and atan(t) = t + t z q(z), z =
t^2, with a minimax polynomial q. In the other half plane it is pi minus that. c is a float and a correction,
so that adding it costs one rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....dialects.float_layout import F32, F64, FloatLayout
from .arithmetic import Float, Mask, T


@dataclass(frozen=True)
class _Table:
    pi: tuple[float, float]
    three_quarters_pi: tuple[float, float]
    polynomial: tuple[float, ...]


_TABLES: dict[FloatLayout, _Table] = {
    F32: _Table(
        pi=(3.1415925, 1.509958e-07),
        three_quarters_pi=(2.3561943, 2.3245614e-07),
        polynomial=(
            -0.33333316,
            0.19998471,
            -0.14243522,
            0.10593727,
            -0.060779914,
        ),
    ),
    F64: _Table(
        pi=(3.141592653589793, 1.2246467991473532e-16),
        three_quarters_pi=(2.356194490192345, 9.184850993605148e-17),
        polynomial=(
            -0.333333333333332,
            0.19999999999953205,
            -0.1428571428016217,
            0.11111110781925349,
            -0.09090897718388748,
            0.07692059591185067,
            -0.06663097725459104,
            0.0584784822647074,
            -0.05039139435555915,
            0.03806081551700927,
            -0.017903559433442653,
        ),
    ),
}

_TAN_EIGHTH = math.tan(math.pi / 8)
_TAN_THREE_EIGHTHS = math.tan(3 * math.pi / 8)


def _angle(y: Float[T], x: Float[T], is_left: Mask[T] | None) -> Float[T]:
    """
    Returns the angle of (x, y), or of (-x, y) where `is_left` holds, for x, y >= 0 that are neither both 0
    nor both infinite; NaN if one of them is.
    """
    table = _TABLES[x.arithmetic.format]
    is_raised = y > x * _TAN_EIGHTH
    is_steep = y > x * _TAN_THREE_EIGHTHS
    numerator = is_steep.select(-x, is_raised.select(y - x, y))
    t = numerator / is_steep.select(y, is_raised.select(y + x, x))
    z = t * t
    tail = t * (z * z.polynomial(table.polynomial))
    high, low = (is_steep.select(part / 2, is_raised.select(part / 4, 0.0)) for part in table.pi)
    if is_left is not None:
        left = zip(table.pi, table.three_quarters_pi, (high, low), strict=True)
        high, low = (
            is_left.select(is_steep.select(pi / 2, is_raised.select(three_quarters, pi)), right)
            for pi, three_quarters, right in left
        )
        sign = is_left.select(-1.0, 1.0)
        t, tail = t * sign, tail * sign
    return high + (t + (tail + low))


def atan(x: Float[T]) -> Float[T]:
    """Returns atan(x)."""
    magnitude = abs(x)
    return _angle(magnitude, x.arithmetic.constant(1.0), None).with_sign_of(x)


def atan2(y: Float[T], x: Float[T]) -> Float[T]:
    """Returns the angle of the point (x, y), with the cases of C99 for zeros and infinities."""
    arithmetic = x.arithmetic
    format = arithmetic.format
    height, width = abs(y), abs(x)
    larger = (height < width).select(width, height)
    # Sums of the largest floats would overflow, and products of the least ones lose digits.
    is_large, is_small = larger > 2.0 ** (format.bias - 3), larger < 2.0 ** -(format.bias // 2)
    scale = is_large.select(2.0**-8, is_small.select(2.0 ** (format.bias * 3 // 4), 1.0))
    are_infinite = height.equals(math.inf) & width.equals(math.inf)
    height = are_infinite.select(1.0, height * scale)
    width = (are_infinite | larger.equals(0.0)).select(1.0, width * scale)
    is_left = (x.bits() & format.sign).is_nonzero()
    result = _angle(height, width, is_left).with_sign_of(y)
    return x.is_unordered(y).select(math.nan, result)
