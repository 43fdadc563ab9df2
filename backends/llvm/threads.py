"""How many threads the kernels of this process run on."""

from __future__ import annotations

import os
from collections.abc import Callable
from operator import index
from threading import Lock, local
from typing import Any

from ...errors import TenonError

NUM_THREADS = "TENON_NUM_THREADS"
"""The environment variable with the number of threads to begin with."""

MOST_THREADS = 1024

_LOCK = Lock()
_NUM_THREADS: list[int] = []
_FOLLOWERS: list[Callable[[int], object]] = []


class _Limit(local):
    count: int | None = None


_LIMIT = _Limit()
"""What `num_threads` allows the thread that asks."""


def get_num_threads() -> int:
    """
    Returns the number of threads that one kernel runs on at most, the caller's among them: what
    `set_num_threads` asked for, else the environment variable `TENON_NUM_THREADS`, else as many as there are
    processors that this process may use. In a `with num_threads(...)` it is no more than that says.

    Raises:
        TenonError: the variable is no number of threads.
    """
    count = _process_count()
    return count if _LIMIT.count is None else min(count, _LIMIT.count)


def _process_count() -> int:
    with _LOCK:
        if not _NUM_THREADS:
            _NUM_THREADS.append(initial_num_threads())
        return _NUM_THREADS[0]


def set_num_threads(count: int) -> None:
    """
    Makes the kernels of this process, on the CPU, run on `count` threads at most. What they compute is the
    same for any number. Kernels that are running go on as they began.

    Raises:
        TenonError: `count` is no integer from 1 to 1024.
    """
    number = checked_count("set_num_threads", count)
    with _LOCK:
        _NUM_THREADS[:] = [number]
        for follower in _FOLLOWERS:
            follower(_NUM_THREADS[0])


def limit_of_this_thread() -> int | None:
    """Returns how many threads `num_threads` allows the thread that asks, None for any number."""
    return _LIMIT.count


def limit_this_thread(count: int | None) -> None:
    """Notes how many threads the thread that asks may use."""
    _LIMIT.count = count


def checked_count(who: str, count: Any) -> int:
    """Returns a number of threads. Raises TenonError, which names who is asked, for what is none."""
    try:
        number = 0 if isinstance(count, bool) else index(count)
    except TypeError:
        number = 0
    if not 1 <= number <= MOST_THREADS:
        raise TenonError(f"{who}: {_wrong(count)}")
    return number


def follow_num_threads(follower: Callable[[int], object]) -> None:
    """Calls `follower` with the number of threads, now and whenever it is set anew."""
    _process_count()
    with _LOCK:
        _FOLLOWERS.append(follower)
        follower(_NUM_THREADS[0])


def initial_num_threads() -> int:
    """
    Returns how many threads there are where nobody sets another number: what `TENON_NUM_THREADS` says, else
    as many as this process may use processors. Raises `TenonError` where it says no number.
    """
    text = os.environ.get(NUM_THREADS, "")
    if text:
        is_number = text.isascii() and text.isdigit() and len(text) < 10
        if not (is_number and 1 <= int(text) <= MOST_THREADS):
            raise TenonError(f"{NUM_THREADS}: {_wrong(text)}")
        return int(text)
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, MOST_THREADS)


def _wrong(value: object) -> str:
    return f"{value!r} is no number of threads (an integer from 1 to {MOST_THREADS})"
