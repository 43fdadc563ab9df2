"""
Sorts the numbers of a long row by groups: each number is moved once, into one of the groups that are in
order, and these are short enough to be sorted by a network (row_network.py).

    if there are few numbers: sort them as one group
    else:
      write the key of each number: of integers the highest bits of the distance from one of them, of floats
        those of the sign, of the exponents next to the greatest one, and of the significand
      count the keys
      put as many keys that follow one another into each group as it has place for: one that is there more
        often than that has a group of its own
      move each number of one half of the scratch buffer into its group in the other half
      sort each group back into the first half; if it is too large, copy it
      if what was copied are not numbers that are all equal: sort all by digits (digit_sort.py)

Each group takes some of many keys, so that groups have nearly the same size for elements of many
distributions. Few groups are written to at a time: as many lines as the first cache has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue

from ......dialects import low, sched
from ......dialects.dims.expressions import Extent, quotient, upper_bound
from .....scalar.builder import INDEX
from .....scalar.ops import convert, select
from . import row_network
from .bit_length import bit_length
from .digit_sort import DigitSort
from .network import lanes_of
from .sort_numbers import POSITION_BITS, SortNumbers
from .sorted_row import SortedRow

LEAST_BITS, MOST_BITS = 10, 17
"""Of a key."""

ELEMENTS_OF_A_KEY = 16
"""So few have one key, if as many have each."""

MOST_OF_A_GROUP = 4096

SAMPLES = 8
"""Of integers, among which one is looked for that is there many times."""

BITS_OF_EXPONENTS = 7
"""Of the exponents that keys tell apart, up to that of the greatest float; those below have one key."""


Place = Callable[[SSAValue], list[SSAValue]]
"""Returns the indices of the number at a position."""


def key_bits(extent: Extent) -> int:
    """Returns how many bits the keys of so many numbers have."""
    return min(max((upper_bound(extent) // ELEMENTS_OF_A_KEY).bit_length(), LEAST_BITS), MOST_BITS)


def scratch_of(types: Sequence[Attribute], extent: Extent) -> list[tuple[Attribute, Sequence[Extent]]]:
    """Returns the element types and shapes of the buffers of a row of numbers of `types`."""
    # Each two that follow one another have more elements than one may have.
    groups = 2 * quotient(extent, MOST_OF_A_GROUP) + 2
    own: list[tuple[Attribute, Sequence[Extent]]] = [
        (i32, (extent,)),
        (i32, (1 << key_bits(extent),)),
        (i64, (groups + 1,)),
    ]
    return [*own, *row_network.scratch_of(types, MOST_OF_A_GROUP)]


def spare_places(types: Sequence[Attribute]) -> int:
    """Returns how many places there are behind the numbers of a half, so that whole vectors can be copied."""
    return lanes_of(types[0])


class BucketSort:
    """
    Sorts the numbers in the first half of the scratch buffers of `row`, or has `digits` sort them. Each half
    has place for `spare_places` numbers more. `others` are the buffers of `scratch_of`.
    """

    def __init__(
        self,
        row: SortedRow,
        numbers: SortNumbers,
        digits: DigitSort,
        scratch: Sequence[SSAValue],
        extent: Extent,
        others: Sequence[SSAValue],
    ):
        self.code, self.within, self.scratch = row.code, row.within, scratch
        self.numbers, self.digits, self.extent = numbers, digits, extent
        self.keys, self.counts, self.places, *network = others
        self.network = row_network.RowNetwork(self.code, numbers.types, network, self.within, MOST_OF_A_GROUP)
        self.bits = key_bits(extent)
        self.number = numbers.numbers.type

    def sort(self, count: SSAValue) -> SSAValue:
        """Sorts `count` numbers of the first half: all, or few. Returns the half that they are in then."""
        code, zero = self.code, self.code.index(0)
        # In memory, as it is told in branches.
        half = code.alloc(i64, (1,), "half")

        def tell(value: SSAValue) -> None:
            code.store(code.b.op(arith.IndexCastOp, value, result_type=i64), half, [zero])

        def as_a_group() -> None:
            self._sort_group(zero, zero, count)
            tell(zero)

        def many() -> None:
            self._write_keys()
            self._count_keys()
            are_sorted = self._sort_groups()
            code.branch(are_sorted, lambda: tell(zero), lambda: tell(self.digits.sort(count)))

        is_few = code.compare("ule", count, code.index(MOST_OF_A_GROUP))
        code.branch(is_few, as_a_group, many)
        return code.b.op(arith.IndexCastOp, code.load(half, [zero]), result_type=INDEX)

    def _first_number(self, position: SSAValue) -> SSAValue:
        return self._number(self.code.index(0), position)

    def _number(self, half: SSAValue, position: SSAValue) -> SSAValue:
        """Returns the number of the element at a position of a half, without its position."""
        number = self.digits.number(half, position)
        if not self.numbers.is_packed:
            return number
        shifted = self.code.b.op(arith.ShRUIOp, number, self.code.b.constant(POSITION_BITS, i64))
        return convert(self.code.b, low.Conversion.TRUNCI, shifted, self.number)

    def _write_keys(self) -> None:
        code = self.code
        key_of = self._float_key() if self.numbers.numbers.has_special else self._integer_key()
        with code.axis(self.extent, "k") as position:
            key = key_of(self._first_number(position))
            if key.type != i32:
                key = convert(code.b, low.Conversion.TRUNCI, key, i32)
            code.store(key, self.keys, [*self.within, position])

    def _integer_key(self) -> Callable[[SSAValue], SSAValue]:
        """
        Returns what gives the key of an integer's number: the highest bits that distances have from a number
        which has a key for itself, as it may be there many times.
        """
        code, common = self.code, self._common_number()
        half = 1 << (self.bits - 1)

        def side_and_distance(number: SSAValue) -> tuple[SSAValue, SSAValue]:
            is_above = code.compare("uge", number, common)
            upper, lower = (
                code.integer(arith.SubiOp, *pair) for pair in ((number, common), (common, number))
            )
            return is_above, select(code.b, is_above, upper, lower)

        def distance(position: SSAValue) -> SSAValue:
            return side_and_distance(self._first_number(position))[1]

        greatest = code.reduce(sched.CombineKind.MAXUI, self.extent, distance, "greatest")
        above = code.b.op(arith.ShRUIOp, greatest, code.b.constant(self.bits - 1, self.number))
        shift = code.b.op(arith.IndexCastOp, bit_length(code, above), result_type=self.number)

        def key(number: SSAValue) -> SSAValue:
            is_above, distance = side_and_distance(number)
            place = code.b.op(arith.ShRUIOp, distance, shift)
            return self._key_on_side(is_above, self._apart_from_zero(place, distance), half)

        return key

    def _common_number(self) -> SSAValue:
        """Returns the number that is there most often among a few, which stand far from one another."""
        code, extent = self.code, self.code.index(self.extent)

        def sample(place: SSAValue) -> SSAValue:
            product = code.integer(arith.MuliOp, place, extent)
            return self._first_number(code.b.op(arith.DivUIOp, product, code.index(SAMPLES)))

        def choose(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            place, most, common = arguments
            number = sample(place)

            def one_if_equal(other: SSAValue) -> SSAValue:
                is_equal = code.compare("eq", sample(other), number)
                return select(code.b, is_equal, code.b.constant(1, i32), code.b.constant(0, i32))

            count = code.reduce(sched.CombineKind.ADDI, SAMPLES, one_if_equal, "count")
            is_more = code.compare("ugt", count, most)
            return select(code.b, is_more, count, most), select(code.b, is_more, number, common)

        start = (code.b.constant(0, i32), code.b.constant(0, self.number))
        _, common = code.count(SAMPLES, start, choose, ("k", "most", "common"))
        return common

    def _apart_from_zero(self, place: SSAValue, distance: SSAValue) -> SSAValue:
        """Returns a place among the keys of a side, but 0 for the distance 0 alone."""
        code = self.code
        one_or_zero = code.b.op(arith.MinUIOp, distance, code.b.constant(1, self.number))
        return code.b.op(arith.MaxUIOp, place, one_or_zero)

    def _key_on_side(self, is_above: SSAValue, place: SSAValue, half: int) -> SSAValue:
        """Returns the key of a place on one of two sides, of which the lower one is turned around."""
        code = self.code
        upper = code.integer(arith.AddiOp, place, code.b.constant(half, self.number))
        lower = code.integer(arith.SubiOp, code.b.constant(half - 1, self.number), place)
        return select(code.b, is_above, upper, lower)

    def _float_key(self) -> Callable[[SSAValue], SSAValue]:
        """
        Returns what gives the key of a float's number. Infinity and NaN have one of their own, and so have
        zeros, of each sign.
        """
        code, numbers = self.code, self.numbers.numbers

        def constant(value: int) -> SSAValue:
            return code.b.constant(value, self.number)

        def magnitude(position: SSAValue) -> SSAValue:
            bits = numbers.magnitude(code, self._first_number(position))
            is_finite = code.compare("ult", bits, constant(numbers.infinity))
            return select(code.b, is_finite, bits, constant(0))

        greatest = code.reduce(sched.CombineKind.MAXUI, self.extent, magnitude, "greatest")
        exponents = (1 << BITS_OF_EXPONENTS) - 1
        least = code.integer(arith.SubiOp, greatest, constant(exponents << numbers.significand))
        least = code.b.op(arith.MaxSIOp, least, constant(0))
        half = 1 << (self.bits - 1)
        shift = numbers.significand + BITS_OF_EXPONENTS - (self.bits - 1)

        def key(number: SSAValue) -> SSAValue:
            bits = numbers.magnitude(code, number)
            distance = code.b.op(arith.MaxSIOp, code.integer(arith.SubiOp, bits, least), constant(0))
            place = code.b.op(arith.ShRUIOp, distance, constant(shift))
            is_finite = code.compare("ult", bits, constant(numbers.infinity))
            place = select(code.b, is_finite, self._apart_from_zero(place, bits), constant(half - 1))
            # The numbers of floats that are not below zero have the highest bit.
            return self._key_on_side(code.compare("slt", number, constant(0)), place, half)

        return key

    def _count_keys(self) -> None:
        code = self.code
        with code.axis(1 << self.bits, "key") as key:
            code.store(code.b.constant(0, i32), self.counts, [*self.within, key])

        def count(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            key = self._key(arguments[0])
            number = code.integer(arith.AddiOp, self._count(key), code.b.constant(1, i32))
            code.store(number, self.counts, [*self.within, key])
            return ()

        code.count(self.extent, (), count, ("k",))

    def _key(self, position: SSAValue) -> SSAValue:
        key = self.code.load(self.keys, [*self.within, position], "key")
        return self.code.b.op(arith.IndexCastOp, key, result_type=INDEX)

    def _count(self, key: SSAValue) -> SSAValue:
        """Returns how often a key is there or, later, the group that it belongs to."""
        return self.code.load(self.counts, [*self.within, key], "count")

    def _sort_groups(self) -> SSAValue:
        """Moves all numbers into groups, and sorts these. Returns whether all of them are sorted."""
        code, zero, one = self.code, self.code.index(0), self.code.index(1)
        groups = self._assign_groups()
        # In memory, as it is told in a branch.
        differing = code.alloc(self.number, (1,), "differing")
        nothing = code.b.constant(0, self.number)
        code.store(nothing, differing, [zero])

        def move(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (position,) = arguments
            group = code.b.op(arith.IndexCastOp, self._count(self._key(position)), result_type=INDEX)
            at = [*self.within, code.integer(arith.AddiOp, group, one)]
            place = code.load(self.places, at, "place")
            code.store(code.integer(arith.AddiOp, place, code.b.constant(1, i64)), self.places, at)
            place = code.b.op(arith.IndexCastOp, place, result_type=INDEX)
            for scratch in self.scratch:
                number = code.load(scratch, [*self.within, code.index(0), position])
                code.store(number, scratch, [*self.within, one, place])
            return ()

        code.count(self.extent, (), move, ("k",))

        def sort_group(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (group,) = arguments
            begin, end = (self._place(each) for each in (group, code.integer(arith.AddiOp, group, one)))
            size = code.integer(arith.SubiOp, end, begin)

            def keep() -> None:
                bits = code.b.op(arith.OrIOp, code.load(differing, [zero]), self._differing_bits(begin, end))
                code.store(bits, differing, [zero])
                self._copy_group(begin, size)

            fits = code.compare("ule", size, code.index(MOST_OF_A_GROUP))
            code.branch(fits, lambda: self._sort_group(one, begin, size), keep)
            return ()

        code.loop(zero, groups, one, (), sort_group, ("group",))
        return code.compare("eq", code.load(differing, [zero]), nothing)

    def _differing_bits(self, begin: SSAValue, end: SSAValue) -> SSAValue:
        """Returns the bits in which numbers of the second half, from one to before another, differ."""
        code, one = self.code, self.code.index(1)
        first = self._number(one, begin)

        def add(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            position, bits = arguments
            number = self._number(one, position)
            return (code.b.op(arith.OrIOp, bits, code.b.op(arith.XOrIOp, number, first)),)

        (bits,) = code.loop(begin, end, one, (code.b.constant(0, self.number),), add, ("k", "bits"))
        return bits

    def _place(self, group: SSAValue) -> SSAValue:
        """Returns where a group begins, after all numbers are moved: where the one before it ends."""
        place = self.code.load(self.places, [*self.within, group], "place")
        return self.code.b.op(arith.IndexCastOp, place, result_type=INDEX)

    def _assign_groups(self) -> SSAValue:
        """
        Writes the group of each key in the place of its count, and behind the number of each group where it
        begins. Returns how many groups there are.
        """
        code, zero, one = self.code, self.code.index(0), self.code.index(1)
        code.store(code.b.constant(0, i64), self.places, [*self.within, zero])

        def step(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            key, begin, first, group = arguments
            count = code.b.op(arith.IndexCastOp, self._count(key), result_type=INDEX)
            end = code.integer(arith.AddiOp, begin, count)
            size = code.integer(arith.SubiOp, end, first)
            is_full = code.compare("ugt", size, code.index(MOST_OF_A_GROUP))
            # No group is empty, so that two that follow one another have more than one may have.
            is_full = code.b.op(arith.AndIOp, is_full, code.compare("ne", begin, first))
            following = code.integer(arith.AddiOp, group, one)
            first, group = select(code.b, is_full, begin, first), select(code.b, is_full, following, group)
            behind = code.integer(arith.AddiOp, group, one)
            code.store(code.b.op(arith.IndexCastOp, group, result_type=i32), self.counts, [*self.within, key])
            code.store(
                code.b.op(arith.IndexCastOp, first, result_type=i64), self.places, [*self.within, behind]
            )
            return end, first, group

        hints = ("key", "begin", "first", "group")
        _, _, group = code.count(1 << self.bits, (zero, zero, zero), step, hints)
        return code.integer(arith.AddiOp, group, one)

    def _sort_group(self, half: SSAValue, begin: SSAValue, size: SSAValue) -> None:
        """Sorts numbers of a half, from one on, into the first half."""
        matrix = self.network.matrix

        def inner(position: SSAValue) -> list[SSAValue]:
            return [*self.within, position]

        self._copy(size, self.scratch, self._from(half, begin), matrix, inner)
        self.network.sort(size)
        self._copy(size, matrix, inner, self.scratch, self._from(self.code.index(0), begin))

    def _copy_group(self, begin: SSAValue, size: SSAValue) -> None:
        """Copies numbers of the second half, from one on, into the first one."""
        halves = [self._from(self.code.index(half), begin) for half in (1, 0)]
        self._copy(size, self.scratch, halves[0], self.scratch, halves[1])

    def _from(self, half: SSAValue, begin: SSAValue) -> Place:
        """Returns what gives the indices of a number of a half, from one on."""
        code = self.code
        return lambda position: [*self.within, half, code.integer(arith.AddiOp, begin, position)]

    def _copy(
        self,
        size: SSAValue,
        sources: Sequence[SSAValue],
        source_place: Place,
        targets: Sequence[SSAValue],
        target_place: Place,
    ) -> None:
        """
        Copies numbers, in whole vectors: what is written behind a group in the first half is in the place of
        the next one, which is still to come, or in that of none.
        """
        code = self.code

        def vector(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            with code.axis(self.network.lanes, "lane") as lane:
                position = code.integer(arith.AddiOp, arguments[0], lane)
                for source, target in zip(sources, targets, strict=True):
                    code.store(code.load(source, source_place(position)), target, target_place(position))
            return ()

        code.loop(code.index(0), size, code.index(self.network.lanes), (), vector, ("k",))
