"""
Counts the values of a row that has few: what comes out of a sort of numbers are runs of them, as long as
there are numbers with each value.

    for each number, as long as there are few values:
      find its value's place in a table, from the place on that a product of its bits says
      count it there
    the values are the numbers that are to be sorted

The first number stands in all places of the table that no other value has taken. What is counted in these is
not used: there are as many of it as other values leave.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue

from ......dialects.dims.expressions import upper_bound
from ......dialects.element_types import element_type_of, width_of
from .....scalar.builder import INDEX
from .....scalar.ops import select
from .bucket_sort import BucketSort
from .digit_sort import DigitSort
from .sorted_row import SortedRow

LEAST_EXTENT = 4096
"""Shorter rows have so few values seldom."""

MOST_VALUES = 512
LEAST_SHARE = 64
"""There are few values if there are so many or fewer, and one in so many elements or fewer."""

FREE_PLACES = 4
"""Places of the table for each value, so that the next free one is near."""

MULTIPLIERS: dict[Attribute, int] = {i32: 0x9E3779B1, i64: 0x9E3779B97F4A7C15}
"""The odd integers next to 2^32 and 2^64 over the golden ratio (Knuth, 6.4): near numbers lie far apart."""


class FewValues:
    """
    Counts the values of the numbers in the first half of a row. `otherwise` sorts the values or, where there
    are many, the numbers.
    """

    def __init__(self, row: SortedRow, digits: DigitSort, otherwise: DigitSort | BucketSort):
        self.code, self.row, self.digits, self.otherwise = row.code, row, digits, otherwise
        self.stored = element_type_of(row.scratch[0].type)
        self.most = min(MOST_VALUES, upper_bound(row.extent) // LEAST_SHARE)
        self.bits = (FREE_PLACES * self.most - 1).bit_length()
        self.keys = self.code.alloc(self.stored, (1 << self.bits,), "keys")
        self.counts = self.code.alloc(digits.count, (1 << self.bits,), "counts")
        self.places = self.code.alloc(digits.count, (self.most + 1,), "places")

    def sort(self) -> SSAValue:
        """Sorts the numbers of the first half. Returns the half that they are in then."""
        code, extent = self.code, self.code.index(self.row.extent)
        self.first = self.digits.number(code.index(0), code.index(0))
        found = self._count()
        is_few = code.compare("sle", found, code.index(self.most))
        none = code.index(0)
        rest = self._take_values(select(code.b, is_few, found, none))
        half = self.otherwise.sort(select(code.b, is_few, found, extent))
        return self._write_runs(half, select(code.b, is_few, found, none), rest)

    def _count(self) -> SSAValue:
        """Returns how many values there are, or one more than are few."""
        code, type = self.code, self.digits.count
        zero, none, one = code.index(0), code.b.constant(0, type), code.b.constant(1, type)
        # In memory, as it changes in a branch that few numbers take.
        found = code.alloc(type, (1,), "found")
        code.store(one, found, [zero])
        with code.axis(1 << self.bits, "place") as place:
            code.store(self.first, self.keys, [place])

        def goes_on(arguments: Sequence[SSAValue]) -> SSAValue:
            is_inside = code.compare("slt", arguments[0], code.index(self.row.extent))
            is_few = code.compare("sle", code.load(found, [zero]), code.b.constant(self.most, type))
            return code.b.op(arith.AndIOp, is_inside, is_few)

        def count(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (position,) = arguments
            number = self.digits.number(zero, position)
            place = self._place(number)

            def take_place() -> None:
                code.store(number, self.keys, [place])
                code.store(none, self.counts, [place])
                value = code.load(found, [zero])
                kept = code.b.op(arith.IndexCastOp, place, result_type=type)
                at = code.b.op(arith.IndexCastOp, value, result_type=INDEX)
                code.store(kept, self.places, [at])
                code.store(code.integer(arith.AddiOp, value, one), found, [zero])

            code.branch(code.compare("ne", code.load(self.keys, [place], "key"), number), take_place)
            count = code.load(self.counts, [place], "count")
            code.store(code.integer(arith.AddiOp, count, one), self.counts, [place])
            return (code.integer(arith.AddiOp, position, code.index(1)),)

        code.repeat((zero,), goes_on, count, ("k",))
        return code.b.op(arith.IndexCastOp, code.load(found, [zero]), result_type=INDEX)

    def _place(self, number: SSAValue) -> SSAValue:
        """Returns the place of a value, or the free one where it is to be."""
        code, b = self.code, self.code.b
        width = width_of(self.stored)
        multiplier = b.constant(MULTIPLIERS[self.stored] - (1 << width), self.stored)
        product = code.integer(arith.MuliOp, number, multiplier)
        home = b.op(arith.ShRUIOp, product, b.constant(width - self.bits, self.stored))

        def goes_on(arguments: Sequence[SSAValue]) -> SSAValue:
            key = code.load(self.keys, [arguments[0]], "key")
            is_other = code.compare("ne", key, number)
            return code.b.op(arith.AndIOp, is_other, code.compare("ne", key, self.first))

        def advance(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            following = code.integer(arith.AddiOp, arguments[0], code.index(1))
            return (code.b.op(arith.AndIOp, following, code.index((1 << self.bits) - 1)),)

        start = (b.op(arith.IndexCastOp, home, result_type=INDEX),)
        (place,) = code.repeat(start, goes_on, advance, ("place",))
        return place

    def _take_values(self, found: SSAValue) -> SSAValue:
        """Makes the values the first numbers of the first half. Returns how many have the first value."""
        code = self.code

        def take(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value, rest = arguments
            place = code.load(self.places, [value], "place")
            place = code.b.op(arith.IndexCastOp, place, result_type=INDEX)
            key = code.load(self.keys, [place], "key")
            code.store(key, self.row.scratch[0], [*self.row.within, code.index(0), value])
            return (code.integer(arith.SubiOp, rest, self._count_at(place)),)

        start = (code.index(self.row.extent),)
        (rest,) = code.loop(code.index(1), found, code.index(1), start, take, ("value", "rest"))
        return rest

    def _count_at(self, place: SSAValue) -> SSAValue:
        count = self.code.load(self.counts, [place], "count")
        return self.code.b.op(arith.IndexCastOp, count, result_type=INDEX)

    def _write_runs(self, half: SSAValue, found: SSAValue, rest: SSAValue) -> SSAValue:
        """Writes as many numbers as there are for each of the sorted values. Returns the half of them."""
        code = self.code
        other = code.integer(arith.SubiOp, code.index(1), half, "other")

        def write(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value, begin = arguments
            number = self.digits.number(half, value)
            is_first = code.compare("eq", number, self.first)
            count = select(code.b, is_first, rest, self._count_at(self._place(number)))
            end = code.integer(arith.AddiOp, begin, count)

            def repeat(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
                code.store(number, self.row.scratch[0], [*self.row.within, other, arguments[0]])
                return ()

            code.loop(begin, end, code.index(1), (), repeat, ("k",))
            return (end,)

        code.loop(code.index(0), found, code.index(1), (code.index(0),), write, ("value", "begin"))
        return select(code.b, code.compare("ne", found, code.index(0)), other, half)
