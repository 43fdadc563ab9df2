"""
In which order ranks exchange their parts to sort along a dim that is split.

Each rank sorts its part; then pairs of ranks merge theirs, the lower one keeps the first half. What every
element meets is known when compiling, so that all parts stay as long as they are: splitting by samples, where
the values say who gets how many, has no extents that programs could be compiled for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from xdsl.ir import Attribute

from ...dialects import graph
from ...dialects.element_types import NBYTES, element_type_of, i32, i64, is_float

Pair = tuple[int, int]
"""Two members of a group that merge their parts, the lower one first."""


@dataclass(frozen=True)
class Network:
    """
    Rounds of pairs in which each member is at most once. Where `number` is an element type, each element has
    its place in the whole with it, which orders those that are equal.
    """

    rounds: tuple[tuple[Pair, ...], ...]
    number: Attribute | None = None

    def sent(self, count: int) -> float:
        """Returns how many parts each of `count` members sends on average."""
        return 2 * sum(map(len, self.rounds)) / count

    def nbytes(self, element_type: Attribute) -> int:
        """Returns how many bytes are sent for one element."""
        return NBYTES[element_type] + (0 if self.number is None else NBYTES[self.number])


def network_of(op: graph.SortOp | graph.ArgsortOp, extent: int, count: int) -> Network:
    """
    Returns how `count` members sort an extent: with the fewest bytes.

    Where neighbours merge only, equal elements keep their order by themselves. Where all may meet there are
    fewer merges, of integers as they are, which cannot be told apart, and else with their places.
    """
    element = element_type_of(op.source.type)
    is_positions = isinstance(op, graph.ArgsortOp)
    if not is_positions and not is_float(element):
        return Network(merge_exchange(count))
    apart = Network(merge_exchange(count), i32 if extent + count < 2**31 else i64)
    beside = Network(neighbour_exchange(count))
    if is_positions or apart.sent(count) * apart.nbytes(element) < beside.sent(count) * NBYTES[element]:
        return apart
    return beside


@lru_cache(64)
def neighbour_exchange(count: int) -> tuple[tuple[Pair, ...], ...]:
    """Returns odd-even transposition (Knuth, Sorting and Searching, 5.3.4): neighbours, in `count` rounds."""
    rounds = (tuple((low, low + 1) for low in range(number % 2, count - 1, 2)) for number in range(count))
    return tuple(pairs for pairs in rounds if pairs)


@lru_cache(64)
def merge_exchange(count: int) -> tuple[tuple[Pair, ...], ...]:
    """Returns Batcher's merge exchange for any number of members (Knuth, 5.2.2, algorithm M)."""
    return tuple(pairs for pairs in _merge_rounds(count) if pairs)


def _merge_rounds(count: int) -> Iterator[tuple[Pair, ...]]:
    top = 1 << max((count - 1).bit_length() - 1, 0)
    bit = top
    while bit:
        step, rest, distance = top, 0, bit
        while True:
            yield tuple((low, low + distance) for low in range(count - distance) if low & bit == rest)
            if step == bit:
                break
            distance, step, rest = step - bit, step // 2, bit
        bit //= 2
