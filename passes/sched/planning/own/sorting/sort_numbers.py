"""What is sorted in the place of elements: numbers in their order, and for argsort positions with them."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue

from ......dialects import graph, low
from ......dialects.dims.expressions import upper_bound
from .....indices.access import shape_of
from .....scalar.ops import convert
from .....scalar.rules import element_type
from ...code import KernelCode
from .order_numbers import OrderNumbers

POSITION_BITS = 32
"""The lower bits of a number of 64 bits, in which positions lie below the numbers of elements of up to 32."""


class SortNumbers:
    """
    What is stored for each element of a row that `op` sorts: a value for each of `types`. argsort has
    positions in the lower bits of numbers of 64 bits (`is_packed`) or, of elements of 64 bits, beside them.
    """

    def __init__(self, op: graph.SortOp | graph.ArgsortOp):
        self.numbers = OrderNumbers(element_type(op.source), op.descending is not None)
        self.is_argsort = isinstance(op, graph.ArgsortOp)
        self.is_packed = False
        self.types: list[Attribute] = [self.numbers.type]
        if self.is_argsort:
            extent = upper_bound(shape_of(op.source, op.name)[op.axis.data])
            position = i32 if extent < 1 << POSITION_BITS - 1 else i64
            self.is_packed = self.numbers.type == position == i32
            self.types = [i64] if self.is_packed else [self.numbers.type, position]

    def of(
        self, code: KernelCode, stored: SSAValue, position: SSAValue, least: SSAValue | None = None
    ) -> list[SSAValue]:
        """
        Returns what is sorted in the place of a stored element; where `least` is the least number of the row,
        with the distance from that one in the place of the number.
        """
        b = code.b
        number = self.numbers.one_of(code, stored) if self.is_argsort else self.numbers.of(code, stored)
        if least is not None:
            number = code.integer(arith.SubiOp, number, least)
        if not self.is_argsort:
            return [number]
        place = b.op(arith.IndexCastOp, position, result_type=i64)
        if self.is_packed:
            wide = convert(b, low.Conversion.EXTUI, number, i64)
            shifted = code.integer(arith.ShLIOp, wide, b.constant(POSITION_BITS, i64))
            return [b.op(arith.OrIOp, shifted, place)]
        if self.types[1] != i64:
            place = convert(b, low.Conversion.TRUNCI, place, self.types[1])
        return [number, place]

    def result(self, code: KernelCode, last: SSAValue, least: SSAValue | None = None) -> SSAValue:
        """Returns the element that has a number, or the position of the last value stored for an element."""
        b = code.b
        if not self.is_argsort:
            number = last if least is None else code.integer(arith.AddiOp, last, least)
            return self.numbers.stored(code, number)
        if self.is_packed:
            return b.op(arith.AndIOp, last, b.constant((1 << POSITION_BITS) - 1, i64))
        return convert(b, low.Conversion.EXTUI, last, i64) if last.type != i64 else last
