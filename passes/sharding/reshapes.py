"""Which dims of a reshape hold the same elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.dims.expressions import Extent


@dataclass(frozen=True)
class DimGroup:
    """Neighbouring dims before and after a reshape with the same elements; those of extent 1 are in none."""

    before: tuple[int, ...]
    after: tuple[int, ...]


def dim_groups(before: Sequence[Extent], after: Sequence[Extent]) -> list[DimGroup]:
    """Returns the smallest such groups, in order. Extents that are not numbers are equal or in one group."""
    sources = [dim for dim, extent in enumerate(before) if extent != 1]
    results = [dim for dim, extent in enumerate(after) if extent != 1]
    groups: list[DimGroup] = []
    i = j = 0
    while i < len(sources) and j < len(results):
        first, second = i, j
        lhs, rhs = before[sources[i]], after[results[j]]
        i, j = i + 1, j + 1
        while lhs != rhs:
            can_grow_left = i < len(sources)
            can_grow_right = j < len(results)
            if not isinstance(lhs, int) or not isinstance(rhs, int):
                i, j = len(sources), len(results)
                break
            if lhs < rhs and can_grow_left:
                lhs, i = lhs * before[sources[i]], i + 1
            elif can_grow_right:
                rhs, j = rhs * after[results[j]], j + 1
            else:
                i, j = len(sources), len(results)
                break
        groups.append(DimGroup(tuple(sources[first:i]), tuple(results[second:j])))
    if groups and (i < len(sources) or j < len(results)):
        last = groups.pop()
        groups.append(DimGroup((*last.before, *sources[i:]), (*last.after, *results[j:])))
    return groups
