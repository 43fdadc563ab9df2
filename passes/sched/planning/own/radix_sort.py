"""
The kernel of `graph.sort` and `graph.argsort` of long rows: a radix sort from the lowest digit up (Knuth, The
Art of Computer Programming 3, 5.2.5, algorithm R).

    clear the counts; for each element of the row: count its digits, of 8 or 11 bits each
    for each digit:
      if one count is the number of elements: nothing is to be done
      else: make the counts of the digit the places where its elements begin
            put each element of one half of a scratch buffer to its place in the other half

It is stable, so that the order by one digit keeps the order by those below it. The digits are those of a
number that orders as the elements do: for floats the bits, of which the sign turns all the others around,
with one number for both zeros and the greatest one for every NaN. argsort moves positions beside the
elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from .....dialects import graph, low
from .....dialects.dims.expressions import upper_bound
from .....dialects.element_types import NBYTES, is_float, is_unsigned, storage_type, width_of
from ....scalar.builder import INDEX
from ....scalar.ops import cmpf, convert, select
from ....scalar.rules import element_type
from .interface import ProgramPart
from .ordering import key
from .sorted_row import SortedRow, write_rows

BITS = 8
BITS_OF_LONG = 11
"""Of a digit: the counts of all digits lie in the first cache."""

LEAST_LONG_EXTENT = 512
"""From this many elements on, a pass less over them is worth clearing and summing up more counts."""

LEAST_EXTENT = 64
"""Shorter rows are merged in less time than it takes to clear the counts."""


def write(part: ProgramPart, op: graph.SortOp | graph.ArgsortOp) -> None:
    types: list[Attribute] = [storage_type(element_type(op.source))]
    if isinstance(op, graph.ArgsortOp):
        types.append(i64)
    write_rows(part, op, types, _Digits)


class _Digits(SortedRow):
    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.number: Attribute = i64 if NBYTES[storage_type(self.type)] == 8 else i32
        self.bits = BITS if upper_bound(self.extent) < LEAST_LONG_EXTENT else BITS_OF_LONG
        self.digits = -(-width_of(self.number) // self.bits)
        self.count = i32 if upper_bound(self.extent) < 1 << 31 else i64

    def write(self) -> None:
        code = self.code
        self.counts = code.alloc(self.count, (self.digits, 1 << self.bits), "counts")
        with code.axes([self.digits, 1 << self.bits], "d") as at:
            code.store(code.b.constant(0, self.count), self.counts, at)
        self._each(self._begin)

        def sort_by(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            digit, half = arguments
            return (self._sort_by(digit, half),)

        (half,) = code.count(self.digits, (code.index(0),), sort_by, ("digit", "half"))
        self.store_result(self.scratch[-1], half)

    def _each(self, body: Callable[[SSAValue], None]) -> None:
        """Loops over the positions of the row, one after the other."""

        def write(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            body(arguments[0])
            return ()

        self.code.count(self.extent, (), write, ("k",))

    def _begin(self, position: SSAValue) -> None:
        """Copies an element into the scratch buffer, and counts its digits."""
        code = self.code
        stored = code.load(self.source, self.place(position))
        code.store(stored, self.scratch[0], [*self.row, code.index(0), position])
        if self.is_argsort:
            number = code.b.op(arith.IndexCastOp, position, result_type=i64)
            code.store(number, self.scratch[1], [*self.row, code.index(0), position])
        bits = self._bits(stored)
        for digit in range(self.digits):
            self._next_of(code.index(digit), self._digit(bits, code.index(digit)))

    def _next_of(self, digit: SSAValue, value: SSAValue) -> SSAValue:
        """Returns the count of a digit's value, which is one more afterwards."""
        code = self.code
        count = code.load(self.counts, [digit, value], "count")
        code.store(
            code.integer(arith.AddiOp, count, code.b.constant(1, self.count)), self.counts, [digit, value]
        )
        return count

    def _sort_by(self, digit: SSAValue, half: SSAValue) -> SSAValue:
        """Sorts by a digit from one half into the other, and returns where the row is then."""
        code = self.code
        first = code.load(self.scratch[0], [*self.row, half, code.index(0)])
        extent = code.b.op(arith.IndexCastOp, code.index(self.extent), result_type=self.count)
        of_first = code.load(self.counts, [digit, self._digit(self._bits(first), digit)])
        is_open = code.compare("ne", of_first, extent)
        other = code.integer(arith.SubiOp, code.index(1), half, "other")

        def move() -> None:
            self._sum_up(digit)
            self._each(lambda position: self._move(digit, half, other, position))

        code.branch(is_open, move)
        return select(code.b, is_open, other, half)

    def _sum_up(self, digit: SSAValue) -> None:
        """Makes the counts of a digit the places where the elements with each value of it begin."""
        code = self.code

        def step(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value, begin = arguments
            count = code.load(self.counts, [digit, value], "count")
            code.store(begin, self.counts, [digit, value])
            return (code.integer(arith.AddiOp, begin, count),)

        code.count(1 << self.bits, (code.b.constant(0, self.count),), step, ("value", "begin"))

    def _move(self, digit: SSAValue, half: SSAValue, other: SSAValue, position: SSAValue) -> None:
        code = self.code
        stored = code.load(self.scratch[0], [*self.row, half, position])
        place = self._next_of(digit, self._digit(self._bits(stored), digit))
        target = code.b.op(arith.IndexCastOp, place, result_type=INDEX)
        code.store(stored, self.scratch[0], [*self.row, other, target])
        for scratch in self.scratch[1:]:
            code.store(code.load(scratch, [*self.row, half, position]), scratch, [*self.row, other, target])

    def _digit(self, bits: SSAValue, digit: SSAValue) -> SSAValue:
        """Returns a digit of a number, as an index."""
        code, b = self.code, self.code.b
        shift = code.integer(arith.MuliOp, digit, code.index(self.bits))
        shifted = b.op(arith.ShRUIOp, bits, b.op(arith.IndexCastOp, shift, result_type=self.number))
        masked = b.op(arith.AndIOp, shifted, b.constant((1 << self.bits) - 1, self.number))
        return b.op(arith.IndexCastOp, masked, result_type=INDEX)

    def _bits(self, stored: SSAValue) -> SSAValue:
        """Returns a number that orders, without a sign, as the elements do."""
        b, value = self.code.b, key(self.code, stored, self.type)
        all_ones = b.constant(-1, self.number)
        if not is_float(self.type):
            if width_of(value.type) < width_of(self.number):
                is_signed = not is_unsigned(self.type) and self.type != i1
                kind = low.Conversion.EXTSI if is_signed else low.Conversion.EXTUI
                value = convert(b, kind, value, self.number)
            if not is_unsigned(self.type):
                value = b.op(arith.XOrIOp, value, b.constant(-1 << (width_of(self.number) - 1), self.number))
            return b.op(arith.XOrIOp, value, all_ones) if self.is_descending else value
        bits = b.op(arith.BitcastOp, value, result_type=self.number)
        zero = b.constant(0, self.number)
        bits = select(b, cmpf(b, "oeq", value, b.constant(0.0, value.type)), zero, bits)
        last = width_of(self.number) - 1
        sign = b.op(arith.ShRSIOp, bits, b.constant(last, self.number))
        turned = b.op(arith.OrIOp, sign, b.constant(-1 << last, self.number))
        bits = b.op(arith.XOrIOp, bits, turned)
        if self.is_descending:
            bits = b.op(arith.XOrIOp, bits, all_ones)
        return select(b, cmpf(b, "uno", value, value), all_ones, bits)
