"""The scalar ops that rules of `rules.py` are written in, each inserted by one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import low
from ...dialects.element_types import width_of
from ...dialects.low.constant_integer import constant_integer
from .builder import ScalarBuilder

Lowering = Callable[[ScalarBuilder, Operation, Sequence[SSAValue], Attribute], SSAValue]
"""Inserts the code of an op, given its operands and their element type, and returns its value."""


def hint_of(op: Operation) -> str | None:
    return op.results[0].name_hint


def cmpf(b: ScalarBuilder, predicate: str, lhs: SSAValue, rhs: SSAValue, hint: str | None = None) -> SSAValue:
    number = IntegerAttr(arith.CMPF_COMPARISON_OPERATIONS.index(predicate), i64)
    flags = arith.FastMathFlagsAttr("none")
    properties: dict[str, Attribute] = {"predicate": number, "fastmath": flags}
    return b.op(arith.CmpfOp, lhs, rhs, result_type=i1, properties=properties, hint=hint)


def cmpi(b: ScalarBuilder, predicate: str, lhs: SSAValue, rhs: SSAValue, hint: str | None = None) -> SSAValue:
    number = IntegerAttr(arith.CMPI_COMPARISON_OPERATIONS.index(predicate), i64)
    return b.op(arith.CmpiOp, lhs, rhs, result_type=i1, properties={"predicate": number}, hint=hint)


def select(
    b: ScalarBuilder,
    condition: SSAValue,
    on_true: SSAValue,
    on_false: SSAValue,
    hint: str | None = None,
    unpredictable: bool = False,
) -> SSAValue:
    """Inserts a choice; `unpredictable` says that a branch would be a bad way to make it."""
    properties: dict[str, Attribute] = {"unpredictable": UnitAttr()} if unpredictable else {}
    operands = (condition, on_true, on_false)
    return b.op(low.SelectOp, *operands, result_type=on_true.type, properties=properties, hint=hint)


def convert(b: ScalarBuilder, kind: low.Conversion, value: SSAValue, type: Attribute) -> SSAValue:
    return b.op(low.ConvertOp, value, result_type=type, properties={"conversion": low.ConversionAttr(kind)})


def float_op(
    b: ScalarBuilder,
    op_type: type[Operation],
    *operands: SSAValue,
    fastmath: Attribute | None = None,
    hint: str | None = None,
) -> SSAValue:
    """Inserts a float op with the given fast-math flags, none unless told otherwise."""
    flags = arith.FastMathFlagsAttr("none") if fastmath is None else fastmath
    return b.op(op_type, *operands, properties={"fastmath": flags}, hint=hint)


def integer_op(
    b: ScalarBuilder, op_type: type[Operation], lhs: SSAValue, rhs: SSAValue, hint: str | None = None
) -> SSAValue:
    """Inserts an integer op that wraps."""
    properties: dict[str, Attribute] = {}
    if op_type in _OVERFLOW_OPS:
        properties["overflowFlags"] = arith.IntegerOverflowAttr("none")
    return b.op(op_type, lhs, rhs, properties=properties, hint=hint)


_OVERFLOW_OPS = frozenset((arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.ShLIOp))


def constant_divisor(divisor: SSAValue, unsigned: bool) -> int | None:
    """Returns the value of a constant divisor by which every number can be divided; None for another."""
    value = constant_integer(divisor)
    if value is not None and unsigned:
        value &= (1 << width_of(divisor.type)) - 1
    return value if value not in (0, -1) else None


def safe_divisor(
    b: ScalarBuilder, divisor: SSAValue, signed: bool
) -> tuple[SSAValue, SSAValue, SSAValue | None]:
    """Returns a divisor that cannot trap, whether the real one is 0, and whether it is -1 (if signed)."""
    one = b.constant(1, divisor.type)
    is_zero = cmpi(b, "eq", divisor, b.constant(0, divisor.type))
    if not signed:
        return select(b, is_zero, one, divisor), is_zero, None
    is_minus_one = cmpi(b, "eq", divisor, b.constant(-1, divisor.type))
    unsafe = b.op(arith.OrIOp, is_zero, is_minus_one)
    return select(b, unsafe, one, divisor), is_zero, is_minus_one
