"""Keeps a process on one CPU and every library in it on one thread."""

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


def use_one_thread() -> None:
    """
    Pins this process to the first CPU it may use, where the system can, and asks for one thread everywhere.

    Must be called before numpy is imported: its BLAS reads the number of threads once.
    """
    assert "numpy" not in sys.modules, "use_one_thread: numpy is imported already"
    for variable in _THREAD_COUNT_VARIABLES:
        os.environ[variable] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
