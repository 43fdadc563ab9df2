"""
Sorts the numbers of a row by digits, from the lowest one up, between the two halves of its scratch buffers.

    for each window of two or three digits of 8 to 11 bits, from the lowest up:
      count the digits
      for each digit:
        if one count is the number of numbers: nothing is to be done
        else: make the counts the places where the numbers with each value of the digit begin and end
              put each number of one half to its place in the other half, from both ends of the half at once

The sort is stable, so that the order by one digit keeps the order by those below it. Numbers that have a
digit in common wait for one another, as each reads the place that the one before left: of the two ends of a
row one has its own places from the first one up, the other from the last one down.

The highest bits, from the first one on in which numbers differ, tell most numbers apart: rows are sorted by
a window of these first, as long as the number of elements asks for, and what is left is put in order by
insertion. Only where that would take long are they sorted by all digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import SSAValue

from ......dialects import sched
from ......dialects.dims.expressions import upper_bound
from ......dialects.element_types import element_type_of, is_float
from .....scalar.builder import INDEX
from .....scalar.ops import select
from .bit_length import bit_length
from .sorted_row import SortedRow

LEAST_BITS = 8
"""Of a digit: clearing and summing up 256 counts is little beside 64 elements."""

MOST_BITS = 11
"""2048 places lie in the first cache, and three digits tell all numbers of 32 bits apart."""

SPARE_BITS = 4
"""A window of so many bits more than number the elements leaves few that are equal in it, of integers."""

SPARE_BITS_OF_FLOATS = {32: 10, 64: 12}
"""The highest bits of floats are those of the exponent, which take few of their values."""

MOST_BITS_OF_TWO = 24
"""Where more bits are needed, two of the longest digits leave too much to insertion."""

BLOCK = 32
"""Numbers of which it is looked at once whether they are in order, before they are looked at one by one."""

MOST_INSERTIONS = 4
"""A row of so many elements for each move by insertion is not sorted by its other digits."""


def digits_of(extent: int, nbits: int, is_float: bool) -> tuple[int, int]:
    """Returns how many digits a window has for so many numbers, and how many bits a digit has."""
    spare = SPARE_BITS_OF_FLOATS[nbits] if is_float else SPARE_BITS
    needed = min(nbits, (extent - 1).bit_length() + spare)
    # The first digit of floats of 64 bits is nearly all exponent.
    if needed <= MOST_BITS_OF_TWO and not (is_float and nbits == 64):
        digits, bits = 2, -(-needed // 2)
    else:
        # As long as they may be where nothing is left to insertion then.
        digits, bits = 3, MOST_BITS if nbits <= 3 * MOST_BITS else -(-needed // 3)
    bits = min(max(bits, LEAST_BITS), MOST_BITS)
    return min(digits, -(-nbits // bits)), bits


class DigitSort:
    """
    Sorts numbers of `nbits` bits, in the first of the scratch buffers from bit `offset` on. These have two
    halves for `row`.
    """

    def __init__(self, row: SortedRow, scratch: Sequence[SSAValue], nbits: int, offset: int):
        self.code, self.within, self.scratch = row.code, row.within, scratch
        self.extent, self.nbits, self.offset = row.extent, nbits, offset
        self.stored = element_type_of(self.scratch[0].type)
        most = upper_bound(self.extent)
        self.digits, self.bits = digits_of(most, nbits, is_float(row.type))
        self.window = self.digits * self.bits
        self.count = i32 if most < 1 << 31 else i64
        self.counts = self.code.alloc(self.count, (self.digits, 1 << self.bits), "counts")
        self.ends = self.code.alloc(self.count, (1 << self.bits,), "ends")

    def sort(self, count: SSAValue) -> SSAValue:
        """Sorts the first `count` numbers of the first half. Returns the half that they are in then."""
        if self.nbits <= self.window:
            return self._sort_window(self.code.index(0), self.code.index(0), count)
        return self._sort_windows(count)

    def number(self, half: SSAValue, position: SSAValue) -> SSAValue:
        return self.code.load(self.scratch[0], [*self.within, half, position])

    def _sort_windows(self, count: SSAValue) -> SSAValue:
        """Sorts by the highest window, and by all of them if that is not enough."""
        code = self.code
        done, first = code.index(-1), self._highest_window()
        true, false = code.b.constant(True, i1), code.b.constant(False, i1)

        def goes_on(arguments: Sequence[SSAValue]) -> SSAValue:
            return code.compare("sge", arguments[0], code.index(0))

        def sort(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            shift, is_first, half = arguments
            half = self._sort_window(shift, half, count)
            # The last one may begin in the one before it.
            last = code.index(self.nbits - self.window)
            following = code.integer(arith.AddiOp, shift, code.index(self.window))
            following = code.b.op(arith.MinSIOp, following, last)
            following = select(code.b, code.compare("eq", shift, last), done, following)
            is_partial = code.b.op(arith.AndIOp, is_first, code.compare("ne", shift, code.index(0)))
            is_enough = self._insert_all(half, select(code.b, is_partial, count, code.index(0)))
            after_first = select(code.b, is_enough, done, code.index(0))
            return select(code.b, is_first, after_first, following), false, half

        _, _, half = code.repeat((first, true, code.index(0)), goes_on, sort, ("shift", "is_first", "half"))
        return half

    def _highest_window(self) -> SSAValue:
        """Returns the lowest bit of the window whose highest one is the first in which numbers differ."""
        code, b = self.code, self.code.b

        def number(position: SSAValue) -> SSAValue:
            return self.number(code.index(0), position)

        ones = code.reduce(sched.CombineKind.ORI, self.extent, number, "ones")
        zeros = code.reduce(sched.CombineKind.ANDI, self.extent, number, "zeros")
        different = b.op(arith.XOrIOp, ones, zeros)
        return bit_length(
            code, b.op(arith.ShRUIOp, different, b.constant(self.offset + self.window, self.stored))
        )

    def _insert_all(self, half: SSAValue, count: SSAValue) -> SSAValue:
        """
        Puts `count` numbers that are nearly in order in their order. Returns whether they are, which is false
        where there is too much to do. Blocks that are in order are found with vectors.
        """
        code = self.code
        most = code.index(self.extent // MOST_INSERTIONS)
        last = code.integer(arith.SubiOp, count, code.index(BLOCK))

        def is_below(position: SSAValue) -> SSAValue:
            former = code.integer(arith.SubiOp, position, code.index(1))
            return code.compare("ult", self.number(half, position), self.number(half, former))

        def goes_on_to(end: SSAValue) -> Callable[[Sequence[SSAValue]], SSAValue]:
            def goes_on(arguments: Sequence[SSAValue]) -> SSAValue:
                position, moved = arguments
                is_inside = code.compare("sle", position, end)
                return code.b.op(arith.AndIOp, is_inside, code.compare("sle", moved, most))

            return goes_on

        def insert(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            position, moved = arguments
            place = self._insert(half, position, is_below(position))
            distance = code.integer(arith.SubiOp, position, place)
            following = code.integer(arith.AddiOp, position, code.index(1))
            return following, code.integer(arith.AddiOp, moved, distance)

        def insert_block(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            position, moved = arguments

            def one_if_below(offset: SSAValue) -> SSAValue:
                found = is_below(code.integer(arith.AddiOp, position, offset))
                return select(code.b, found, code.b.constant(1, i32), code.b.constant(0, i32))

            below = code.reduce(sched.CombineKind.ORI, BLOCK, one_if_below, "below")
            is_open = code.compare("ne", below, code.b.constant(0, i32))
            following = code.integer(arith.AddiOp, position, code.index(BLOCK))
            begin = select(code.b, is_open, position, following)
            end = code.integer(arith.SubiOp, following, code.index(1))
            _, moved = code.repeat((begin, moved), goes_on_to(end), insert, ("k", "moved"))
            return following, moved

        start = (code.index(1), code.index(0))
        rest = code.repeat(start, goes_on_to(last), insert_block, ("k", "moved"))
        end = code.integer(arith.SubiOp, count, code.index(1))
        _, moved = code.repeat(rest, goes_on_to(end), insert, ("k", "moved"))
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
                upper = code.load(scratch, [*self.within, half, place])
                code.store(
                    code.load(scratch, [*self.within, half, former]), scratch, [*self.within, half, place]
                )
                code.store(upper, scratch, [*self.within, half, former])
            before = code.b.op(arith.MaxSIOp, code.integer(arith.SubiOp, former, one), zero)
            moved = self.number(half, former)
            # The first one is not below itself.
            is_below = code.compare("ult", moved, self.number(half, before))
            return former, is_below

        place, _ = code.repeat((position, is_below), goes_on, exchange, ("place", "is_below"))
        return place

    def _sort_window(self, shift: SSAValue, half: SSAValue, count: SSAValue) -> SSAValue:
        """Sorts `count` numbers by the digits from a bit on; returns the half that they are in then."""
        code = self.code
        self._count_digits(shift, half, count)

        def sort_by(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            digit, half = arguments
            return (self._sort_by(digit, shift, half, count),)

        (half,) = code.count(self.digits, (half,), sort_by, ("digit", "half"))
        return half

    def _from_both_ends(self, count: SSAValue, body: Callable[[int, SSAValue], None]) -> None:
        """Gives `body` the number of an end, 0 or 1, and each position below `count` from there on."""
        code = self.code
        pairs = code.integer(arith.ShRUIOp, count, code.index(1))
        last = code.integer(arith.SubiOp, count, code.index(1))

        def both(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (position,) = arguments
            body(0, position)
            body(1, code.integer(arith.SubiOp, last, position))
            return ()

        code.loop(code.index(0), pairs, code.index(1), (), both, ("k",))
        # The one in the middle, where there is one.
        is_odd = code.compare("ne", code.integer(arith.AddiOp, pairs, pairs), count)
        code.branch(is_odd, lambda: body(0, pairs))

    def _count_digits(self, shift: SSAValue, half: SSAValue, count: SSAValue) -> None:
        """Counts the digits from a bit on."""
        code = self.code
        with code.axes([self.digits, 1 << self.bits], "e") as at:
            code.store(code.b.constant(0, self.count), self.counts, at)

        def count_number(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            number = self.number(half, arguments[0])
            for digit in range(self.digits):
                value = self._digit(number, code.index(digit), shift)
                self._next_of(self.counts, [code.index(digit), value], 1)
            return ()

        code.loop(code.index(0), count, code.index(1), (), count_number, ("k",))

    def _next_of(self, places: SSAValue, at: Sequence[SSAValue], step: int) -> SSAValue:
        """Returns an integer of a buffer, which is `step` more afterwards."""
        code = self.code
        place = code.load(places, at, "place")
        code.store(code.integer(arith.AddiOp, place, code.b.constant(step, self.count)), places, at)
        return place

    def _sort_by(self, digit: SSAValue, shift: SSAValue, half: SSAValue, count: SSAValue) -> SSAValue:
        """Sorts by a digit from one half into the other, and returns where the numbers are then."""
        code = self.code
        first = self._digit(self.number(half, code.index(0)), digit, shift)
        is_open = code.compare(
            "ne",
            self._count_of(digit, first),
            code.b.op(arith.IndexCastOp, count, result_type=self.count),
        )
        other = code.integer(arith.SubiOp, code.index(1), half, "other")

        def move() -> None:
            self._sum_up(digit)
            self._from_both_ends(
                count, lambda end, position: self._move(end, digit, shift, half, other, position)
            )

        code.branch(is_open, move)
        return select(code.b, is_open, other, half)

    def _count_of(self, digit: SSAValue, value: SSAValue) -> SSAValue:
        """Returns how many numbers have a value of a digit."""
        return self.code.load(self.counts, [digit, value], "count")

    def _sum_up(self, digit: SSAValue) -> None:
        """
        Makes the counts of a digit the places where the numbers with each value of it begin, and writes where
        they end.
        """
        code = self.code

        def step(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value, begin = arguments
            end = code.integer(arith.AddiOp, begin, self._count_of(digit, value))
            code.store(begin, self.counts, [digit, value])
            last = code.integer(arith.SubiOp, end, code.b.constant(1, self.count))
            code.store(last, self.ends, [value])
            return (end,)

        code.count(1 << self.bits, (code.b.constant(0, self.count),), step, ("value", "begin"))

    def _move(
        self,
        end: int,
        digit: SSAValue,
        shift: SSAValue,
        half: SSAValue,
        other: SSAValue,
        position: SSAValue,
    ) -> None:
        """Puts a number to the first of the places that are left for its digit, or to the last one."""
        code = self.code
        numbers = [code.load(scratch, [*self.within, half, position]) for scratch in self.scratch]
        value = self._digit(numbers[0], digit, shift)
        if end == 0:
            place = self._next_of(self.counts, [digit, value], 1)
        else:
            place = self._next_of(self.ends, [value], -1)
        target = code.b.op(arith.IndexCastOp, place, result_type=INDEX)
        for number, scratch in zip(numbers, self.scratch, strict=True):
            code.store(number, scratch, [*self.within, other, target])

    def _digit(self, number: SSAValue, digit: SSAValue, shift: SSAValue) -> SSAValue:
        """Returns a digit of a window that begins at a bit, as an index."""
        code, b = self.code, self.code.b
        lowest = code.integer(arith.AddiOp, shift, code.index(self.offset))
        lowest = code.integer(arith.AddiOp, code.integer(arith.MuliOp, digit, code.index(self.bits)), lowest)
        shifted = b.op(arith.ShRUIOp, number, b.op(arith.IndexCastOp, lowest, result_type=self.stored))
        masked = b.op(arith.AndIOp, shifted, b.constant((1 << self.bits) - 1, self.stored))
        return b.op(arith.IndexCastOp, masked, result_type=INDEX)
