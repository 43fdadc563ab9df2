"""
Sorts columns of numbers side by side, one in each lane of a vector, by a sorting network: Batcher's merge
exchange (Knuth, The Art of Computer Programming 3, 5.2.2, algorithm M), which compares the same places of
every column, whatever stands there.

    for p = the greatest power of two below the number of elements, halved down to 1:
      for each distance d of the network:
        exchange the numbers at i and i + d that are not in order, for each i with the bit of p clear or set

Numbers are in the order of the elements (order_numbers.py). argsort exchanges positions with them: in the
lower bits of numbers of 64 bits or, of elements of 64 bits, in a second buffer. No two are equal then, so
that the network, which is not stable, has no choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Attribute, SSAValue

from ......dialects.element_types import NBYTES
from .....scalar.ops import select
from ...code import KernelCode

LANES_NBYTES = 64
"""Of the numbers side by side: the widest vectors there are; narrower ones take several."""


def lanes_of(number: Attribute) -> int:
    """Returns how many columns of numbers of a type are sorted side by side."""
    return LANES_NBYTES // NBYTES[number]


class Network:
    """
    Sorts columns of up to `most` numbers. Number k of a lane is at `k * lanes + lane` of each of the buffers,
    behind the indices `around`.
    """

    def __init__(
        self,
        code: KernelCode,
        buffers: Sequence[SSAValue],
        around: Sequence[SSAValue],
        lanes: int,
        most: int,
    ):
        self.code, self.buffers, self.around, self.lanes = code, buffers, around, lanes
        self.levels = (most - 1).bit_length()

    def at(self, position: SSAValue, lane: SSAValue) -> list[SSAValue]:
        """Returns the indices of a number."""
        code = self.code
        start = code.integer(arith.MuliOp, position, code.index(self.lanes))
        return [*self.around, code.integer(arith.AddiOp, start, lane)]

    def sort(self, count: SSAValue) -> None:
        """Sorts `count` numbers of each lane."""
        for_each_pass(self.code, self.levels, self.levels, lambda each: self._exchange_pairs(count, each))

    def _exchange_pairs(self, count: SSAValue, each: Pass) -> None:
        code, one = self.code, self.code.index(1)
        # Of the i from r to below count - d; of each 2 * p of them the first p are compared.
        left = code.integer(arith.SubiOp, code.integer(arith.SubiOp, count, each.d), each.r)
        left = code.b.op(arith.MaxSIOp, left, code.index(0))
        both = code.integer(arith.ShLIOp, each.p, one)
        whole = code.integer(arith.ShRUIOp, code.integer(arith.ShRUIOp, left, each.level), one)
        rest = code.b.op(arith.AndIOp, left, code.integer(arith.SubiOp, both, one))
        rest = code.b.op(arith.MinSIOp, rest, each.p)
        n_pairs = code.integer(arith.AddiOp, code.integer(arith.ShLIOp, whole, each.level), rest)

        def pair_body(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            lower = each.compared(code, arguments[0])
            upper = code.integer(arith.AddiOp, lower, each.d, "upper")
            with code.axis(self.lanes, "lane") as lane:
                exchange(code, self.buffers, self.at(lower, lane), self.at(upper, lane))
            return ()

        code.loop(code.index(0), n_pairs, one, (), pair_body, ("pair",))


@dataclass(frozen=True)
class Pass:
    """
    A pass of algorithm M, which exchanges the numbers at i and i + d that are not in order, for each i in
    whose binary digits that of `p`, 2 to the power of `level`, is the one of `r`: there are `p` such, then
    `p` others, and so on. `below` is p - 1.
    """

    level: SSAValue
    p: SSAValue
    below: SSAValue
    r: SSAValue
    d: SSAValue

    def compared(self, code: KernelCode, number: SSAValue) -> SSAValue:
        """Returns the i that `number` ones of these are before."""
        inside = code.b.op(arith.AndIOp, number, self.below)
        twice = code.integer(arith.SubiOp, code.integer(arith.AddiOp, number, number), inside)
        return code.integer(arith.AddiOp, twice, self.r, "lower")


def for_each_pass(code: KernelCode, n_levels: int, levels: int, body: Callable[[Pass], None]) -> None:
    """Runs the passes of the lowest levels, from the highest of them down, of a network of so many levels."""
    if n_levels == 0:
        return
    zero, one, highest = code.index(0), code.index(1), code.index(n_levels - 1)

    def level_body(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
        level = code.integer(arith.SubiOp, highest, arguments[0], "level")
        p = code.integer(arith.ShLIOp, one, level, "p")
        below = code.integer(arith.SubiOp, p, one)

        def has_distance(arguments: Sequence[SSAValue]) -> SSAValue:
            return code.compare("ne", arguments[2], zero)

        def pass_body(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            q, r, d = arguments
            body(Pass(level, p, below, r, d))
            # The last distance is 0, which ends the loop, once q is p.
            return code.integer(arith.ShRUIOp, q, one), p, code.integer(arith.SubiOp, q, p)

        start = (code.index(1 << (levels - 1)), zero, p)
        code.repeat(start, has_distance, pass_body, ("q", "r", "d"))
        return ()

    code.count(n_levels, (), level_body, ("number",))


def exchange(
    code: KernelCode, buffers: Sequence[SSAValue], lower: list[SSAValue], upper: list[SSAValue]
) -> None:
    """Puts the lesser of the numbers at two places, with what belongs to it, to the lower place."""
    b = code.b
    first = [code.load(buffer, lower) for buffer in buffers]
    second = [code.load(buffer, upper) for buffer in buffers]
    if len(buffers) == 1:
        lesser = [b.op(arith.MinUIOp, first[0], second[0])]
        greater = [b.op(arith.MaxUIOp, first[0], second[0])]
    else:
        is_equal = code.compare("eq", first[0], second[0])
        is_after = b.op(arith.AndIOp, is_equal, code.compare("ugt", first[1], second[1]))
        swaps = b.op(arith.OrIOp, code.compare("ugt", first[0], second[0]), is_after)
        pairs = list(zip(first, second, strict=True))
        lesser = [select(b, swaps, right, left) for left, right in pairs]
        greater = [select(b, swaps, left, right) for left, right in pairs]
    for place, values in ((lower, lesser), (upper, greater)):
        for value, buffer in zip(values, buffers, strict=True):
            code.store(value, buffer, place)
