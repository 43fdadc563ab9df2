"""What each rank of a group has, or wants, of one dim of a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from ...dialects.grids import member_of
from ...dialects.sharding import Interval, Mesh, Sharding, blocks


@dataclass(frozen=True)
class Part:
    """
    The indices of each member of a group along `axes` of the mesh, members in row-major order. Members may
    have the same, overlapping or no indices.
    """

    axes: tuple[int, ...]
    intervals: tuple[Interval, ...]

    def mine(self, mesh: Mesh, rank: int) -> Interval:
        return self.intervals[mesh.member(self.axes, rank)]


def block_part(mesh: Mesh, extent: int, axes: tuple[int, ...]) -> Part:
    """Returns what members have of an extent that is split over `axes`."""
    return Part(axes, blocks(extent, mesh.parts(axes)))


Wants = tuple[Part | None, ...]
"""What is wanted of each dim; None where that is all of it, and the dim is whole."""


def wants_of(mesh: Mesh, sharding: Sharding, shape: Sequence[object]) -> Wants:
    """Returns what ranks have of a value that is split so."""
    return tuple(
        block_part(mesh, extent, axes) if axes and isinstance(extent, int) else None
        for axes, extent in zip(sharding.split, shape, strict=True)
    )


@lru_cache(1024)
def spread(shape: tuple[int, ...], part: Part, axes: tuple[int, ...]) -> tuple[Interval, ...]:
    """Returns what the members of a larger group along `axes` of a mesh of `shape` have."""
    if part.axes == axes:
        return part.intervals
    sizes = [shape[axis] for axis in axes]
    own = [axes.index(axis) for axis in part.axes]
    return tuple(part.intervals[member_of(sizes, own, member)] for member in range(prod(sizes)))
