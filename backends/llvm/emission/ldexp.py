"""
Writes `low.ldexp`: one instruction where vectors have it, else products with two factors. Each of these is a
power of two with half of the exponent; the first product is exact, and the second is rounded.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from ....dialects.element_types import element_type_of, lanes_of
from ....dialects.float_constants import constant_float
from ....dialects.float_layout import LAYOUTS
from ....dialects.low import LdexpOp
from .emitter import Emitter
from .types import float_text, shaped, splat

_CURRENT_ROUNDING = ("i32", "4")


def write_ldexp(emitter: Emitter, op: LdexpOp) -> None:
    """Defines the result of `op`."""
    nbytes = (lanes_of(op.result.type) or 1) * LAYOUTS[element_type_of(op.result.type)].nbits // 8
    needed = "avx512f" if nbytes == 64 else "avx512vl"
    if nbytes in (16, 32, 64) and emitter.processor.has(needed):
        _scalef(emitter, op, nbytes)
    else:
        _product(emitter, op)


def _scalef(emitter: Emitter, op: LdexpOp, nbytes: int) -> None:
    type, lanes = emitter.type(op, op.result.type), lanes_of(op.result.type)
    kind = "pd" if element_type_of(op.result.type) == f64 else "ps"
    x, n = emitter.values[op.x], emitter.values[op.n]
    arguments = [(type, x), (type, n), (type, "zeroinitializer"), (f"i{max(lanes or 1, 8)}", "-1")]
    if nbytes == 64:
        arguments.append(_CURRENT_ROUNDING)
    name = f"x86.avx512.mask.scalef.{kind}.{8 * nbytes}"
    emitter.define(op.result, emitter.call(name, type, arguments))


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
