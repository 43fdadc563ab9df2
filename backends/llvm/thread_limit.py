"""`tenon.num_threads`: how many threads one thread's kernels run on, for a while."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

from ...errors import TenonError
from .native.library import native_library
from .threads import checked_count, limit_of_this_thread, limit_this_thread


@contextmanager
def num_threads(count: int) -> Generator[None]:
    """
    Makes what this thread calls in the `with`, on the CPU, run on `count` threads at most, and on no more
    than the whole process may use; other threads go on as they are. Of two, one in the other, the inner
    counts.

    Raises:
        TenonError: `count` is no integer from 1 to 1024, or the system has no room for it.
    """
    number = checked_count("num_threads", count)
    outer = limit_of_this_thread()
    _limit(number)
    try:
        yield
    finally:
        _limit(outer)


def _limit(count: int | None) -> None:
    error = native_library().pool_limit(count or 0)
    if error:
        raise TenonError(f"num_threads: {os.strerror(error)}")
    limit_this_thread(count)
