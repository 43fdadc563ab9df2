"""The timelines of all ranks as one, with a group of rows for each rank, by the clock of rank 0."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter_ns
from typing import Any

import numpy as np

from ...dialects.collective import Collective
from ...semantics.world import CHANNEL, World, told
from ..collectives.worlds import current_world
from ..timeline.spans import Category, Flow, Span, Track
from ..timeline.timeline import Timeline

_PROCESS = secrets.token_hex(8)
"""Of this process; with its number, for one that was forked has the same. Machines may have one name."""

_ROUNDS = 10
"""How often a rank asks rank 0 for the time: the answer that came soonest counts."""


def gather_timeline(timeline: Timeline, world: World | None = None) -> Timeline:
    """
    Returns the timelines of all ranks as one, on each of them. All call it, outside of what they record; it
    sends what they recorded. Times are those of rank 0's clock: where another's is apart from it, by more
    than a message and its answer can tell, it is set by that (F. Cristian, Probabilistic Clock
    Synchronization, 1989), to half the time that both took. Ranks that are threads of one process record one
    timeline together, which is there once.

    Args:
        timeline: what this rank recorded.
        world: the ranks; those that `mpiexec` started, or `run_ranks`, if it is None.

    Raises:
        RankError: another rank has ended, or failed.
    """
    world = current_world() if world is None else world
    world.begin_check(b"", "timeline that is gathered").wait()
    offset = clock_offset(world)
    own = json.dumps(_packed(timeline, offset), default=str).encode()
    parts: dict[int, Mapping[str, Any]] = {}
    known = set[str]()
    for rank, text in enumerate(_gathered(world, own)):
        part = json.loads(text)
        if part["process"] not in known:
            known.add(part["process"])
            parts[rank] = part
    return timeline if len(parts) == 1 else merged(parts)


def merged(parts: Mapping[int, Mapping[str, Any]]) -> Timeline:
    """Returns the timeline of several ranks, of what each sent."""
    spans: list[Span] = []
    flows: list[Flow] = []
    for rank, part in parts.items():
        rows: Sequence[tuple[str, str]] = part["tracks"]
        tracks = [Track(f"rank {rank}", f"{process}: {thread}") for process, thread in rows]
        reported: Sequence[tuple[str, str, int, int, int, dict[str, object]]] = part["spans"]
        for name, category, track, begin_ns, end_ns, args in reported:
            spans.append(Span(name, Category(category), tracks[track], begin_ns, end_ns, args))
        arrows: Sequence[tuple[str, int, int, int, int]] = part["flows"]
        for name, source, source_ns, target, target_ns in arrows:
            flows.append(Flow(name, tracks[source], source_ns, tracks[target], target_ns))
    return Timeline(min(part["start_ns"] for part in parts.values()), spans, flows)


def clock_offset(world: World, clock: Callable[[], int] = perf_counter_ns) -> int:
    """
    Returns by how many nanoseconds the clock of rank 0 is before that of this rank; 0 where the two may be
    one clock. All ranks call it.

    Raises:
        RankError: another rank has ended, or failed.
    """
    found = 0
    for rank in range(1, world.size):
        tries = [_asked(world, rank, clock) for _ in range(_ROUNDS)]
        if rank == world.rank:
            took, offset = min(tries)
            found = offset if abs(offset) > took / 2 else 0
    return found


def _asked(world: World, rank: int, clock: Callable[[], int]) -> tuple[int, int]:
    """Has a rank ask rank 0 for the time. Returns there how long that took, and how far clocks are apart."""
    begin_ns = clock()
    _sent(world, (rank, 0), 0)
    there = _sent(world, (0, rank), clock() if world.rank == 0 else 0)
    end_ns = clock()
    return end_ns - begin_ns, there - (begin_ns + end_ns) // 2


def _sent(world: World, pair: tuple[int, int], number: int) -> int:
    """Sends a number from the first rank to the second, and returns it there."""
    operand = np.full(int(world.rank == pair[0]), number, np.int64)
    result = np.zeros(int(world.rank == pair[1]), np.int64)
    world.begin(
        Collective("collective_permute", CHANNEL, (world.size,), (0,), pairs=(pair,)), operand, result
    ).wait()
    return int(result.sum())


def _gathered(world: World, own: bytes) -> list[bytes]:
    lengths = [int.from_bytes(row.tobytes(), "little") for row in told(world, len(own).to_bytes(8, "little"))]
    rows = told(world, own.ljust(max(lengths), b"\0"))
    return [row[:length].tobytes() for row, length in zip(rows, lengths, strict=True)]


def _packed(timeline: Timeline, offset: int) -> Mapping[str, Any]:
    """Returns what a timeline holds as what JSON has, with times of rank 0's clock."""
    numbers: dict[Track, int] = {}

    def number(track: Track) -> int:
        return numbers.setdefault(track, len(numbers))

    def at(ns: int) -> int:
        return ns + offset

    spans = [
        (each.name, each.category, number(each.track), at(each.begin_ns), at(each.end_ns), dict(each.args))
        for each in timeline.spans
    ]
    flows = [
        (each.name, number(each.source), at(each.source_ns), number(each.target), at(each.target_ns))
        for each in timeline.flows
    ]
    return {
        "process": f"{_PROCESS} {os.getpid()}",
        "start_ns": at(timeline.start_ns),
        "tracks": [(track.process, track.thread) for track in numbers],
        "spans": spans,
        "flows": flows,
    }
