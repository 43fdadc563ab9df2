"""
Partial results of a maximum or minimum of floats, without the instructions that NaN and signed zeros take.

A partial result is three values: the extreme number, found by plain comparisons, which pass over NaN and take
the zero that comes first; and the greatest of the encodings, read as signed and as unsigned integers. These
two say at the end what comparisons do not see. For a maximum:

* a greatest signed encoding without the sign bit is the maximum: of the numbers without a sign, +0.0 among
  them, or a NaN; else all have a sign, and the first value is the maximum
* a greatest unsigned encoding above that of -inf is a NaN

and for a minimum, a greatest unsigned encoding with the sign bit is the minimum, and a greatest signed one
above that of +inf is a NaN.
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
_OLT, _OGT = (IntegerAttr(arith.CMPF_COMPARISON_OPERATIONS.index(name), i64) for name in ("olt", "ogt"))
_SLT, _SGT, _UGT = (
    IntegerAttr(arith.CMPI_COMPARISON_OPERATIONS.index(name), i64) for name in ("slt", "sgt", "ugt")
)

Partial = tuple[SSAValue, ...]
"""A partial result of a reduction: here the extreme number, and the greatest signed and unsigned encoding."""


FEW_ELEMENTS = 16
"""Up to this many elements, partial results of three values are not worth their code."""


def is_extremum(op: sched.ReduceOp) -> bool:
    """Returns whether a reduction is a maximum or minimum of many elements that has to mind NaN or zeros."""
    if isinstance(op.extent, int) and op.extent <= FEW_ELEMENTS:
        return False
    if op.kind.data not in (CombineKind.MAXIMUMF, CombineKind.MINIMUMF):
        return False
    if not isinstance(op.result.type, Float32Type | Float64Type):
        return False
    return op.fastmath is None or not {*_PLAIN.data} <= {*op.fastmath.data}


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
        lowest = -(1 << (self.width - 1))
        number = identity(self.op.kind.data, self.float_type)
        return (
            self._constant(number, self.float_type, lanes),
            self._constant(lowest, self.integer_type, lanes),
            self._constant(0, self.integer_type, lanes),
        )

    def accumulate(self, partial: Partial, element: SSAValue) -> Partial:
        """Returns a partial result with one more element, or one more in each lane."""
        lanes = lanes_of(element.type)
        bits = self._emit(arith.BitcastOp, (element,), with_lanes(self.integer_type, lanes))
        return self.combine(partial, (element, bits, bits))

    def combine(self, lhs: Partial, rhs: Partial) -> Partial:
        """Returns the partial result of the elements of two."""
        properties: dict[str, Attribute] = {
            "predicate": _OGT if self.is_maximum else _OLT,
            "fastmath": _STRICT,
        }
        mask = with_lanes(i1, lanes_of(lhs[0].type))
        is_better = self._emit(arith.CmpfOp, (rhs[0], lhs[0]), mask, properties)
        return (
            self._emit(low.SelectOp, (is_better, rhs[0], lhs[0]), lhs[0].type),
            self._emit(arith.MaxSIOp, (lhs[1], rhs[1]), lhs[1].type),
            self._emit(arith.MaxUIOp, (lhs[2], rhs[2]), lhs[2].type),
        )

    def across_lanes(self, partial: Partial) -> Partial:
        """Returns the partial result of all lanes."""
        kind = CombiningKindFlag.MAXIMUMF if self.is_maximum else CombiningKindFlag.MINIMUMF
        kinds = (kind, CombiningKindFlag.MAXSI, CombiningKindFlag.MAXUI)
        types = (self.float_type, self.integer_type, self.integer_type)
        # The numbers are never NaN, and which zero they are is found out by the encodings.
        flags = (_PLAIN, _STRICT, _STRICT)
        return tuple(
            self._emit(
                vector.ReductionOp, (value,), type, {"kind": CombiningKindAttr(kind), "fastmath": fastmath}
            )
            for value, kind, type, fastmath in zip(partial, kinds, types, flags, strict=True)
        )

    def finish(self, partial: Partial) -> SSAValue:
        """Returns the result of a reduction, or one in each lane."""
        number, signed, unsigned = partial
        lanes = lanes_of(number.type)
        infinity = 0x7F800000 if self.width == 32 else 0x7FF0000000000000
        if self.is_maximum:
            decisive, is_number = signed, self._compare(_SLT, signed, 0)
            is_nan = self._compare(_UGT, unsigned, infinity | 1 << (self.width - 1))
        else:
            decisive, is_number = unsigned, self._compare(_SGT, unsigned, -1)
            is_nan = self._compare(_SGT, signed, infinity)
        encoded = self._emit(arith.BitcastOp, (decisive,), number.type)
        result = self._emit(low.SelectOp, (is_number, number, encoded), number.type)
        nan = self._constant(math.nan, self.float_type, lanes or 1)
        return self._emit(low.SelectOp, (is_nan, nan, result), number.type)

    def _compare(self, predicate: IntegerAttr[Any], value: SSAValue, number: int) -> SSAValue:
        lanes = lanes_of(value.type)
        bound = self._constant(number, self.integer_type, lanes or 1)
        return self._emit(arith.CmpiOp, (value, bound), with_lanes(i1, lanes), {"predicate": predicate})

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
