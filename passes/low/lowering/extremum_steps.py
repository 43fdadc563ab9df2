"""
Partial results of a maximum or minimum of floats, without the instructions that NaN and signed zeros take.

A partial result is three values, the last two of them integers:

* the extreme number, found by plain comparisons, which pass over NaN and take the zero that comes first
* which signs there are: of a maximum the bits that all encodings have, of a minimum those that any has
* whether there is a NaN: all bits, or none

A maximum of which one element has no sign has none, and a minimum of which one has a sign has one. None of
these takes more than two plain instructions, of either width and with any vectors; the greatest integer of
64 bits takes five without AVX-512.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerAttr, IntegerType, f32, i1, i32, i64
from xdsl.dialects.utils import FastMathFlag
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects import low, sched
from ....dialects.element_types import lanes_of, with_lanes
from ....dialects.sched import CombineKind
from ...scalar.reduction_identity import identity
from .writer import KernelWriter

_STRICT = arith.FastMathFlagsAttr("none")
_PLAIN = arith.FastMathFlagsAttr([FastMathFlag.NO_NANS, FastMathFlag.NO_SIGNED_ZEROS])
_OLT, _OGT, _UNO = (
    IntegerAttr(arith.CMPF_COMPARISON_OPERATIONS.index(name), i64) for name in ("olt", "ogt", "uno")
)
_SLT, _NE = (IntegerAttr(arith.CMPI_COMPARISON_OPERATIONS.index(name), i64) for name in ("slt", "ne"))

Partial = tuple[SSAValue, ...]
"""A partial result of a reduction: here the extreme number, the signs and whether there is a NaN."""


FEW_ELEMENTS = 16
"""Up to this many elements, partial results of three values are not worth their code."""


def is_extremum(op: sched.ReduceOp) -> bool:
    """Returns whether a reduction is a maximum or minimum of many elements that has to mind NaN or zeros."""
    if isinstance(op.extent, int) and op.extent <= FEW_ELEMENTS:
        return False
    return _is_of_floats(op) and not _is_plain(op)


def is_plain_extremum(op: sched.ReduceOp) -> bool:
    """
    Returns whether nobody sees of a maximum or minimum that it is NaN, or which zero. The flags that say so
    make what LLVM computes of a NaN undefined, which may be all that follows: plain steps pass over it.
    """
    return _is_of_floats(op) and _is_plain(op)


def _is_of_floats(op: sched.ReduceOp) -> bool:
    kinds = (CombineKind.MAXIMUMF, CombineKind.MINIMUMF)
    return op.kind.data in kinds and isinstance(op.result.type, Float32Type | Float64Type)


def _is_plain(op: sched.ReduceOp) -> bool:
    return op.fastmath is not None and {*_PLAIN.data} <= {*op.fastmath.data}


class ExtremumSteps:
    """Writes the steps of one such reduction. Partial results are scalars or vectors."""

    def __init__(self, writer: KernelWriter, op: sched.ReduceOp):
        self.writer = writer
        self.op = op
        self.is_maximum = op.kind.data is CombineKind.MAXIMUMF
        self.float_type: Attribute = op.result.type
        self.integer_type: IntegerType = i32 if self.float_type == f32 else i64
        self.width = self.integer_type.width.data

    def start(self, lanes: int) -> Partial:
        """Returns the partial result of no elements."""
        number = identity(self.op.kind.data, self.float_type)
        return (
            self._constant(number, self.float_type, lanes),
            self._constant(-1 if self.is_maximum else 0, self.integer_type, lanes),
            self._constant(0, self.integer_type, lanes),
        )

    def accumulate(self, partial: Partial, element: SSAValue) -> Partial:
        """Returns a partial result with one more element, or one more in each lane."""
        number, signs, nan = partial
        all_bits = self._constant(-1, self.integer_type, lanes_of(element.type) or 1)
        is_nan = self._compare_floats(_UNO, element, element)
        return (
            self.better(number, element),
            self._joined_signs(signs, self._bits(element)),
            self._emit(low.SelectOp, (is_nan, all_bits, nan), nan.type),
        )

    def accumulate_two(
        self, one: Partial, other: Partial, first: SSAValue, second: SSAValue
    ) -> tuple[Partial, Partial]:
        """
        Returns two partial results that are combined later, with one more element each. Of both elements
        `one` has the signs and whether there is a NaN, which one comparison tells.
        """
        number, signs, nan = one
        all_bits = self._constant(-1, self.integer_type, lanes_of(nan.type) or 1)
        is_nan = self._compare_floats(_UNO, first, second)
        for element in (first, second):
            signs = self._joined_signs(signs, self._bits(element))
        nan = self._emit(low.SelectOp, (is_nan, all_bits, nan), nan.type)
        return (self.better(number, first), signs, nan), (self.better(other[0], second), *other[1:])

    def combine(self, lhs: Partial, rhs: Partial) -> Partial:
        """Returns the partial result of the elements of two."""
        return (
            self.better(lhs[0], rhs[0]),
            self._joined_signs(lhs[1], rhs[1]),
            self._emit(arith.OrIOp, (lhs[2], rhs[2]), lhs[2].type),
        )

    def across_lanes(self, partial: Partial) -> Partial:
        """Returns the partial result of all lanes."""
        kind = CombiningKindFlag.MAXIMUMF if self.is_maximum else CombiningKindFlag.MINIMUMF
        kinds = (
            kind,
            CombiningKindFlag.AND if self.is_maximum else CombiningKindFlag.OR,
            CombiningKindFlag.OR,
        )
        types = (self.float_type, self.integer_type, self.integer_type)
        # The numbers are never NaN, and which zero they are is found out by the signs.
        flags = (_PLAIN, _STRICT, _STRICT)
        return tuple(
            self._emit(
                vector.ReductionOp, (value,), type, {"kind": CombiningKindAttr(kind), "fastmath": fastmath}
            )
            for value, kind, type, fastmath in zip(partial, kinds, types, flags, strict=True)
        )

    def finish(self, partial: Partial) -> SSAValue:
        """Returns the result of a reduction, or one in each lane."""
        number, signs, nan = partial
        lanes = lanes_of(number.type) or 1
        sign = -1 << (self.width - 1)
        is_signed = self._compare_integers(_SLT, signs)
        if self.is_maximum:
            # Where not all have a sign, the maximum has none.
            bits = self._emit(arith.AndIOp, (self._bits(number), self._integer(~sign, lanes)), signs.type)
            choices = number, self._emit(arith.BitcastOp, (bits,), number.type)
        else:
            bits = self._emit(arith.OrIOp, (self._bits(number), self._integer(sign, lanes)), signs.type)
            choices = self._emit(arith.BitcastOp, (bits,), number.type), number
        result = self._emit(low.SelectOp, (is_signed, *choices), number.type)
        not_a_number = self._constant(math.nan, self.float_type, lanes)
        return self._emit(low.SelectOp, (self._compare_integers(_NE, nan), not_a_number, result), number.type)

    def better(self, number: SSAValue, other: SSAValue) -> SSAValue:
        """Returns the more extreme of two numbers: the first one, where the other is NaN or as extreme."""
        is_better = self._compare_floats(_OGT if self.is_maximum else _OLT, other, number)
        return self._emit(low.SelectOp, (is_better, other, number), number.type)

    def _joined_signs(self, signs: SSAValue, others: SSAValue) -> SSAValue:
        return self._emit(arith.AndIOp if self.is_maximum else arith.OrIOp, (signs, others), signs.type)

    def _bits(self, number: SSAValue) -> SSAValue:
        return self._emit(arith.BitcastOp, (number,), with_lanes(self.integer_type, lanes_of(number.type)))

    def _compare_floats(self, predicate: IntegerAttr[Any], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        properties: dict[str, Attribute] = {"predicate": predicate, "fastmath": _STRICT}
        return self._emit(arith.CmpfOp, (lhs, rhs), with_lanes(i1, lanes_of(lhs.type)), properties)

    def _compare_integers(self, predicate: IntegerAttr[Any], value: SSAValue) -> SSAValue:
        """Compares integers with 0."""
        lanes = lanes_of(value.type)
        zero = self._integer(0, lanes or 1)
        return self._emit(arith.CmpiOp, (value, zero), with_lanes(i1, lanes), {"predicate": predicate})

    def _integer(self, number: int, lanes: int) -> SSAValue:
        return self._constant(number, self.integer_type, lanes)

    def _constant(self, number: int | float, type: Attribute, lanes: int) -> SSAValue:
        return self.writer.number(number, type, lanes)

    def _emit(
        self,
        op_type: type[Operation],
        operands: Sequence[SSAValue],
        type: Attribute,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        op = self.op
        return self.writer.emit(op_type, operands, type, op.location, op.result.name_hint, properties)
