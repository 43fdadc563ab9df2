"""What numpy calls otherwise than the Array API standard does."""

from __future__ import annotations

from .elementwise import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_right_shift,
    conj,
    divide,
    pow,
    remainder,
)
from .manipulation import concat

__all__ = [
    "absolute",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "bitwise_not",
    "concatenate",
    "conjugate",
    "invert",
    "left_shift",
    "mod",
    "power",
    "right_shift",
    "true_divide",
]

absolute = abs
arccos = acos
arccosh = acosh
arcsin = asin
arcsinh = asinh
arctan = atan
arctan2 = atan2
arctanh = atanh
concatenate = concat
conjugate = conj
invert = bitwise_invert
bitwise_not = bitwise_invert
left_shift = bitwise_left_shift
right_shift = bitwise_right_shift
mod = remainder
power = pow
true_divide = divide
