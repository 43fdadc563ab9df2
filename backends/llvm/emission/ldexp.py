"""
Writes `low.ldexp`: one instruction where vectors have it, else products with two factors. Each of these is a
power of two with half of the exponent; the first product is exact, and the second is rounded.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ....dialects.element_types import element_type_of, lanes_of
from ....dialects.float_constants import constant_float
from ....dialects.float_layout import LAYOUTS
from ....dialects.low import LdexpOp
from .avx512 import call_on_vectors, has_vectors
from .emitter import Emitter
from .types import float_text, shaped, splat


def write_ldexp(emitter: Emitter, op: LdexpOp) -> None:
    """Defines the result of `op`."""
    if has_vectors(emitter, op.result.type, "avx512f"):
        type = emitter.type(op, op.result.type)
        operands = [(type, emitter.values[op.x]), (type, emitter.values[op.n])]
        emitter.define(op.result, call_on_vectors(emitter, "scalef", op.result.type, type, operands))
    else:
        _product(emitter, op)


def _product(emitter: Emitter, op: LdexpOp) -> None:
    element, lanes = element_type_of(op.result.type), lanes_of(op.result.type)
    layout = LAYOUTS[element]
    integer = f"i{layout.nbits}"
    type, integers = emitter.type(op, op.result.type), shaped(integer, lanes)

    def number(value: int) -> str:
        return splat(str(value), integer, lanes)

    # The low bits of the sum, n + 2 * bias, are never negative.
    shifted = _minuend(op, layout.exponent_rounder)
    if shifted is None:
        rounder = splat(float_text(layout.exponent_rounder, element), emitter.type(op, element), lanes)
        sum_of_both = emitter.emit(f"fadd {type} {emitter.values[op.n]}, {rounder}")
    else:
        sum_of_both = emitter.values[shifted]
    bits = emitter.emit(f"bitcast {type} {sum_of_both} to {integers}")
    # Half of the exponent by a mask, which is on more units than another shift.
    near = emitter.emit(f"shl {integers} {bits}, {number(layout.n_mantissa_bits - 1)}")
    half = emitter.emit(f"and {integers} {near}, {number(layout.exponents)}")
    whole = emitter.emit(f"shl {integers} {bits}, {number(layout.n_mantissa_bits)}")
    rest = emitter.emit(f"sub {integers} {whole}, {half}")
    product = emitter.values[op.x]
    for encoded in (half, rest):
        factor = emitter.emit(f"bitcast {integers} {encoded} to {type}")
        product = emitter.emit(f"fmul {type} {product}, {factor}")
    emitter.values[op.result] = product


def _minuend(op: LdexpOp, rounder: float) -> SSAValue | None:
    """Returns the sum of `n` and `rounder` where it is there already, as `n` is its difference from it."""
    difference = op.n.owner
    if isinstance(difference, arith.SubfOp) and constant_float(difference.rhs) == rounder:
        return difference.lhs
    return None
