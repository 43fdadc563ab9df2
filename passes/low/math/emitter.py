"""Expansions written into a kernel as ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from struct import pack, unpack
from typing import Literal

from xdsl.dialects import arith, math, scf, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    VectorType,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....dialects.element_types import with_lanes
from ....dialects.float_layout import F64, FloatLayout
from ....dialects.low import Conversion, ConversionAttr, ConvertOp, LdexpOp, SelectOp
from ...rewriting.attribute_numbers import AttributeNumbers
from ...scalar.number_key import number_key
from ..kernel_front import KernelFront
from .arithmetic import Arithmetic, FloatKind, IntegerKind, Predicate
from .float_bits import rounded

_FLOAT_OPS: dict[FloatKind, type[Operation]] = {
    "addf": arith.AddfOp,
    "subf": arith.SubfOp,
    "mulf": arith.MulfOp,
    "divf": arith.DivfOp,
    "negf": arith.NegfOp,
    "absf": math.AbsFOp,
    "floor": math.FloorOp,
    "sqrt": math.SqrtOp,
}
_INTEGER_OPS: dict[IntegerKind, type[Operation]] = {
    "addi": arith.AddiOp,
    "subi": arith.SubiOp,
    "muli": arith.MuliOp,
    "andi": arith.AndIOp,
    "ori": arith.OrIOp,
    "xori": arith.XOrIOp,
    "shli": arith.ShLIOp,
    "shrui": arith.ShRUIOp,
}
_PREDICATES: dict[Predicate, IntegerAttr] = {
    name: IntegerAttr(arith.CMPF_COMPARISON_OPERATIONS.index(name), i64) for name in ("oeq", "olt", "uno")
}
_NOT_EQUAL = IntegerAttr(arith.CMPI_COMPARISON_OPERATIONS.index("ne"), i64)
_STRICT = arith.FastMathFlagsAttr("none")
_EXTUI = ConversionAttr(Conversion.EXTUI)
_TRUNCI = ConversionAttr(Conversion.TRUNCI)
_AND = vector.CombiningKindAttr(vector.CombiningKindFlag.AND)
_NO_OVERFLOW_FLAGS = arith.IntegerOverflowAttr("none")


@cache
def _float_constant(bits: bytes, element_type: Float32Type | Float64Type, lanes: int | None) -> Attribute:
    """Returns a constant by the bits of an f64: as numbers 0.0 and -0.0 are one key."""
    (value,) = unpack("<d", bits)
    if lanes is None:
        return FloatAttr(value, element_type)
    return DenseIntOrFPElementsAttr.from_list(VectorType(element_type, [lanes]), [value])


@cache
def _integer_constant(bits: int, element_type: IntegerType, lanes: int | None) -> Attribute:
    width = element_type.width.data
    value = bits - (1 << width) if bits >> (width - 1) else bits
    if lanes is None:
        return IntegerAttr(value, element_type)
    return DenseIntOrFPElementsAttr.from_list(VectorType(element_type, [lanes]), [value])


class KernelConstants:
    """
    The constants that expansions bring to one kernel, each once, at the front of the kernel. They are known
    by what is written for them: most are asked for again and again, and attributes take time to make.
    """

    def __init__(self, front: KernelFront):
        self._front = front
        self._known: dict[tuple[str, int], SSAValue] = {}
        self._numbers = AttributeNumbers()

    def get(self, key: str, type: Attribute) -> SSAValue | None:
        """Returns the constant written as `key`, if it is known."""
        return self._known.get((key, self._numbers.of(type)))

    def add(self, key: str, type: Attribute, value: Attribute, location: LocationAttr) -> SSAValue:
        result = self._known[key, self._numbers.of(type)] = self._front.constant(value, type, "cst", location)
        return result


class Emitter(Arithmetic[SSAValue]):
    """
    Collects the ops that replace one op. Fast-math flags are not taken over: they would let steps that are
    exact on purpose be simplified away.
    """

    def __init__(self, op: Operation, format: FloatLayout, lanes: int | None, constants: KernelConstants):
        super().__init__(format)
        self.ops: list[Operation] = []
        self._location = op.location
        self._constants = constants
        self._hint = op.name.rpartition(".")[2]
        self._lanes = lanes
        self._float_type = with_lanes(f64 if format is F64 else f32, lanes)
        self._integer_type = with_lanes(i64 if format is F64 else i32, lanes)
        self._wide_type = with_lanes(i64, lanes)
        self._mask_type = with_lanes(i1, lanes)

    def _insert(
        self,
        op_type: type[Operation],
        operands: tuple[SSAValue, ...],
        result_type: Attribute,
        properties: dict[str, Attribute],
    ) -> SSAValue:
        op = op_type.create(
            operands=operands, result_types=(result_type,), properties=properties, location=self._location
        )
        self.ops.append(op)
        result = op.results[0]
        result.name_hint = self._hint
        return result

    def float_constant(self, value: float) -> SSAValue:
        value = rounded(value, self.format)
        key = number_key(value)
        known = self._constants.get(key, self._float_type)
        if known is None:
            attribute = _float_constant(pack("<d", value), f64 if self.format is F64 else f32, self._lanes)
            known = self._constants.add(key, self._float_type, attribute, self._location)
        return known

    def integer_constant(self, value: int, width: int) -> SSAValue:
        key, type = str(value), self._wide_type if width == 64 else self._integer_type
        known = self._constants.get(key, type)
        if known is None:
            attribute = _integer_constant(value, i64 if width == 64 else i32, self._lanes)
            known = self._constants.add(key, type, attribute, self._location)
        return known

    def float_operation(self, kind: FloatKind, *operands: SSAValue) -> SSAValue:
        return self._insert(_FLOAT_OPS[kind], operands, self._float_type, {"fastmath": _STRICT})

    def multiply_add(self, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        return self._insert(math.FmaOp, (a, b, c), self._float_type, {"fastmath": _STRICT})

    def ldexp(self, x: SSAValue, n: SSAValue) -> SSAValue:
        return self._insert(LdexpOp, (x, n), self._float_type, {})

    def integer_operation(self, kind: IntegerKind, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        properties: dict[str, Attribute] = (
            {"overflowFlags": _NO_OVERFLOW_FLAGS} if kind in ("addi", "subi", "muli", "shli") else {}
        )
        return self._insert(_INTEGER_OPS[kind], (lhs, rhs), lhs.type, properties)

    def compare(self, predicate: Predicate, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        properties: dict[str, Attribute] = {"predicate": _PREDICATES[predicate], "fastmath": _STRICT}
        return self._insert(arith.CmpfOp, (lhs, rhs), self._mask_type, properties)

    def is_nonzero(self, value: SSAValue, width: int) -> SSAValue:
        zero = self.integer_constant(0, width)
        return self._insert(arith.CmpiOp, (value, zero), self._mask_type, {"predicate": _NOT_EQUAL})

    def combine_masks(self, kind: Literal["andi", "ori", "xori"], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self._insert(_INTEGER_OPS[kind], (lhs, rhs), self._mask_type, {})

    def select(self, condition: SSAValue, on_true: SSAValue, on_false: SSAValue) -> SSAValue:
        return self._insert(SelectOp, (condition, on_true, on_false), on_true.type, {})

    def choose(
        self, condition: SSAValue, on_true: Sequence[SSAValue], otherwise: Callable[[], Sequence[SSAValue]]
    ) -> Sequence[SSAValue]:
        types = tuple(value.type for value in on_true)
        holds = condition
        if self._lanes is not None:
            holds = self._insert(vector.ReductionOp, (condition,), i1, {"kind": _AND, "fastmath": _STRICT})
        outer, self.ops = self.ops, []
        values = [self.select(condition, *pair) for pair in zip(on_true, otherwise(), strict=True)]
        inner, self.ops = self.ops, outer
        regions = [
            Region(Block([*ops, scf.YieldOp.create(operands=results, location=self._location)]))
            for ops, results in (((), tuple(on_true)), (inner, tuple(values)))
        ]
        op = scf.IfOp.create(operands=(holds,), result_types=types, regions=regions, location=self._location)
        self.ops.append(op)
        for result in op.results:
            result.name_hint = self._hint
        return op.results

    def bits_of_float(self, value: SSAValue) -> SSAValue:
        return self._insert(arith.BitcastOp, (value,), self._integer_type, {})

    def float_of_bits(self, value: SSAValue) -> SSAValue:
        return self._insert(arith.BitcastOp, (value,), self._float_type, {})

    def widen(self, value: SSAValue) -> SSAValue:
        return self._insert(ConvertOp, (value,), self._wide_type, {"conversion": _EXTUI})

    def narrow(self, value: SSAValue) -> SSAValue:
        return self._insert(ConvertOp, (value,), self._integer_type, {"conversion": _TRUNCI})
