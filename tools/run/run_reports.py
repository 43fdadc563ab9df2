"""What `tenon-run` tells about a run: times, kernels and memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy.typing as npt

from ...runtime.executables.executable import Executable
from ...runtime.reports.memory_plan import MemoryPlan

DEFAULT_RUNS = 10
"""How often a program runs for the statistics of its kernels, if nothing else is asked for."""


def print_times(
    compile_seconds: float,
    is_cached: bool,
    run: Callable[..., Any],
    arguments: Sequence[npt.NDArray[Any]],
    count: int,
) -> None:
    """Runs the program `count` times and prints how long that took, and how long it took to compile."""
    seconds: list[float] = []
    for _ in range(count):
        start = perf_counter()
        run(*arguments)
        seconds.append(perf_counter() - start)
    print(f"compile {1e3 * compile_seconds:.3f} ms{' (from the cache)' if is_cached else ''}")
    print(f"run best {1e3 * min(seconds):.3f} ms, median {1e3 * median(seconds):.3f} ms of {count}")


def print_statistics(
    executable: Executable, arguments: Sequence[npt.NDArray[Any]], count: int | None, form: str
) -> None:
    """Runs the program `count` times, kernel by kernel, and prints one line for each kernel, or JSON."""
    count = count or DEFAULT_RUNS
    statistics = executable.statistics(*arguments, runs=count)
    if form == "json":
        print(statistics.to_json())
        return
    print(f"kernels of @{executable.name} on {executable.backend_name}, medians of {count} runs")
    print(statistics, end="")


def print_memory_plan(plan: MemoryPlan, picture: Path) -> None:
    """Prints the plan, and draws it too where `picture` names a file."""
    print(plan, end="")
    if picture.name:
        plan.save(picture)
