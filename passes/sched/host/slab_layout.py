"""Packs spans of bytes that live for some time into as little memory as a greedy rule finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """So many bytes, needed from the time `first` to the time `last`, both included."""

    first: int
    last: int
    nbytes: int


def lay_out(spans: Sequence[Span]) -> list[int]:
    """
    Returns an offset for each span, such that spans that are needed at a common time share no byte.

    The largest come first, the earlier of equals; each goes into the smallest gap between those already
    placed that takes it, the lowest of equals, or else on top. Spans of no bytes lie at offset 0.
    """
    neighbours = _neighbours(spans)
    offsets: list[int | None] = [None] * len(spans)
    for index in sorted(range(len(spans)), key=lambda i: (-spans[i].nbytes, spans[i].first, i)):
        taken: list[tuple[int, int]] = []
        for other in neighbours[index]:
            offset = offsets[other]
            if offset is not None and spans[other].nbytes:
                taken.append((offset, offset + spans[other].nbytes))
        taken.sort()
        offsets[index] = _best_gap(taken, spans[index].nbytes) if spans[index].nbytes else 0
    return [offset for offset in offsets if offset is not None]


def _best_gap(taken: Sequence[tuple[int, int]], nbytes: int) -> int:
    """Returns where `nbytes` fit best beside the ranges `taken`, which are sorted."""
    best: tuple[int, int] | None = None
    top = 0
    for start, end in taken:
        gap = start - top
        if gap >= nbytes and (best is None or gap < best[0]):
            best = (gap, top)
        top = max(top, end)
    return top if best is None else best[1]


def _neighbours(spans: Sequence[Span]) -> list[list[int]]:
    """Returns, for each span, the others that are needed at a common time."""
    neighbours: list[list[int]] = [[] for _ in spans]
    alive: list[int] = []
    for index in sorted(range(len(spans)), key=lambda i: spans[i].first):
        alive = [other for other in alive if spans[other].last >= spans[index].first]
        neighbours[index].extend(alive)
        for other in alive:
            neighbours[other].append(index)
        alive.append(index)
    return neighbours


def peak_nbytes(spans: Sequence[Span]) -> int:
    """Returns the largest sum of bytes needed at one time, 0 for no spans."""
    changes: dict[int, int] = {}
    for span in spans:
        changes[span.first] = changes.get(span.first, 0) + span.nbytes
        changes[span.last + 1] = changes.get(span.last + 1, 0) - span.nbytes
    peak = now = 0
    for time in sorted(changes):
        now += changes[time]
        peak = max(peak, now)
    return peak
