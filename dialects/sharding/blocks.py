"""Which part of an extent each rank of a group has."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate

from ..grids import part_extents

Interval = tuple[int, int]
"""The indices from the first up to, and without, the second."""


@lru_cache(4096)
def blocks(extent: int, parts: tuple[int, ...]) -> tuple[Interval, ...]:
    """
    Returns the part of each member of a group, row-major over `parts`: an extent is split by the first of
    them, each part then by the next. Where a count does not divide an extent, the first parts have one more.
    """
    ends = tuple(accumulate(part_extents(extent, parts)))
    return tuple(zip((0, *ends[:-1]), ends, strict=True))


def common(first: Interval, second: Interval) -> Interval:
    """Returns the indices that are in both; one that begins where it ends if there are none."""
    begin = max(first[0], second[0])
    return begin, max(begin, min(first[1], second[1]))


def within(interval: Interval, begin: int, extent: int) -> Interval:
    """Returns which of the `extent` indices from `begin` on are in an interval, counted from there."""
    first, last = common(interval, (begin, begin + extent))
    return (first - begin, last - begin) if first < last else (0, 0)


def length(interval: Interval) -> int:
    return interval[1] - interval[0]
