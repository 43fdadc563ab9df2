"""
The kernel of `graph.sort` and `graph.argsort` of long rows: a radix sort from the lowest digit up (Knuth, The
Art of Computer Programming 3, 5.2.5, algorithm R).

    write the number of each element into one half of a scratch buffer
    if the elements are in order: nothing is to be done
    else: for each window of three digits, of 8 or 11 bits each, from the lowest up:
      count the digits
      for each digit:
        if one count is the number of elements: nothing is to be done
        else: make the counts the places where the numbers with each value of the digit begin and end
              put each number of one half to its place in the other half, from both ends of the half at once
    store the elements that have these numbers

Numbers are in the order of the elements (order_numbers.py). The sort is stable, so that the order by one
digit keeps the order by those below it. Numbers that have a digit in common wait for one another, as each
reads the place that the one before left: of the two ends one has its own places from the first one up, the
other from the last one down. argsort has positions in the lower bits of numbers of 64 bits or, of elements of
64 bits, beside them.

The highest digits, from the first one on in which numbers differ, tell most numbers apart: rows are sorted by
these first, and what is left is put in order by insertion. Only where that would take long are they sorted by
all digits.

Sorting gives back elements that are equal and not the same in the order that they had: where there are any,
zeros of two signs and NaN, these are copied from the source afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from .....dialects import graph, low, sched
from .....dialects.dims.expressions import upper_bound
from .....dialects.element_types import element_type_of
from ....indices.access import shape_of
from ....scalar.builder import INDEX
from ....scalar.ops import cmpf, convert, select
from ....scalar.rules import element_type
from .interface import ProgramPart
from .order_numbers import OrderNumbers
from .ordering import comes_before, key
from .sorted_row import SortedRow, write_rows

DIGITS = 3
"""Of a window, by which a row is sorted at once."""

BITS = 8
BITS_OF_LONG = 11
"""Of a digit: the counts of all digits of a window lie in the first cache."""

LEAST_LONG_EXTENT = 4096
"""From this many elements on, a pass less over them is worth clearing and summing up more counts."""

MOST_INSERTIONS = 4
"""A row of so many elements for each move by insertion is not sorted by its other digits."""

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
        self.stored = element_type_of(self.scratch[0].type)
        # Positions lie below numbers where they fit there.
        self.is_packed = self.is_argsort and len(self.scratch) == 1
        self.bits = BITS if upper_bound(self.extent) < LEAST_LONG_EXTENT else BITS_OF_LONG
        self.digits = min(DIGITS, -(-self.numbers.nbits // self.bits))
        self.window = self.digits * self.bits
        self.count = i32 if upper_bound(self.extent) < 1 << 31 else i64

    def write(self) -> None:
        code = self.code
        self.counts = code.alloc(self.count, (self.digits, 1 << self.bits), "counts")
        self.ends = code.alloc(self.count, (1 << self.bits,), "ends")
        with code.axis(self.extent, "k") as position:
            self._write_number(position)
        is_sorted = self._is_sorted()
        extent = select(code.b, is_sorted, code.index(0), code.index(self.extent))
        if self.numbers.nbits <= self.window:
            half = self._sort_window(code.index(0), code.index(0), extent)
        else:
            half = self._sort_windows(is_sorted, extent)
        with code.axis(self.extent, "k") as position:
            code.store(self._result(half, position), self.result, self.place(position))
        if self.numbers.has_special and not self.is_argsort:
            is_open = code.b.op(arith.XOrIOp, is_sorted, code.b.constant(True, i1))
            is_mixed = code.b.op(arith.AndIOp, is_open, self._has_special(half))
            code.branch(is_mixed, lambda: self._store_special(half))

    def _has_special(self, half: SSAValue) -> SSAValue:
        """Returns whether some elements are equal and not the same, as are zeros of two signs, and NaN."""
        code = self.code
        zero, one = code.b.constant(0, self.stored), code.b.constant(1, self.stored)

        def one_if_special(position: SSAValue) -> SSAValue:
            is_special = self.numbers.is_special(code, self._number(half, position))
            return select(code.b, is_special, one, zero)

        found = code.reduce(sched.CombineKind.ORI, self.extent, one_if_special, "special")
        return code.compare("ne", found, zero)

    def _number(self, half: SSAValue, position: SSAValue) -> SSAValue:
        return self.code.load(self.scratch[0], [*self.row, half, position])

    def _sort_windows(self, is_sorted: SSAValue, extent: SSAValue) -> SSAValue:
        """Sorts by the highest window, and by all of them if that is not enough."""
        code = self.code
        done, first = code.index(-1), self._highest_window()
        true, false = code.b.constant(True, i1), code.b.constant(False, i1)

        def goes_on(arguments: Sequence[SSAValue]) -> SSAValue:
            return code.compare("sge", arguments[0], code.index(0))

        def sort(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            shift, is_first, half = arguments
            half = self._sort_window(shift, half, extent)
            # The last one may begin in the one before it.
            last = code.index(self.numbers.nbits - self.window)
            following = code.integer(arith.AddiOp, shift, code.index(self.window))
            following = code.b.op(arith.MinSIOp, following, last)
            following = select(code.b, code.compare("eq", shift, last), done, following)
            is_partial = code.b.op(arith.AndIOp, is_first, code.compare("ne", shift, code.index(0)))
            is_enough = self._insert_all(
                half, select(code.b, is_partial, code.index(self.extent), code.index(0))
            )
            after_first = select(code.b, is_enough, done, code.index(0))
            return select(code.b, is_first, after_first, following), false, half

        start = (select(code.b, is_sorted, done, first), true, code.index(0))
        _, _, half = code.repeat(start, goes_on, sort, ("shift", "is_first", "half"))
        return half

    def _highest_window(self) -> SSAValue:
        """Returns the lowest bit of the window that begins, to a digit, where numbers differ first."""
        code, b = self.code, self.code.b

        def number(position: SSAValue) -> SSAValue:
            return self._number(code.index(0), position)

        ones = code.reduce(sched.CombineKind.ORI, self.extent, number, "ones")
        zeros = code.reduce(sched.CombineKind.ANDI, self.extent, number, "zeros")
        different = b.op(arith.XOrIOp, ones, zeros)
        shift = code.index(0)
        last = self.numbers.nbits - self.window
        for lowest in range(0, last, self.bits):
            above = b.constant(self.offset + lowest + self.window, self.stored)
            is_above = code.compare("ne", b.op(arith.ShRUIOp, different, above), b.constant(0, self.stored))
            shift = select(b, is_above, code.index(min(lowest + self.bits, last)), shift)
        return shift

    def _insert_all(self, half: SSAValue, extent: SSAValue) -> SSAValue:
        """
        Puts numbers that are nearly in order in their order. Returns whether they are, which is false where
        there is too much to do.
        """
        code = self.code
        one, most = code.index(1), code.index(self.extent // MOST_INSERTIONS)

        def goes_on(arguments: Sequence[SSAValue]) -> SSAValue:
            position, moved = arguments
            is_inside = code.compare("slt", position, extent)
            return code.b.op(arith.AndIOp, is_inside, code.compare("sle", moved, most))

        def insert(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            position, moved = arguments
            wanted = self._number(half, position)
            former = code.integer(arith.SubiOp, position, one)
            is_below = code.compare("ult", wanted, self._number(half, former))
            place = self._insert(half, position, is_below)
            distance = code.integer(arith.SubiOp, position, place)
            return code.integer(arith.AddiOp, position, one), code.integer(arith.AddiOp, moved, distance)

        _, moved = code.repeat((one, code.index(0)), goes_on, insert, ("k", "moved"))
        return code.compare("sle", moved, most)

    def _insert(self, half: SSAValue, position: SSAValue, is_below: SSAValue) -> SSAValue:
        """Moves a number down while it is below the one before it. Returns where it is then."""
        code, one = self.code, self.code.index(1)

        def goes_on(arguments: Sequence[SSAValue]) -> SSAValue:
            return arguments[1]

        def exchange(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (place, _), zero = arguments, code.index(0)
            former = code.integer(arith.SubiOp, place, one)
            for scratch in self.scratch:
                upper = code.load(scratch, [*self.row, half, place])
                code.store(code.load(scratch, [*self.row, half, former]), scratch, [*self.row, half, place])
                code.store(upper, scratch, [*self.row, half, former])
            before = code.b.op(arith.MaxSIOp, code.integer(arith.SubiOp, former, one), zero)
            moved = self._number(half, former)
            # The first one is not below itself.
            is_below = code.compare("ult", moved, self._number(half, before))
            return former, is_below

        place, _ = code.repeat((position, is_below), goes_on, exchange, ("place", "is_below"))
        return place

    def _sort_window(self, shift: SSAValue, half: SSAValue, extent: SSAValue) -> SSAValue:
        """
        Sorts the numbers below `extent`, which is all or none, by the digits from a bit on. Returns the half
        that they are in then.
        """
        code = self.code
        self._count_digits(shift, half, extent)

        def sort_by(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            digit, half = arguments
            return (self._sort_by(digit, shift, half),)

        is_empty = code.compare("eq", extent, code.index(0))
        digits = select(code.b, is_empty, code.index(0), code.index(self.digits))
        (half,) = code.loop(code.index(0), digits, code.index(1), (half,), sort_by, ("digit", "half"))
        return half

    def _each(self, end: SSAValue, body: Callable[[SSAValue], None]) -> None:
        """Loops over the positions of the row below `end`, one after the other."""

        def write(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            body(arguments[0])
            return ()

        self.code.loop(self.code.index(0), end, self.code.index(1), (), write, ("k",))

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

    def _is_sorted(self) -> SSAValue:
        """Returns whether no element comes before the one that stands before it."""
        code = self.code
        true = code.b.constant(True, i1)

        def element(position: SSAValue) -> SSAValue:
            return key(code, code.load(self.source, self.place(position)), self.type)

        def goes_on(arguments: Sequence[SSAValue]) -> SSAValue:
            position, is_sorted = arguments
            return code.b.op(arith.AndIOp, is_sorted, code.compare("slt", position, code.index(self.extent)))

        def compare(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            position, _ = arguments
            former = element(code.integer(arith.SubiOp, position, code.index(1)))
            is_before = comes_before(code, element(position), former, self.type, self.is_descending)
            following = code.integer(arith.AddiOp, position, code.index(1))
            return following, code.b.op(arith.XOrIOp, is_before, true)

        _, is_sorted = code.repeat((code.index(1), true), goes_on, compare, ("k", "is_sorted"))
        return is_sorted

    def _count_digits(self, shift: SSAValue, half: SSAValue, extent: SSAValue) -> None:
        """Counts the digits from a bit on."""
        code = self.code
        with code.axes([self.digits, 1 << self.bits], "d") as at:
            code.store(code.b.constant(0, self.count), self.counts, at)

        def count(position: SSAValue) -> None:
            number = self._number(half, position)
            for digit in range(self.digits):
                row = code.index(digit)
                self._next_of(self.counts, [row, self._digit(number, row, shift)], 1)

        self._each(extent, count)

    def _next_of(self, places: SSAValue, at: Sequence[SSAValue], step: int) -> SSAValue:
        """Returns an integer of a buffer, which is `step` more afterwards."""
        code = self.code
        place = code.load(places, at, "place")
        code.store(code.integer(arith.AddiOp, place, code.b.constant(step, self.count)), places, at)
        return place

    def _sort_by(self, digit: SSAValue, shift: SSAValue, half: SSAValue) -> SSAValue:
        """Sorts by a digit from one half into the other, and returns where the row is then."""
        code = self.code
        first = self._number(half, code.index(0))
        extent = code.b.op(arith.IndexCastOp, code.index(self.extent), result_type=self.count)
        of_first = code.load(self.counts, [digit, self._digit(first, digit, shift)])
        is_open = code.compare("ne", of_first, extent)
        other = code.integer(arith.SubiOp, code.index(1), half, "other")

        def move() -> None:
            self._sum_up(digit)
            pairs = code.index(self.extent // 2)
            last = code.index(self.extent - 1)

            def move_first(position: SSAValue) -> None:
                self._move(digit, shift, half, other, position)

            def move_both(position: SSAValue) -> None:
                move_first(position)
                opposite = code.integer(arith.SubiOp, last, position)
                self._move(digit, shift, half, other, opposite, is_first=False)

            self._each(pairs, move_both)
            # The one in the middle, where there is one.
            code.branch(
                code.compare("ne", code.integer(arith.AddiOp, pairs, pairs), code.index(self.extent)),
                lambda: move_first(pairs),
            )

        code.branch(is_open, move)
        return select(code.b, is_open, other, half)

    def _sum_up(self, digit: SSAValue) -> None:
        """
        Makes the counts of a digit the places where the numbers with each value of it begin, and writes where
        they end.
        """
        code = self.code

        def step(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value, begin = arguments
            end = code.integer(arith.AddiOp, begin, code.load(self.counts, [digit, value], "count"))
            code.store(begin, self.counts, [digit, value])
            last = code.integer(arith.SubiOp, end, code.b.constant(1, self.count))
            code.store(last, self.ends, [value])
            return (end,)

        code.count(1 << self.bits, (code.b.constant(0, self.count),), step, ("value", "begin"))

    def _move(
        self,
        digit: SSAValue,
        shift: SSAValue,
        half: SSAValue,
        other: SSAValue,
        position: SSAValue,
        is_first: bool = True,
    ) -> None:
        """Puts a number to the first of the places that are left for its digit, or to the last one."""
        code = self.code
        numbers = [code.load(scratch, [*self.row, half, position]) for scratch in self.scratch]
        value = self._digit(numbers[0], digit, shift)
        if is_first:
            place = self._next_of(self.counts, [digit, value], 1)
        else:
            place = self._next_of(self.ends, [value], -1)
        target = code.b.op(arith.IndexCastOp, place, result_type=INDEX)
        for number, scratch in zip(numbers, self.scratch, strict=True):
            code.store(number, scratch, [*self.row, other, target])

    @property
    def offset(self) -> int:
        """The lowest bit of a number, above its position if that is there."""
        return 32 if self.is_packed else 0

    def _digit(self, number: SSAValue, digit: SSAValue, shift: SSAValue) -> SSAValue:
        """Returns a digit of a window that begins at a bit, as an index."""
        code, b = self.code, self.code.b
        lowest = code.integer(arith.AddiOp, shift, code.index(self.offset))
        lowest = code.integer(arith.AddiOp, code.integer(arith.MuliOp, digit, code.index(self.bits)), lowest)
        shifted = b.op(arith.ShRUIOp, number, b.op(arith.IndexCastOp, lowest, result_type=self.stored))
        masked = b.op(arith.AndIOp, shifted, b.constant((1 << self.bits) - 1, self.stored))
        return b.op(arith.IndexCastOp, masked, result_type=INDEX)

    def _result(self, half: SSAValue, position: SSAValue) -> SSAValue:
        """Returns the element that has the number at a position, or the position beside the number."""
        code, b = self.code, self.code.b
        found = code.load(self.scratch[-1], [*self.row, half, position])
        if not self.is_argsort:
            return self.numbers.stored(code, found)
        if self.is_packed:
            return b.op(arith.AndIOp, found, b.constant((1 << 32) - 1, i64))
        return convert(b, low.Conversion.EXTUI, found, i64) if found.type != i64 else found

    def _store_special(self, half: SSAValue) -> None:
        """
        Stores the result where some elements have several numbers. The order of numbers is NaN, what comes
        before zeros, zeros, what comes after them, NaN.
        """
        code = self.code
        zero, one, extent = code.index(0), code.index(1), code.index(self.extent)
        lowest_is_negative = "slt" if not self.is_descending else "sge"

        def element(position: SSAValue) -> tuple[SSAValue, SSAValue]:
            stored = code.load(self.source, self.place(position))
            return stored, key(code, stored, self.type)

        def one_if(condition: SSAValue) -> SSAValue:
            return select(code.b, condition, one, zero)

        def count(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            position, below, before, nans = arguments
            _, value = element(position)
            bits = code.b.op(arith.BitcastOp, value, result_type=self.numbers.type)
            is_nan = cmpf(code.b, "uno", value, value)
            is_first = code.compare(lowest_is_negative, bits, code.b.constant(0, self.numbers.type))
            is_below = code.b.op(arith.AndIOp, is_nan, is_first)
            null = code.b.constant(0.0, value.type)
            is_before = cmpf(code.b, "ogt" if self.is_descending else "olt", value, null)
            sums = ((below, is_below), (before, is_before), (nans, is_nan))
            return [code.integer(arith.AddiOp, each, one_if(found)) for each, found in sums]

        below, before, nans = code.loop(
            zero, extent, one, (zero, zero, zero), count, ("k", "below", "before", "nans")
        )

        def store(position: SSAValue) -> None:
            at = code.integer(arith.AddiOp, position, below)
            code.store(self._result(half, at), self.result, self.place(position))

        self._each(code.integer(arith.SubiOp, extent, nans), store)

        def copy(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            position, of_zero, of_nan = arguments
            stored, value = element(position)
            is_zero = cmpf(code.b, "oeq", value, code.b.constant(0.0, value.type))
            is_nan = cmpf(code.b, "uno", value, value)
            code.branch(is_zero, lambda: code.store(stored, self.result, self.place(of_zero)))
            code.branch(is_nan, lambda: code.store(stored, self.result, self.place(of_nan)))
            return [
                code.integer(arith.AddiOp, of_zero, one_if(is_zero)),
                code.integer(arith.AddiOp, of_nan, one_if(is_nan)),
            ]

        start = (before, code.integer(arith.SubiOp, extent, nans))
        code.loop(zero, extent, one, start, copy, ("k", "zero", "nan"))
