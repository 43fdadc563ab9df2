"""Elementwise ops: most are one op of `graph`, the others a few."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import Signedness, f32, i8, i64
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...algorithms.cube_root import cube_root
from ...algorithms.emitter import Emitter, is_bool, is_unsigned, width_of, with_sign
from ...dialects import graph, stablehlo
from ...dialects.element_types import NARROW_FLOATS, is_float, ui64
from ...dialects.stablehlo import chlo
from .combining import constant_of
from .conversion import Conversion, Rule

Unary = Callable[[Emitter, SSAValue], SSAValue]


def unified(c: Conversion, values: list[SSAValue]) -> list[SSAValue]:
    """Returns values of one shape: where a region runs over arrays, single elements are repeated."""
    shape = max((c.shape(value) for value in values), key=len)
    return [value if c.shape(value) else c.broadcast(value, shape) for value in values]


def unary(op_type: type[graph.UnaryOp] | type[graph.PredicateOp]) -> Rule:
    return lambda c, op: c.unary(op_type, c.operand(op, 0))


def binary(op_type: type[graph.BinaryOp], of_bool: type[graph.BinaryOp] | None = None) -> Rule:
    """Returns the rule of an op that is `op_type`, of booleans `of_bool` where that is given."""

    def rule(c: Conversion, op: Operation) -> SSAValue:
        x, y = unified(c, c.operands(op))
        made = of_bool if of_bool is not None and is_bool(c.element(x)) else op_type
        return c.binary(made, x, y)

    return rule


def of_one(function: Unary) -> Rule:
    """Returns the rule of an op that a function writes out."""
    return lambda c, op: function(c, c.operand(op, 0))


def _divide(c: Conversion, op: Operation) -> SSAValue:
    x, y = unified(c, c.operands(op))
    if is_float(c.element(x)):
        return c.binary(graph.DivOp, x, y)
    found = c.binary(graph.TruncdivOp, x, y)
    # As XLA has it, which the specification leaves open: all bits are ones.
    return found if constant_of(op.operands[1]) else _where_zero(c, y, c.like(-1, x), found)


def _remainder(c: Conversion, op: Operation) -> SSAValue:
    x, y = unified(c, c.operands(op))
    found = c.binary(graph.RemOp, x, y)
    if is_float(c.element(x)) or constant_of(op.operands[1]):
        return found
    return _where_zero(c, y, x, found)


def _where_zero(c: Conversion, y: SSAValue, then: SSAValue, other: SSAValue) -> SSAValue:
    return c.select(c.binary(graph.EqOp, y, 0), then, other)


def sign(c: Emitter, x: SSAValue) -> SSAValue:
    """The sign, which of -0.0 is -0.0."""
    found = c.unary(graph.SignOp, x)
    if not is_float(c.element(x)):
        return found
    return c.select(c.binary(graph.EqOp, x, 0.0), x, found)


def round_away(c: Emitter, x: SSAValue) -> SSAValue:
    """`trunc(x)` and one more where half or more is left, which is exact."""
    whole = c.unary(graph.TruncOp, x)
    rest = c.unary(graph.AbsOp, c.binary(graph.SubOp, x, whole))
    more = c.select(c.binary(graph.GeOp, rest, 0.5), c.like(1.0, x), c.like(0.0, x))
    rounded = c.binary(graph.AddOp, whole, c.binary(graph.CopysignOp, more, x))
    # What is infinite leaves NaN, and is itself.
    return c.select(c.unary(graph.IsfiniteOp, x), c.binary(graph.CopysignOp, rounded, x), x)


def logistic(c: Emitter, x: SSAValue) -> SSAValue:
    one = c.like(1.0, x)
    return c.binary(
        graph.DivOp, one, c.binary(graph.AddOp, one, c.unary(graph.ExpOp, c.unary(graph.NegOp, x)))
    )


def widened(function: Unary) -> Unary:
    """Returns the function that computes narrow floats in f32."""

    def wide(c: Emitter, x: SSAValue) -> SSAValue:
        element = c.element(x)
        if element not in NARROW_FLOATS:
            return function(c, x)
        return c.cast(function(c, c.cast(x, f32)), element)

    return wide


def shift_logical(c: Conversion, op: Operation) -> SSAValue:
    return _shift(c, op, Signedness.UNSIGNED)


def shift_arithmetic(c: Conversion, op: Operation) -> SSAValue:
    return _shift(c, op, Signedness.SIGNLESS)


def _shift(c: Conversion, op: Operation, signedness: Signedness) -> SSAValue:
    """The right shift of the bits as integers of this sign; a negative amount is beyond the width."""
    x, y = unified(c, c.operands(op))
    element = c.element(x)
    type = with_sign(element, signedness)
    return c.bitcast(c.binary(graph.ShrOp, c.bitcast(x, type), c.bitcast(y, type)), element)


def popcnt(c: Emitter, x: SSAValue) -> SSAValue:
    """Bits added in pairs, then in groups of twice as many."""
    element, width = c.element(x), width_of(c.element(x))
    unsigned = with_sign(element, Signedness.UNSIGNED)
    bits = c.bitcast(x, unsigned)
    group = 1
    while group < width:
        mask = sum(((1 << group) - 1) << at for at in range(0, width, 2 * group))
        low = c.binary(graph.AndOp, bits, mask)
        high = c.binary(graph.AndOp, c.binary(graph.ShrOp, bits, group), mask)
        bits = c.binary(graph.AddOp, low, high)
        group *= 2
    return c.bitcast(bits, element)


def leading_zeros(c: Emitter, x: SSAValue) -> SSAValue:
    """The first one spread to all bits below it: what is left of the width are zeros."""
    element, width = c.element(x), width_of(c.element(x))
    unsigned = with_sign(element, Signedness.UNSIGNED)
    bits = c.bitcast(x, unsigned)
    shift = 1
    while shift < width:
        bits = c.binary(graph.OrOp, bits, c.binary(graph.ShrOp, bits, shift))
        shift *= 2
    ones = popcnt(c, bits)
    return c.bitcast(c.binary(graph.SubOp, c.like(width, ones), ones), element)


_COMPARISONS: dict[str, type[graph.CompareOp]] = {
    "EQ": graph.EqOp,
    "NE": graph.NeOp,
    "LT": graph.LtOp,
    "LE": graph.LeOp,
    "GT": graph.GtOp,
    "GE": graph.GeOp,
}


def total_order(c: Emitter, x: SSAValue) -> SSAValue:
    """Returns integers that compare as floats do in the total order of IEEE 754: -NaN < -0 < 0 < NaN."""
    integer = with_sign(c.element(x), Signedness.SIGNLESS)
    bits = c.bitcast(x, integer)
    greatest = (1 << (integer.width.data - 1)) - 1
    return c.select(c.binary(graph.LtOp, bits, 0), c.binary(graph.XorOp, bits, greatest), bits)


def compared(c: Emitter, direction: str, kind: str, x: SSAValue, y: SSAValue) -> SSAValue:
    element = c.element(x)
    if kind == "TOTALORDER" and is_float(element):
        x, y = total_order(c, x), total_order(c, y)
    elif is_bool(element) and direction not in ("EQ", "NE"):
        x, y = c.cast(x, i8), c.cast(y, i8)
    return c.binary(_COMPARISONS[direction], x, y)


def _compare(c: Conversion, op: stablehlo.CompareOp) -> SSAValue:
    x, y = unified(c, c.operands(op))
    assert op.comparison_direction is not None, "verified"
    kind = "" if op.compare_type is None else op.compare_type.data.value
    return compared(c, op.comparison_direction.data.value, kind, x, y)


def _select(c: Conversion, op: Operation) -> SSAValue:
    condition, x, y = c.operands(op)
    x, y = unified(c, [x, y])
    if c.shape(condition) and not c.shape(x):
        x, y = (c.broadcast(value, c.shape(condition)) for value in (x, y))
    return c.select(c.broadcast(condition, c.shape(x)), x, y)


def _clamp(c: Conversion, op: Operation) -> SSAValue:
    low, x, high = unified(c, c.operands(op))
    return c.binary(graph.MinOp, c.binary(graph.MaxOp, x, low), high)


def _convert(c: Conversion, op: Operation) -> SSAValue:
    return c.cast(c.operand(op, 0), c.result_element(op))


def _map(c: Conversion, op: stablehlo.MapOp) -> SSAValue:
    operands = c.operands(op)
    if len({c.shape(operand) for operand in operands}) != 1:
        raise VerifyException(f"{op.name}: operands are of several shapes")
    return c.lifted(op.regions[0], operands, 1)[0]


def _is_inf(c: Emitter, x: SSAValue, sign: float) -> SSAValue:
    return c.binary(graph.EqOp, x, sign * float("inf"))


def _square(c: Emitter, x: SSAValue) -> SSAValue:
    return c.binary(graph.MulOp, x, x)


def _imag(c: Emitter, x: SSAValue) -> SSAValue:
    return c.like(0.0, x)


def _itself(c: Emitter, x: SSAValue) -> SSAValue:
    return x


def mulhi(c: Emitter, x: SSAValue, y: SSAValue) -> SSAValue:
    """The upper half of the product of integers."""
    element, width = c.element(x), width_of(c.element(x))
    if width == 64:
        return _mulhi_of_halves(c, x, y)
    wide = ui64 if is_unsigned(element) else i64
    whole = c.binary(graph.MulOp, c.cast(x, wide), c.cast(y, wide))
    return c.cast(c.binary(graph.ShrOp, whole, width), element)


def _mulhi_of_halves(c: Emitter, x: SSAValue, y: SSAValue) -> SSAValue:
    """
    The upper half of products of 64 bits, from those of halves, none of whose sums overflows. A number below
    0 is 2**64 less than its bits, so that the other factor is taken off (Warren, Hacker's Delight, 8-2, 8-3).
    """
    element = c.element(x)
    parts = [c.bitcast(each, ui64) for each in (x, y)]
    low_x, low_y = (c.binary(graph.AndOp, each, (1 << 32) - 1) for each in parts)
    high_x, high_y = (c.binary(graph.ShrOp, each, 32) for each in parts)
    carry = c.binary(graph.ShrOp, c.binary(graph.MulOp, low_x, low_y), 32)
    middle = c.binary(graph.AddOp, c.binary(graph.MulOp, high_x, low_y), carry)
    other = c.binary(graph.AndOp, middle, (1 << 32) - 1)
    other = c.binary(graph.AddOp, c.binary(graph.MulOp, low_x, high_y), other)
    upper = c.binary(graph.MulOp, high_x, high_y)
    for each in (middle, other):
        upper = c.binary(graph.AddOp, upper, c.binary(graph.ShrOp, each, 32))
    found = c.bitcast(upper, element)
    if not is_unsigned(element):
        zero = c.like(0, x)
        for sign, factor in ((x, y), (y, x)):
            taken = c.select(c.binary(graph.LtOp, sign, 0), factor, zero)
            found = c.binary(graph.SubOp, found, taken)
    return found


def _mulhi(c: Conversion, op: Operation) -> SSAValue:
    x, y = unified(c, c.operands(op))
    return mulhi(c, x, y)


RULES: dict[type[Operation], Rule] = {
    stablehlo.AbsOp: unary(graph.AbsOp),
    stablehlo.AddOp: binary(graph.AddOp, graph.OrOp),
    stablehlo.AndOp: binary(graph.AndOp),
    stablehlo.Atan2Op: binary(graph.Atan2Op),
    stablehlo.CbrtOp: of_one(widened(cube_root)),
    stablehlo.CeilOp: unary(graph.CeilOp),
    stablehlo.ClampOp: _clamp,
    stablehlo.CompareOp: _compare,
    stablehlo.ConvertOp: _convert,
    stablehlo.CosineOp: unary(graph.CosOp),
    stablehlo.CountLeadingZerosOp: of_one(leading_zeros),
    stablehlo.DivideOp: _divide,
    stablehlo.ExponentialOp: unary(graph.ExpOp),
    stablehlo.ExponentialMinusOneOp: unary(graph.Expm1Op),
    stablehlo.FloorOp: unary(graph.FloorOp),
    stablehlo.ImagOp: of_one(_imag),
    stablehlo.IsFiniteOp: unary(graph.IsfiniteOp),
    stablehlo.LogOp: unary(graph.LogOp),
    stablehlo.LogPlusOneOp: unary(graph.Log1pOp),
    stablehlo.LogisticOp: of_one(logistic),
    stablehlo.MapOp: _map,
    stablehlo.MaximumOp: binary(graph.MaxOp, graph.OrOp),
    stablehlo.MinimumOp: binary(graph.MinOp, graph.AndOp),
    stablehlo.MultiplyOp: binary(graph.MulOp, graph.AndOp),
    stablehlo.NegateOp: unary(graph.NegOp),
    stablehlo.NotOp: unary(graph.NotOp),
    stablehlo.OrOp: binary(graph.OrOp),
    stablehlo.PopcntOp: of_one(popcnt),
    stablehlo.PowerOp: binary(graph.PowOp),
    stablehlo.RealOp: of_one(_itself),
    stablehlo.RemainderOp: _remainder,
    stablehlo.RoundNearestAfzOp: of_one(round_away),
    stablehlo.RoundNearestEvenOp: unary(graph.RoundOp),
    stablehlo.RsqrtOp: unary(graph.RsqrtOp),
    stablehlo.SelectOp: _select,
    stablehlo.ShiftLeftOp: binary(graph.ShlOp),
    stablehlo.ShiftRightArithmeticOp: shift_arithmetic,
    stablehlo.ShiftRightLogicalOp: shift_logical,
    stablehlo.SignOp: of_one(sign),
    stablehlo.SineOp: unary(graph.SinOp),
    stablehlo.SqrtOp: unary(graph.SqrtOp),
    stablehlo.SubtractOp: binary(graph.SubOp, graph.XorOp),
    stablehlo.TanOp: unary(graph.TanOp),
    stablehlo.TanhOp: unary(graph.TanhOp),
    stablehlo.XorOp: binary(graph.XorOp),
    chlo.AcosOp: unary(graph.AcosOp),
    chlo.AcoshOp: unary(graph.AcoshOp),
    chlo.AsinOp: unary(graph.AsinOp),
    chlo.AsinhOp: unary(graph.AsinhOp),
    chlo.AtanOp: unary(graph.AtanOp),
    chlo.AtanhOp: unary(graph.AtanhOp),
    chlo.CoshOp: unary(graph.CoshOp),
    chlo.ErfOp: unary(graph.ErfOp),
    chlo.IsInfOp: unary(graph.IsinfOp),
    chlo.IsNegInfOp: of_one(lambda c, x: _is_inf(c, x, -1.0)),
    chlo.IsPosInfOp: of_one(lambda c, x: _is_inf(c, x, 1.0)),
    chlo.MulhiOp: _mulhi,
    chlo.NextAfterOp: binary(graph.NextafterOp),
    chlo.SinhOp: unary(graph.SinhOp),
    chlo.SquareOp: of_one(_square),
    chlo.TanOp: unary(graph.TanOp),
}
