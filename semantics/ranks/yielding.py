"""How a rank waits for what will soon be there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

YIELD_SECONDS = 2e-3
"""How long a rank only lets others run before it sleeps: short messages are there by then."""


def yield_until(is_done: Callable[[], bool], seconds: float = YIELD_SECONDS) -> bool:
    """
    Lets other threads and processes run until `is_done()`, for so many seconds at most; returns whether it
    is. Where nobody else has work it looks again at once: a sleep of no seconds takes 56 microseconds on some
    machines, longer than a sum of 70 KB of two ranks.
    """
    end = time.perf_counter() + seconds
    while not is_done():
        if time.perf_counter() > end:
            return False
        _let_others_run()
    return True


def _let_others_run() -> None:
    if hasattr(os, "sched_yield"):
        os.sched_yield()
    else:
        # Of Windows, where that is what it does.
        time.sleep(0)
