"""
The hyperbolic tangent.

tanh(|x|) = d / (d + 2) with d = e^(2|x|) - 1. With e^(2|x|) = s + s p (see `exp.py`) d is s p + (s - 1), in
which s - 1 is exact as long as it matters; so small arguments keep all their digits. From `_SATURATED` on d +
2 is d.
"""

from __future__ import annotations

from ....dialects.float_layout import F32, F64, FloatLayout
from .arithmetic import Float, T
from .exp import exp_parts

_SATURATED: dict[FloatLayout, float] = {F32: 10.0, F64: 20.0}


def tanh(x: Float[T]) -> Float[T]:
    """Returns tanh(x)."""
    magnitude = abs(x).at_most(_SATURATED[x.arithmetic.format])
    scale, part = exp_parts(magnitude + magnitude)
    d = scale.times_plus(part, scale - 1.0)
    return (d / (d + 2.0)).with_sign_of(x)
