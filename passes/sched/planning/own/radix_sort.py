"""
The kernel of `graph.sort` and `graph.argsort` of long rows: a radix sort from the lowest digit up (Knuth, The
Art of Computer Programming 3, 5.2.5, algorithm R).

    if the elements are in order: copy them
    else, if they are in the opposite order: copy them the other way around
    else:
      write the number of each element into one half of a scratch buffer
      if they have few values: sort these, and repeat each as often as it is there (few_values.py)
      else: sort the numbers (digit_sort.py)
      store the elements that have these numbers

Numbers are in the order of the elements (order_numbers.py). argsort has positions in the lower bits of
numbers of 64 bits or, of elements of 64 bits, beside them.

Sorting gives back elements that are equal and not the same in the order that they had: where there are any,
these are copied from the source afterwards (equal_elements.py).
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue

from .....dialects import graph, low
from .....dialects.dims.expressions import upper_bound
from .....dialects.element_types import element_type_of
from ....indices.access import shape_of
from ....scalar.ops import convert
from ....scalar.rules import element_type
from . import few_values
from .digit_sort import DigitSort
from .equal_elements import has_special, store_special
from .interface import ProgramPart
from .order_numbers import OrderNumbers
from .row_order import order_of
from .sorted_row import SortedRow, write_rows

LEAST_EXTENT = 64
"""Shorter rows are merged in less time than it takes to clear the counts."""


def write(part: ProgramPart, op: graph.SortOp | graph.ArgsortOp) -> None:
    number = OrderNumbers(element_type(op.source), op.descending is not None).type
    types: list[Attribute] = [number]
    if isinstance(op, graph.ArgsortOp):
        extent = upper_bound(shape_of(op.source, op.name)[op.axis.data])
        position = i32 if extent < 1 << 31 else i64
        types = [i64] if number == position == i32 else [number, position]
    write_rows(part, op, types, _Digits)


class _Digits(SortedRow):
    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.numbers = OrderNumbers(self.type, self.is_descending)
        # Positions lie below numbers where they fit there.
        self.is_packed = self.is_argsort and len(self.scratch) == 1

    def write(self) -> None:
        code = self.code
        is_ascending, is_descending = order_of(self)
        last = code.index(self.extent - 1)

        def copy() -> None:
            with code.axis(self.extent, "k") as position:
                self._copy(position, position)

        def turn_around() -> None:
            with code.axis(self.extent, "k") as position:
                self._copy(code.integer(arith.SubiOp, last, position), position)

        code.branch(is_ascending, copy, lambda: code.branch(is_descending, turn_around, self._sort))

    def _copy(self, source: SSAValue, target: SSAValue) -> None:
        """Stores the element at a position of the source, or this position, as one of the result."""
        code = self.code
        if self.is_argsort:
            found = code.b.op(arith.IndexCastOp, source, result_type=i64)
        else:
            found = code.load(self.source, self.place(source))
        code.store(found, self.result, self.place(target))

    def _sort(self) -> None:
        code = self.code
        digits = DigitSort(self, self.numbers.nbits, 32 if self.is_packed else 0)
        with code.axis(self.extent, "k") as position:
            self._write_number(position)
        if not self.is_argsort and upper_bound(self.extent) >= few_values.LEAST_EXTENT:
            half = few_values.FewValues(self, digits).sort()
        else:
            half = digits.sort(code.index(self.extent))
        with code.axis(self.extent, "k") as position:
            code.store(self._result(half, position), self.result, self.place(position))
        if self.numbers.has_special and not self.is_argsort:
            code.branch(
                has_special(self, self.numbers, lambda position: digits.number(half, position)),
                lambda: store_special(self, self.numbers, lambda position: self._result(half, position)),
            )

    def _write_number(self, position: SSAValue) -> None:
        """Writes the number of an element, and its position for argsort, into the first half."""
        code, b = self.code, self.code.b
        at = [*self.row, code.index(0), position]
        stored = code.load(self.source, self.place(position))
        if not self.is_argsort:
            code.store(self.numbers.of(code, stored), self.scratch[0], at)
            return
        number = self.numbers.one_of(code, stored)
        place = b.op(arith.IndexCastOp, position, result_type=i64)
        if self.is_packed:
            wide = convert(b, low.Conversion.EXTUI, number, i64)
            number = b.op(arith.OrIOp, code.integer(arith.ShLIOp, wide, b.constant(32, i64)), place)
        elif (type := element_type_of(self.scratch[1].type)) != i64:
            place = convert(b, low.Conversion.TRUNCI, place, type)
        code.store(number, self.scratch[0], at)
        for scratch in self.scratch[1:]:
            code.store(place, scratch, at)

    def _result(self, half: SSAValue, position: SSAValue) -> SSAValue:
        """Returns the element that has the number at a position, or the position beside the number."""
        code, b = self.code, self.code.b
        found = code.load(self.scratch[-1], [*self.row, half, position])
        if not self.is_argsort:
            return self.numbers.stored(code, found)
        if self.is_packed:
            return b.op(arith.AndIOp, found, b.constant((1 << 32) - 1, i64))
        return convert(b, low.Conversion.EXTUI, found, i64) if found.type != i64 else found
