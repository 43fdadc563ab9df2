"""Keeps a process on as many CPUs as threads are asked for, and every library in it on that many threads."""

from __future__ import annotations

import os
import sys

_THREAD_COUNT_VARIABLES = (
    "TENON_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POCL_MAX_PTHREAD_COUNT",
)


def use_threads(count: int) -> None:
    """
    Pins this process to the last `count` CPUs that it may use, where the system can, and asks for `count`
    threads everywhere. The first CPU, which tends to serve the system's interrupts, is taken last.

    Must be called before numpy is imported: its BLAS reads the number of threads once.
    """
    assert "numpy" not in sys.modules, "use_threads: numpy is imported already"
    for variable in _THREAD_COUNT_VARIABLES:
        os.environ[variable] = str(count)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-count:])


def use_one_thread() -> None:
    """As `use_threads` with one."""
    use_threads(1)
