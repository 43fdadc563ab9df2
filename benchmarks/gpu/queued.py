"""Work on a device that is queued now and done later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from ..harness import Thunk, Times

_TRIED = 3
"""Calls of which the least time says how many a batch has."""


@dataclass(frozen=True)
class Queued:
    """What one library does: `call` queues the work and returns its result, `wait` waits until it is done."""

    call: Callable[[], Any]
    wait: Callable[[Any], None]
    to_host: Callable[[Any], Any]
    """Makes a numpy array of a result."""


@dataclass(frozen=True)
class Batch:
    """Calls that are queued one after the other and waited for together, as a program of many steps does."""

    run: Thunk
    count: int

    def times_of_a_call(self, times: Times) -> Times:
        """Returns the times of one call, of those of the batch."""
        return replace(
            times,
            median=times.median / self.count,
            minimum=times.minimum / self.count,
            mean=times.mean / self.count,
        )


def batch_of(work: Queued, seconds: float) -> Batch:
    """Returns as many calls as take about so many seconds, at least one."""
    count = max(1, round(seconds / min(_seconds(work, 1) for _ in range(_TRIED))))
    # One call at a time takes longer than many that are queued.
    count = max(1, round(seconds * count / _seconds(work, count)))
    return Batch(lambda: _seconds(work, count), count)


def _seconds(work: Queued, count: int) -> float:
    start = perf_counter()
    result = None
    for _ in range(count):
        result = work.call()
    work.wait(result)
    return perf_counter() - start
