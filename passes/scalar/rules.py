"""
Scalar code for the elementwise ops of `graph`: one element in, one element out.

Narrow floats are computed in f32 and every result is rounded to the type and widened again, so that values
stay f32 in registers. Unsigned integers are signless ones with unsigned ops. Every case numpy and IEEE leave
a result for has that result (see docs/ir-graph.md); nothing is undefined for LLVM or C.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import TensorType, f32, f64, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import graph, low
from ...dialects.dims.expressions import Extent, upper_bound
from ...dialects.element_types import (
    compute_type,
    element_type_of,
    is_float,
    is_narrow_float,
    is_unsigned,
    storage_type,
    width_of,
)
from ...dialects.graph.base import fastmath_of
from .builder import INDEX, ScalarBuilder
from .exponential import exponential
from .functions import hypot, logaddexp
from .nibbles import nibble
from .numbers import (
    floordiv,
    is_finite,
    is_infinite,
    is_nan,
    nextafter,
    remainder,
    sign,
    signbit,
    truncated_quotient,
)
from .ops import (
    Lowering,
    cmpf,
    cmpi,
    constant_divisor,
    convert,
    float_op,
    hint_of,
    integer_op,
    safe_divisor,
    select,
)

_PREDICATES: dict[type[Operation], tuple[str, str, str]] = {
    graph.EqOp: ("oeq", "eq", "eq"),
    graph.NeOp: ("une", "ne", "ne"),
    graph.LtOp: ("olt", "slt", "ult"),
    graph.LeOp: ("ole", "sle", "ule"),
    graph.GtOp: ("ogt", "sgt", "ugt"),
    graph.GeOp: ("oge", "sge", "uge"),
}
"""How floats, signed and unsigned integers are compared."""

_EXACT_OPS = (graph.RoundingOp, graph.CopysignOp)
"""Ops whose result is of the element type as it is computed: nothing is left to round."""


def from_storage(b: ScalarBuilder, value: SSAValue, element_type: Attribute) -> SSAValue:
    """Returns a loaded element in its compute type."""
    if element_type == i1:
        return cmpi(b, "ne", value, b.constant(0, value.type), hint="bit")
    if is_narrow_float(element_type):
        return _extf(b, value, f32)
    return value


def to_storage(b: ScalarBuilder, value: SSAValue, element_type: Attribute, storage: Attribute) -> SSAValue:
    """Returns an element in the type it is stored as; what was just widened, with the bits it had."""
    if element_type == i1:
        return convert(b, low.Conversion.EXTUI, value, storage)
    if is_narrow_float(element_type):
        widened = value.owner
        if isinstance(widened, arith.ExtFOp) and widened.input.type == element_type:
            return widened.input
        return _truncf(b, value, element_type)
    return value


def rounded(b: ScalarBuilder, value: SSAValue, element_type: Attribute) -> SSAValue:
    """Rounds a computed value to a narrow float, kept as an f32; any other type is exact already."""
    if is_narrow_float(element_type):
        return _extf(b, _truncf(b, value, element_type), f32)
    return value


def _extf(b: ScalarBuilder, value: SSAValue, type: Attribute) -> SSAValue:
    return b.op(arith.ExtFOp, value, result_type=type)


def _truncf(b: ScalarBuilder, value: SSAValue, type: Attribute) -> SSAValue:
    return b.op(arith.TruncFOp, value, result_type=type)


def element_type(value: SSAValue) -> Attribute:
    type = element_type_of(value.type)
    assert isinstance(value.type, TensorType), f"{value.type} is no tensor"
    return type


def lower_elementwise(b: ScalarBuilder, op: Operation, operands: Sequence[SSAValue]) -> SSAValue:
    """Inserts the scalar code of an elementwise `graph` op and returns its value, in the compute type."""
    rule = RULES.get(type(op))
    assert rule is not None, f"{op.name}: no scalar code for it"
    return rule(b, op, operands, element_type(op.operands[-1]))


def _float_function(op_type: type[Operation], exact: bool = False) -> Lowering:
    def lower(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
        value = float_op(b, op_type, *args, fastmath=fastmath_of(op), hint=hint_of(op))
        return value if exact else rounded(b, value, type)

    return lower


def _rounding(lowering: Lowering) -> Lowering:
    """Rounds what a rule computes to the element type."""

    def lower(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
        return rounded(b, lowering(b, op, args, type), type)

    return lower


def _binary(float_type: type[Operation], integer_type: type[Operation]) -> Lowering:
    def lower(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
        if is_float(type):
            return rounded(
                b, float_op(b, float_type, *args, fastmath=fastmath_of(op), hint=hint_of(op)), type
            )
        return integer_op(b, integer_type, *args, hint=hint_of(op))

    return lower


def _bitwise(integer_type: type[Operation]) -> Lowering:
    def lower(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
        return integer_op(b, integer_type, *args, hint=hint_of(op))

    return lower


def _neg(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    if is_float(type):
        return float_op(b, arith.NegfOp, args[0], fastmath=fastmath_of(op), hint=hint_of(op))
    return integer_op(b, arith.SubiOp, b.constant(0, args[0].type), args[0], hint=hint_of(op))


def _abs(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    value = args[0]
    if is_float(type):
        return float_op(b, math.AbsFOp, value, fastmath=fastmath_of(op), hint=hint_of(op))
    if is_unsigned(type):
        return value
    negated = integer_op(b, arith.SubiOp, b.constant(0, value.type), value)
    return b.op(arith.MaxSIOp, value, negated, hint=hint_of(op))


def _rsqrt(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    root = float_op(b, math.SqrtOp, args[0], fastmath=fastmath_of(op))
    one = b.constant(1.0, args[0].type)
    return rounded(b, float_op(b, arith.DivfOp, one, root, fastmath=fastmath_of(op), hint=hint_of(op)), type)


def _recip(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    one = b.constant(1.0, args[0].type)
    return rounded(
        b, float_op(b, arith.DivfOp, one, args[0], fastmath=fastmath_of(op), hint=hint_of(op)), type
    )


def _relu(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    value = args[0]
    if is_float(type):
        zero = b.constant(0.0, value.type)
        return float_op(b, arith.MaximumfOp, value, zero, fastmath=fastmath_of(op), hint=hint_of(op))
    if is_unsigned(type):
        return value
    return b.op(arith.MaxSIOp, value, b.constant(0, value.type), hint=hint_of(op))


def _not(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    return b.op(arith.XOrIOp, args[0], b.constant(-1, args[0].type), hint=hint_of(op))


def _extremum(
    float_type: type[Operation],
    signed: type[Operation],
    unsigned: type[Operation],
    boolean: type[Operation],
) -> Lowering:
    def lower(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
        if is_float(type):
            return float_op(b, float_type, *args, fastmath=fastmath_of(op), hint=hint_of(op))
        if type == i1:
            return b.op(boolean, *args, hint=hint_of(op))
        return b.op(unsigned if is_unsigned(type) else signed, *args, hint=hint_of(op))

    return lower


def _differs_in_sign(b: ScalarBuilder, remainder: SSAValue, divisor: SSAValue) -> SSAValue:
    zero = b.constant(0, divisor.type)
    mixed = cmpi(b, "slt", b.op(arith.XOrIOp, remainder, divisor), zero)
    return b.op(arith.AndIOp, cmpi(b, "ne", remainder, zero), mixed)


def _div(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    if is_float(type):
        return rounded(b, float_op(b, arith.DivfOp, *args, fastmath=fastmath_of(op), hint=hint_of(op)), type)
    dividend, divisor = args
    unsigned, hint = is_unsigned(type), hint_of(op)
    number = constant_divisor(divisor, unsigned)
    if number is not None and number.bit_count() == 1 and number > 0:
        shift = b.constant(number.bit_length() - 1, dividend.type)
        return b.op(arith.ShRUIOp if unsigned else arith.ShRSIOp, dividend, shift, hint=hint)
    if number is not None:
        if unsigned:
            return b.op(arith.DivUIOp, dividend, divisor, hint=hint)
        return _floored_quotient(b, dividend, divisor, hint)
    zero = b.constant(0, dividend.type)
    safe, is_zero, is_minus_one = safe_divisor(b, divisor, signed=not unsigned)
    if is_minus_one is None:
        return select(b, is_zero, zero, b.op(arith.DivUIOp, dividend, safe), hint)
    floored = _floored_quotient(b, dividend, safe)
    negated = integer_op(b, arith.SubiOp, zero, dividend)
    return select(b, is_zero, zero, select(b, is_minus_one, negated, floored), hint)


def _floored_quotient(
    b: ScalarBuilder, dividend: SSAValue, divisor: SSAValue, hint: str | None = None
) -> SSAValue:
    quotient = b.op(arith.DivSIOp, dividend, divisor)
    remainder = b.op(arith.RemSIOp, dividend, divisor)
    lower = integer_op(b, arith.SubiOp, quotient, b.constant(1, dividend.type))
    return select(b, _differs_in_sign(b, remainder, divisor), lower, quotient, hint)


def _mod(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    dividend, divisor = args
    if is_float(type):
        return rounded(b, _float_mod(b, op, dividend, divisor), type)
    unsigned = is_unsigned(type)
    number = constant_divisor(divisor, unsigned)
    if number is not None and number.bit_count() == 1 and number > 0:
        mask = b.constant(number - 1, dividend.type)
        return b.op(arith.AndIOp, dividend, mask, hint=hint_of(op))
    safe = divisor if number is not None else safe_divisor(b, divisor, signed=not unsigned)[0]
    if unsigned:
        return b.op(arith.RemUIOp, dividend, safe, hint=hint_of(op))
    remainder = b.op(arith.RemSIOp, dividend, safe)
    raised = integer_op(b, arith.AddiOp, remainder, safe)
    return select(b, _differs_in_sign(b, remainder, safe), raised, remainder, hint_of(op))


def _float_mod(b: ScalarBuilder, op: Operation, dividend: SSAValue, divisor: SSAValue) -> SSAValue:
    """`fmod`, moved to the divisor's sign; a zero takes that sign too."""
    zero = b.constant(0.0, dividend.type)
    remainder = b.op(low.RemfOp, dividend, divisor)
    negative_divisor = cmpf(b, "olt", divisor, zero)
    mixed = cmpi(b, "ne", negative_divisor, cmpf(b, "olt", remainder, zero))
    raised = float_op(b, arith.AddfOp, remainder, divisor)
    moved = select(b, mixed, raised, remainder)
    signed_zero = float_op(b, math.CopySignOp, zero, divisor)
    return select(b, cmpf(b, "oeq", remainder, zero), signed_zero, moved, hint_of(op))


def _pow(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    if is_float(type):
        return rounded(b, float_op(b, math.PowFOp, *args, fastmath=fastmath_of(op), hint=hint_of(op)), type)
    return _integer_pow(b, op, args[0], args[1], is_unsigned(type))


def _integer_pow(
    b: ScalarBuilder, op: Operation, base: SSAValue, exponent: SSAValue, unsigned: bool
) -> SSAValue:
    """Square and multiply over every bit of the exponent, wrapping (Knuth, TAOCP 2, 4.6.3)."""
    type = base.type
    zero, one = b.constant(0, type), b.constant(1, type)
    result, square = one, base
    width = width_of(type) if unsigned else width_of(type) - 1
    for bit in range(width):
        shifted = b.op(arith.ShRUIOp, exponent, b.constant(bit, type)) if bit else exponent
        is_set = cmpi(b, "ne", b.op(arith.AndIOp, shifted, one), zero)
        result = select(b, is_set, integer_op(b, arith.MuliOp, result, square), result)
        if bit + 1 < width:
            square = integer_op(b, arith.MuliOp, square, square)
    if unsigned:
        return result
    is_odd = cmpi(b, "ne", b.op(arith.AndIOp, exponent, one), zero)
    minus_one = b.constant(-1, type)
    of_minus_one = select(b, is_odd, minus_one, one)
    inverse = select(b, cmpi(b, "eq", base, minus_one), of_minus_one, zero)
    inverse = select(b, cmpi(b, "eq", base, one), one, inverse)
    return select(b, cmpi(b, "slt", exponent, zero), inverse, result, hint_of(op))


def _shift(left: bool) -> Lowering:
    def lower(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
        value, amount = args
        zero, last = b.constant(0, value.type), b.constant(width_of(value.type) - 1, value.type)
        fits = cmpi(b, "ule", amount, last)
        if not left and not is_unsigned(type):
            return b.op(arith.ShRSIOp, value, select(b, fits, amount, last), hint=hint_of(op))
        safe = select(b, fits, amount, zero)
        shifted = integer_op(b, arith.ShLIOp if left else arith.ShRUIOp, value, safe)
        return select(b, fits, shifted, zero, hint_of(op))

    return lower


def _nibble(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    return nibble(b, args[0], args[1], hint_of(op))


def _compare(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    of_floats, signed, unsigned = _PREDICATES[op.__class__]
    if is_float(type):
        return cmpf(b, of_floats, *args, hint=hint_of(op))
    return cmpi(b, unsigned if is_unsigned(type) else signed, *args, hint=hint_of(op))


def _select(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    return select(b, args[0], args[1], args[2], hint_of(op))


def _cast(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], source: Attribute) -> SSAValue:
    return cast(b, args[0], source, element_type(op.results[0]))


def cast(b: ScalarBuilder, value: SSAValue, source: Attribute, target: Attribute) -> SSAValue:
    """Converts a scalar in the compute type of `source` to that of `target`, as `graph.cast` does."""
    if source == target:
        return value
    held, wanted = compute_type(source), compute_type(target)
    if is_float(source) and is_float(target):
        if is_narrow_float(target):
            return rounded(b, value, target)
        if held == wanted:
            return value
        return _extf(b, value, wanted) if wanted == f64 else _truncf(b, value, wanted)
    if is_float(source):
        if target == i1:
            return cmpf(b, "une", value, b.constant(0.0, value.type))
        kind = low.Conversion.FPTOUI if is_unsigned(target) else low.Conversion.FPTOSI
        return convert(b, kind, value, wanted)
    if is_float(target):
        kind = low.Conversion.UITOFP if is_unsigned(source) else low.Conversion.SITOFP
        return _float_of_integer(b, kind, value, target)
    if target == i1:
        return cmpi(b, "ne", value, b.constant(0, value.type))
    if width_of(held) == width_of(wanted):
        return value
    if width_of(held) > width_of(wanted):
        return convert(b, low.Conversion.TRUNCI, value, wanted)
    return convert(b, low.Conversion.EXTUI if is_unsigned(source) else low.Conversion.EXTSI, value, wanted)


def _bitcast(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], source: Attribute) -> SSAValue:
    target = element_type(op.results[0])
    value = to_storage(b, args[0], source, storage_type(source)) if is_narrow_float(source) else args[0]
    stored = storage_type(target) if target != i1 else i1
    if value.type != stored:
        value = b.op(arith.BitcastOp, value, result_type=stored, hint=hint_of(op))
    return from_storage(b, value, target) if is_narrow_float(target) else value


def index_of_element(b: ScalarBuilder, value: SSAValue, element_type: Attribute, last: Extent) -> SSAValue:
    """Returns an integer as an index: what is above all indices stays above `last`, what is negative so."""
    if is_unsigned(element_type):
        value = number_of_element(b, value, element_type, last)
    return b.op(arith.IndexCastOp, value, result_type=INDEX)


def number_of_element(b: ScalarBuilder, value: SSAValue, element_type: Attribute, last: Extent) -> SSAValue:
    """As `index_of_element`, a signed integer of 64 bits."""
    width = width_of(value.type)
    unsigned = is_unsigned(element_type)
    if unsigned and upper_bound(last) < (1 << width) - 1:
        value = b.op(arith.MinUIOp, value, b.constant(upper_bound(last), value.type))
    if width < 64:
        kind = low.Conversion.EXTUI if unsigned else low.Conversion.EXTSI
        value = convert(b, kind, value, i64)
    return value


def _float_of_integer(b: ScalarBuilder, kind: low.Conversion, value: SSAValue, target: Attribute) -> SSAValue:
    """Rounds an integer once to a float type, in its compute type. f32 holds every integer of 16 bits."""
    wanted = compute_type(target)
    if wanted == target:
        return convert(b, kind, value, target)
    if width_of(value.type) <= 16:
        return rounded(b, convert(b, kind, value, wanted), target)
    return _extf(b, convert(b, kind, value, target), wanted)


def lower_iota(b: ScalarBuilder, place: SSAValue, type: Attribute) -> SSAValue:
    """Returns a place, an index or a signed integer of 64 bits, as an element of `type`."""
    wanted = compute_type(type)
    if is_float(type):
        wide = b.op(arith.IndexCastOp, place, result_type=i64) if place.type == INDEX else place
        return _float_of_integer(b, low.Conversion.SITOFP, wide, type)
    if place.type == INDEX:
        return b.op(arith.IndexCastOp, place, result_type=wanted)
    return place if wanted == i64 else convert(b, low.Conversion.TRUNCI, place, wanted)


RULES: dict[type[Operation], Lowering] = {
    **{
        op: _float_function(op.MATH, exact=issubclass(op, _EXACT_OPS))
        for op in graph.GRAPH.operations
        if issubclass(op, graph.ElementwiseOp) and op.MATH is not None
    },
    graph.ExpOp: _rounding(exponential),
    graph.NegOp: _neg,
    graph.AbsOp: _abs,
    graph.RsqrtOp: _rsqrt,
    graph.RecipOp: _recip,
    graph.SignOp: sign,
    graph.ReluOp: _relu,
    graph.NotOp: _not,
    graph.AddOp: _binary(arith.AddfOp, arith.AddiOp),
    graph.SubOp: _binary(arith.SubfOp, arith.SubiOp),
    graph.MulOp: _binary(arith.MulfOp, arith.MuliOp),
    graph.DivOp: _div,
    graph.ModOp: _mod,
    graph.FloordivOp: _rounding(floordiv),
    graph.TruncdivOp: truncated_quotient,
    graph.RemOp: remainder,
    graph.PowOp: _pow,
    graph.HypotOp: _rounding(hypot),
    graph.LogaddexpOp: _rounding(logaddexp),
    graph.NextafterOp: _rounding(nextafter),
    graph.MaxOp: _extremum(arith.MaximumfOp, arith.MaxSIOp, arith.MaxUIOp, arith.OrIOp),
    graph.MinOp: _extremum(arith.MinimumfOp, arith.MinSIOp, arith.MinUIOp, arith.AndIOp),
    graph.AndOp: _bitwise(arith.AndIOp),
    graph.OrOp: _bitwise(arith.OrIOp),
    graph.XorOp: _bitwise(arith.XOrIOp),
    graph.ShlOp: _shift(left=True),
    graph.ShrOp: _shift(left=False),
    graph.NibbleOp: _nibble,
    graph.IsnanOp: is_nan,
    graph.IsinfOp: is_infinite,
    graph.IsfiniteOp: is_finite,
    graph.SignbitOp: signbit,
    graph.SelectOp: _select,
    graph.CastOp: _cast,
    graph.BitcastOp: _bitcast,
    **dict.fromkeys(_PREDICATES, _compare),
}
"""The scalar code of each elementwise op: its op of `math`, unless a line says otherwise."""
