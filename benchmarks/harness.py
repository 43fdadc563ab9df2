"""
Times contenders on the same work, interleaved: each round gives every contender one block of calls, so that
what disturbs the machine for a while disturbs all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import mean, median
from time import perf_counter

from .gate import Gate

Thunk = Callable[[], object]

_TRIES = 3
"""How often a block is run again that the gate does not let through."""

_FAR_BEHIND, _FEW_ROUNDS = 4, 3
"""A contender that takes so many times the fastest one's time is timed in so many rounds only."""


@dataclass(frozen=True)
class Times:
    """
    Seconds per call over the rounds. The mean counts stalls, which the others pass over. With a gate only
    the `quiet_rounds` count, or all where there were none.
    """

    median: float
    minimum: float
    mean: float
    quiet_rounds: int = 0


def time_interleaved(
    contenders: Mapping[str, Thunk],
    rounds: int = 15,
    block_seconds: float = 0.02,
    prepare: Mapping[str, Thunk] | None = None,
    gate: Gate | None = None,
    most_seconds: float = inf,
    clock: Callable[[], float] = perf_counter,
) -> dict[str, Times]:
    """
    Returns each contender's times. A block is about `block_seconds` of timed calls, after as many untimed
    ones and what `prepare` has for the contender. With a `gate`, blocks that it finds disturbed are tried
    again. After `most_seconds` there are no more rounds, beyond the first few.
    """
    prepare = prepare or {}
    firsts = {name: _first_seconds(call, clock) for name, call in contenders.items()}
    counts = {name: max(1, round(block_seconds / max(first, 1e-7))) for name, first in firsts.items()}
    far = _FAR_BEHIND * min(firsts.values(), default=0)
    rounds_of = {
        name: rounds if gate is None or first <= far else min(rounds, _FEW_ROUNDS)
        for name, first in firsts.items()
    }
    seconds: dict[str, list[tuple[float, bool]]] = {name: [] for name in contenders}

    def block(name: str, call: Thunk) -> float:
        if name in prepare:
            prepare[name]()
        # The contender before this one left its own data in the caches. Arrays that only the last cache has
        # room for are in it after some calls: of the first five of a transpose of 16 MiB each is faster.
        for _ in range(counts[name]):
            call()
        return _seconds_per_call(call, counts[name], clock)

    start = clock()
    for turn in range(rounds):
        if turn >= _FEW_ROUNDS and clock() - start > most_seconds:
            break
        for name, call in contenders.items():
            if turn >= rounds_of[name]:
                continue
            for _ in range(_TRIES):
                was_quiet = gate is None or gate.wait()
                taken = block(name, call)
                was_quiet = was_quiet and (gate is None or gate.was_quiet())
                seconds[name].append((taken, was_quiet))
                if was_quiet:
                    break
    return {name: _times(values) for name, values in seconds.items()}


def _times(values: Sequence[tuple[float, bool]]) -> Times:
    quiet = [taken for taken, was_quiet in values if was_quiet]
    counted = quiet or [taken for taken, _ in values]
    return Times(median(counted), min(counted), mean(counted), len(quiet))


def _first_seconds(call: Thunk, clock: Callable[[], float]) -> float:
    call()
    taken = _seconds_per_call(call, 1, clock)
    if taken > 1e-3:
        return taken
    return _seconds_per_call(call, max(1, round(1e-3 / max(taken, 1e-7))), clock)


def _seconds_per_call(call: Thunk, count: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(count):
        call()
    return (clock() - start) / count


def format_table(rows: Sequence[Sequence[str]]) -> str:
    """Returns rows of equally many cells as aligned lines: the first column to the left, the others right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines: list[str] = []
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *cells[1:]]).rstrip())
    return "\n".join(lines)
