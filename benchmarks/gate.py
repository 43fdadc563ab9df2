"""
The gate against noise: a round counts only where a short probe of the processor found it undisturbed both
before and after.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, sleep

_BEFORE, _AFTER = 6, 3
"""How many probes tell: the second slowest counts, so that one interrupt closes no gate."""


class Gate:
    """
    Compares a probe's rate (any unit of work per second) with the best one that was seen. `clock` and
    `pause` are time's own, or a test's.
    """

    def __init__(
        self,
        probe: Callable[[], float],
        threshold: float = 0.85,
        patience_seconds: float = 0.3,
        clock: Callable[[], float] = perf_counter,
        pause: Callable[[float], object] = sleep,
        warm_up: int = 50,
    ) -> None:
        self._probe = probe
        self._threshold = threshold
        self._patience_seconds = patience_seconds
        self._clock = clock
        self._pause = pause
        self.best_rate = max(probe() for _ in range(warm_up))

    def wait(self) -> bool:
        """Waits until the machine is quiet; returns False where it was not in all the time there is."""
        start = self._clock()
        while True:
            if self._is_quiet(_BEFORE):
                return True
            if self._clock() - start >= self._patience_seconds:
                return False
            self._pause(0.02)

    def was_quiet(self) -> bool:
        """Returns whether the machine is quiet at once, after what was timed."""
        return self._is_quiet(_AFTER)

    def _is_quiet(self, count: int) -> bool:
        rates = sorted(self._probe() for _ in range(count))
        self.best_rate = max(self.best_rate, rates[-1])
        return rates[1] >= self._threshold * self.best_rate
