"""
Vectors of remainders as of C's `fmod`, for which there is no instruction: LLVM calls a routine for each lane.

For a, b >= 0 and q = floor(a / b), the quotient rounded, a - q b is a multiple of the last digit of b and no
larger than b: a fused multiply-add gives it exactly. Where a / b was rounded up to a whole number it is
negative, and b too small. That holds for quotients without digits behind the point too few to be told apart;
a vector with another one, with an infinite divisor or with NaN is left to the routine.
"""

from __future__ import annotations

from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute

from ....dialects.float_layout import LAYOUTS
from .emitter import Emitter
from .multiply_add import write_multiply_add
from .types import shaped, splat


def write_remainder(emitter: Emitter, lhs: str, rhs: str, element_type: Attribute, lanes: int) -> str:
    """Returns the remainders of two vectors of f32 or f64, with the signs of the first."""
    element = "double" if element_type == f64 else "float"
    n_digits = LAYOUTS[element_type].n_mantissa_bits
    type, mask = shaped(element, lanes), shaped("i1", lanes)

    def call(intrinsic: str, *operands: str) -> str:
        return emitter.emit(emitter.call_same_type(intrinsic, type, operands))

    a, b = call("fabs", lhs), call("fabs", rhs)
    quotient = emitter.emit(f"fdiv {type} {a}, {b}")
    is_near = emitter.emit(f"fcmp olt {type} {quotient}, {splat(f'{1 << n_digits}.0', element, lanes)}")
    infinity = splat("0x7FF0000000000000", element, lanes)
    is_finite = emitter.emit(f"fcmp olt {type} {b}, {infinity}")
    is_quick = emitter.emit(f"and {mask} {is_near}, {is_finite}")
    minus_whole = emitter.emit(f"fneg {type} {call('floor', quotient)}")
    rest = write_multiply_add(emitter, type, [minus_whole, b, a])
    is_negative = emitter.emit(f"fcmp olt {type} {rest}, zeroinitializer")
    raised = emitter.emit(f"fadd {type} {rest}, {b}")
    magnitude = emitter.emit(f"select {mask} {is_negative}, {type} {raised}, {type} {rest}")
    quick = call("copysign", magnitude, lhs)
    are_quick = emitter.emit(emitter.call(f"vector.reduce.and.v{lanes}i1", "i1", [(mask, is_quick)]))
    (result,) = emitter.write_unless(
        are_quick, [(type, quick)], lambda: [emitter.emit(f"frem {type} {lhs}, {rhs}")]
    )
    return result
