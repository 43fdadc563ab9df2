"""
Times contenders on the same work, interleaved: each round gives every contender one block of calls, so that
what disturbs the machine for a while disturbs all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median
from time import perf_counter

Thunk = Callable[[], object]


@dataclass(frozen=True)
class Times:
    """Seconds per call over the rounds. The mean counts stalls, which the others pass over."""

    median: float
    minimum: float
    mean: float


def time_interleaved(
    contenders: Mapping[str, Thunk],
    rounds: int = 15,
    block_seconds: float = 0.02,
    prepare: Mapping[str, Thunk] | None = None,
) -> dict[str, Times]:
    """
    Returns each contender's times. A block is one untimed call and about `block_seconds` of timed ones, after
    what `prepare` has for the contender.
    """
    prepare = prepare or {}
    counts = {name: _calls_per_block(call, block_seconds) for name, call in contenders.items()}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, call in contenders.items():
            if name in prepare:
                prepare[name]()
            # The contender before this one left its own data in the caches.
            call()
            seconds[name].append(_seconds_per_call(call, counts[name]))
    return {name: Times(median(values), min(values), mean(values)) for name, values in seconds.items()}


def _calls_per_block(call: Thunk, block_seconds: float) -> int:
    call()
    return max(1, round(block_seconds / max(_seconds_per_call(call, 1), 1e-7)))


def _seconds_per_call(call: Thunk, count: int) -> float:
    start = perf_counter()
    for _ in range(count):
        call()
    return (perf_counter() - start) / count


def format_times(times: Mapping[str, Times], baseline: str) -> str:
    """Returns a table of times in ms; the ratio says how many times faster than `baseline` a contender is."""
    rows = [["", "median ms", "min ms", f"x {baseline}", f"x {baseline} (min)"]]
    reference = times[baseline]
    for name, time in times.items():
        in_ms = [f"{1e3 * seconds:.3f}" for seconds in (time.median, time.minimum)]
        ratios = [
            f"{ratio:.2f}" for ratio in (reference.median / time.median, reference.minimum / time.minimum)
        ]
        rows.append([name, *in_ms, *ratios])
    return format_table(rows)


def format_table(rows: Sequence[Sequence[str]]) -> str:
    """Returns rows of equally many cells as aligned lines: the first column to the left, the others right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines: list[str] = []
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *cells[1:]]).rstrip())
    return "\n".join(lines)
