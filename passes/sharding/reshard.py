"""The steps from one sharding of a value to another, the cheapest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from ...dialects.dims.expressions import Extent
from ...dialects.sharding import Mesh, Sharding

Axes = tuple[int, ...]


@dataclass(frozen=True)
class Slice:
    """Each rank keeps its part of a dim, which is split by `axes` too. Nothing is sent."""

    dim: int
    axes: Axes


@dataclass(frozen=True)
class Gather:
    """The innermost `axes` that split a dim do so no more."""

    dim: int
    axes: Axes


@dataclass(frozen=True)
class Move:
    """The innermost `axes` that split `source` split `target` instead."""

    source: int
    target: int
    axes: Axes


Step = Slice | Gather | Move


@lru_cache(4096)
def steps_between(before: Sharding, after: Sharding) -> tuple[Step, ...]:
    """Returns the steps from one sharding to another: what is sent is as small as it can be then."""
    now = [list(axes) for axes in before.split]
    steps: list[Step] = []
    used = set(before.axes)
    for dim, wanted in enumerate(after.split):
        more = wanted[len(now[dim]) :]
        if more and wanted[: len(now[dim])] == tuple(now[dim]) and not used & set(more):
            steps.append(Slice(dim, more))
            now[dim] = list(wanted)
            used |= set(more)
    for dim, wanted in enumerate(after.split):
        kept = 0
        while kept < min(len(now[dim]), len(wanted)) and now[dim][kept] == wanted[kept]:
            kept += 1
        leaving = tuple(now[dim][kept:])
        if not leaving:
            continue
        target = next(
            (
                other
                for other, axes in enumerate(after.split)
                if other != dim and axes == (*now[other], *leaving)
            ),
            None,
        )
        if target is None:
            steps.append(Gather(dim, leaving))
        else:
            steps.append(Move(dim, target, leaving))
            now[target] += leaving
        del now[dim][kept:]
    for dim, wanted in enumerate(after.split):
        if more := wanted[len(now[dim]) :]:
            steps.append(Slice(dim, more))
    return tuple(steps)


def local_elements(mesh: Mesh, sharding: Sharding, shape: Sequence[Extent]) -> float:
    """Returns how many elements a rank has on average, extents that are not known counted as one."""
    total = prod(extent for extent in shape if isinstance(extent, int) and extent > 0)
    return total / mesh.count(sharding.axes)


def sent_by_gather(elements: float, count: int) -> float:
    """Returns how many elements a rank sends that has so many of them and gathers those of `count` ranks."""
    return elements * (count - 1)


def sent_by_reduction(elements: float, count: int, is_scattered: bool) -> float:
    """Returns how many elements a rank sends at the least where `count` ranks combine so many each."""
    return elements * (count - 1) / count * (1 if is_scattered else 2)


def sent_between(mesh: Mesh, before: Sharding, after: Sharding, shape: Sequence[Extent]) -> float:
    """Returns how many elements each rank sends on average to get from one sharding to another."""
    elements = local_elements(mesh, before, shape)
    sent = 0.0
    for step in steps_between(before, after):
        count = mesh.count(step.axes)
        match step:
            case Slice():
                elements /= count
            case Gather():
                sent += sent_by_gather(elements, count)
                elements *= count
            case Move():
                sent += elements * (count - 1) / count
    return sent
