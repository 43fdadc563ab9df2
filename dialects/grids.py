"""
Grids of ranks: which ranks meet in a collective, and which part of an extent is whose.

Ranks are numbered row-major over the grid. A group are the ranks that agree in all coordinates but those of
some axes; its members are numbered row-major over these axes, in the order in which they are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod


def coordinates_of(grid: Sequence[int], rank: int) -> tuple[int, ...]:
    """Returns where a rank lies on a grid."""
    places: list[int] = []
    for extent in reversed(grid):
        rank, place = divmod(rank, extent)
        places.append(place)
    return tuple(reversed(places))


def rank_at(grid: Sequence[int], coordinates: Sequence[int]) -> int:
    """Returns the rank that lies at these coordinates."""
    rank = 0
    for extent, place in zip(grid, coordinates, strict=True):
        rank = rank * extent + place
    return rank


def member_of(grid: Sequence[int], axes: Sequence[int], rank: int) -> int:
    """Returns the number of a rank among the members of its group."""
    places = coordinates_of(grid, rank)
    return rank_at([grid[axis] for axis in axes], [places[axis] for axis in axes])


@lru_cache(4096)
def group_of(grid: tuple[int, ...], axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Returns the ranks of the group that a rank is in, by the numbers of its members."""
    places = list(coordinates_of(grid, rank))
    sizes = [grid[axis] for axis in axes]
    ranks: list[int] = []
    for member in range(prod(sizes)):
        for axis, place in zip(axes, coordinates_of(sizes, member), strict=True):
            places[axis] = place
        ranks.append(rank_at(grid, places))
    return tuple(ranks)


@lru_cache(4096)
def part_extents(extent: int, parts: tuple[int, ...]) -> tuple[int, ...]:
    """
    Returns how long the parts are that an extent is split into: by the first of `parts`, each part then by
    the next, so that the parts of several axes refine those of the first. Where a number of parts does not
    divide an extent, the first ones have one more. A part is 0 where there is not enough for all.
    """
    extents = [extent]
    for count in parts:
        extents = [each // count + (number < each % count) for each in extents for number in range(count)]
    return tuple(extents)


def part_offset(extent: int, parts: tuple[int, ...], number: int) -> int:
    """Returns where part `number` of those of `part_extents` begins."""
    return sum(part_extents(extent, parts)[:number])
