"""
Scalar code for what has an exact result: signs, tests, neighbours, and division towards zero or down.

Values are in the compute type (f32 for narrower floats); rules return a value that still has to be rounded to
the element type only where they say so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, nan
from typing import Any, cast

import ml_dtypes
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerType, f64
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import low
from ...dialects.element_types import is_float, is_narrow_float, is_unsigned
from ...semantics.numpy_types import dtype_of
from .builder import ScalarBuilder
from .ops import cmpf, cmpi, constant_divisor, float_op, hint_of, integer_op, safe_divisor, select

_finfo = cast("Callable[[Any], Any]", ml_dtypes.finfo)
"""The limits of a float dtype; the module has no types for them."""


def _bits(b: ScalarBuilder, value: SSAValue) -> SSAValue:
    width = 64 if value.type == f64 else 32
    return b.op(arith.BitcastOp, value, result_type=IntegerType(width))


def _magnitude(b: ScalarBuilder, value: SSAValue) -> SSAValue:
    return float_op(b, math.AbsFOp, value)


def is_nan(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    return cmpf(b, "uno", args[0], args[0], hint=hint_of(op))


def is_infinite(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    return cmpf(b, "oeq", _magnitude(b, args[0]), b.constant(inf, args[0].type), hint=hint_of(op))


def is_finite(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    return cmpf(b, "olt", _magnitude(b, args[0]), b.constant(inf, args[0].type), hint=hint_of(op))


def signbit(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    bits = _bits(b, args[0])
    return cmpi(b, "slt", bits, b.constant(0, bits.type), hint=hint_of(op))


def sign(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    value = args[0]
    if is_float(type):
        zero, one, minus_one = (b.constant(number, value.type) for number in (0.0, 1.0, -1.0))
        # what equals 0 becomes 0.0, and NaN is all that is left
        rest = select(b, cmpf(b, "oeq", value, zero), zero, value)
        not_above = select(b, cmpf(b, "olt", value, zero), minus_one, rest)
        return select(b, cmpf(b, "ogt", value, zero), one, not_above, hint_of(op))
    one = b.constant(1, value.type)
    if is_unsigned(type):
        return b.op(arith.MinUIOp, value, one, hint=hint_of(op))
    at_most_one = b.op(arith.MinSIOp, value, one)
    return b.op(arith.MaxSIOp, at_most_one, b.constant(-1, value.type), hint=hint_of(op))


def truncated_quotient(
    b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute
) -> SSAValue:
    dividend, divisor = args
    unsigned = is_unsigned(type)
    if constant_divisor(divisor, unsigned) is not None:
        return b.op(arith.DivUIOp if unsigned else arith.DivSIOp, dividend, divisor, hint=hint_of(op))
    zero = b.constant(0, dividend.type)
    safe, is_zero, is_minus_one = safe_divisor(b, divisor, signed=not unsigned)
    if is_minus_one is None:
        return select(b, is_zero, zero, b.op(arith.DivUIOp, dividend, safe), hint_of(op))
    negated = integer_op(b, arith.SubiOp, zero, dividend)
    quotient = select(b, is_minus_one, negated, b.op(arith.DivSIOp, dividend, safe))
    return select(b, is_zero, zero, quotient, hint_of(op))


def remainder(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    dividend, divisor = args
    if is_float(type):
        return b.op(low.RemfOp, dividend, divisor, hint=hint_of(op))
    unsigned = is_unsigned(type)
    if constant_divisor(divisor, unsigned) is None:
        # a divisor of 0 or -1 becomes 1, of which every number is a multiple
        divisor, _, _ = safe_divisor(b, divisor, signed=not unsigned)
    return b.op(arith.RemUIOp if unsigned else arith.RemSIOp, dividend, divisor, hint=hint_of(op))


def floordiv(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    """
    As numpy: what is left without the remainder is divided, so that the quotient is a whole number but for
    rounding. To be rounded to the element type.
    """
    dividend, divisor = args
    zero, one = b.constant(0.0, dividend.type), b.constant(1.0, dividend.type)
    quotient = float_op(b, arith.DivfOp, dividend, divisor)
    rest = b.op(low.RemfOp, dividend, divisor)
    whole = float_op(b, arith.DivfOp, float_op(b, arith.SubfOp, dividend, rest), divisor)
    mixed = cmpi(b, "ne", cmpf(b, "olt", divisor, zero), cmpf(b, "olt", rest, zero))
    is_cut = b.op(arith.AndIOp, cmpf(b, "une", rest, zero), mixed)
    whole = select(b, is_cut, float_op(b, arith.SubfOp, whole, one), whole)
    floor = float_op(b, math.FloorOp, whole)
    is_above = cmpf(b, "ogt", float_op(b, arith.SubfOp, whole, floor), b.constant(0.5, dividend.type))
    nearest = select(b, is_above, float_op(b, arith.AddfOp, floor, one), floor)
    signed_zero = float_op(b, math.CopySignOp, zero, quotient)
    result = select(b, cmpf(b, "oeq", whole, zero), signed_zero, nearest)
    return select(b, cmpf(b, "oeq", divisor, zero), quotient, result, hint_of(op))


def nextafter(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue], type: Attribute) -> SSAValue:
    """To be rounded to the element type: the neighbour of the greatest finite value is too large for it."""
    value, target = args
    zero = b.constant(0.0, value.type)
    is_up = cmpi(b, "ne", cmpf(b, "olt", value, target), cmpf(b, "olt", value, zero))
    if is_narrow_float(type):
        stepped, smallest = _step_of_narrow(b, value, is_up, type)
    else:
        stepped, smallest = _step_of_bits(b, value, is_up)
    from_zero = float_op(b, math.CopySignOp, smallest, target)
    stepped = select(b, cmpf(b, "oeq", value, zero), from_zero, stepped)
    stepped = select(b, cmpf(b, "oeq", value, target), target, stepped)
    return select(b, cmpf(b, "uno", value, target), b.constant(nan, value.type), stepped, hint_of(op))


def _step_of_bits(b: ScalarBuilder, value: SSAValue, is_up: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Returns the neighbour of an f32 or f64 of greater or of less magnitude, and the least magnitude."""
    bits = _bits(b, value)
    step = select(b, is_up, b.constant(1, bits.type), b.constant(-1, bits.type))
    moved = integer_op(b, arith.AddiOp, bits, step)
    smallest = b.op(arith.BitcastOp, b.constant(1, bits.type), result_type=value.type)
    return b.op(arith.BitcastOp, moved, result_type=value.type), smallest


def _step_of_narrow(
    b: ScalarBuilder, value: SSAValue, is_up: SSAValue, type: Attribute
) -> tuple[SSAValue, SSAValue]:
    """As `_step_of_bits`, for a value of a narrower type that is held as an f32."""
    information = _finfo(dtype_of(type))
    smallest = b.constant(float(information.smallest_subnormal), value.type)
    largest = b.constant(float(information.max), value.type)
    magnitude = _magnitude(b, value)
    bits = _bits(b, magnitude)
    below = integer_op(b, arith.SubiOp, bits, b.constant(1, bits.type))
    # the spacing above the magnitude, or below it, where it is less at a power of two
    exponent = b.op(arith.AndIOp, select(b, is_up, bits, below), b.constant(0x7F800000, bits.type))
    power = b.op(arith.BitcastOp, exponent, result_type=value.type)
    spacing = float_op(b, arith.MulfOp, power, b.constant(2.0**-information.nmant, value.type))
    spacing = float_op(b, arith.MaximumfOp, spacing, smallest)
    raised = float_op(b, arith.AddfOp, magnitude, spacing)
    lowered = float_op(b, arith.SubfOp, magnitude, spacing)
    is_infinite = cmpf(b, "oeq", magnitude, b.constant(inf, value.type))
    lowered = select(b, is_infinite, largest, lowered)
    moved = select(b, is_up, raised, lowered)
    return float_op(b, math.CopySignOp, moved, value), smallest
