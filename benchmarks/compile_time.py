"""
Times the compiler: softmax in fresh processes, compiled and from the cache on disk; softmax pass by pass; and
the ladder, which is the time per op of each pass on programs of 100 to 5,000 ops.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from tenon.backends.cache.place import FOLDER, SWITCH
from tenon.compiler.target import target_of

from .harness import format_table
from .pinning import use_one_thread

SOFTMAX = Path(__file__).parent / "programs" / "softmax.mlir"
LADDER = (100, 300, 1000, 3000, 5000)

COLD = """
import sys
from time import perf_counter
start = perf_counter()
import numpy, xdsl.dialects.builtin
libraries = perf_counter()
import tenon
imported = perf_counter()
text = open(sys.argv[1]).read()
tenon.compile(text, backend=sys.argv[2], filename=sys.argv[1])
first = perf_counter()
tenon.compile(text, backend=sys.argv[2], filename=sys.argv[1])
second = perf_counter()
print(libraries - start, imported - libraries, first - imported, second - first)
"""
"""Prints the seconds that the steps of a first compilation take."""


def print_cold(backends: Sequence[str], process_count: int) -> None:
    """Prints how long importing and compiling softmax take in fresh processes, without and with the cache."""
    steps = ("import numpy, xdsl", "import tenon", "first compile", "second compile")
    rows = [["", *(f"{step} ms" for step in steps)]]
    with TemporaryDirectory() as folder:
        for backend, cache in product(backends, ("0", "1")):
            command = [sys.executable, "-c", COLD, str(SOFTMAX), backend]
            environment = {**os.environ, SWITCH: cache, FOLDER: folder}
            # The first one fills the OS's cache and Tenon's, and writes .pyc files.
            outputs = [
                subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
                for _ in range(process_count + 1)
            ][1:]
            columns = zip(*([float(word) for word in output.split()] for output in outputs), strict=True)
            name = f"{backend}, cached" if cache == "1" else backend
            rows.append([name, *(f"{1e3 * median(column):.1f}" for column in columns)])
    print(f"\nsoftmax in a fresh process (median of {process_count})")
    print(format_table(rows))


def print_breakdown(backends: Sequence[str], run_count: int) -> None:
    """Prints how long each step of compiling softmax takes in this process once it is warm."""
    from tenon.backends.registry import get_backend

    from .pass_times import Row, best_rows, time_passes

    text = SOFTMAX.read_text()
    print(f"\nsoftmax step by step, warm (best of {run_count})")
    for name in backends:
        backend = get_backend(name)
        runs: list[list[Row]] = []
        for _ in range(run_count + 1):
            rows, module = time_passes(text, target_of(backend.device))
            start = perf_counter()
            source = backend.renderer.render(module, backend.device)
            rendered = perf_counter()
            backend.compiler.compile(source, backend.device)
            runs.append([*rows, ("render", rendered - start), ("compile", perf_counter() - rendered)])
        best = best_rows(runs[1:])
        total = ("total", sum(seconds for _, seconds in best))
        print(
            format_table([[name, "ms"], *([row, f"{1e3 * seconds:.2f}"] for row, seconds in (*best, total))])
        )


def print_ladder(
    chain_name: str, chain: Callable[[int], str], op_counts: Sequence[int], run_count: int
) -> None:
    """Prints each pass's time per op on programs of `op_counts` ops; `growth` is the last over the first."""
    from .pass_times import best_rows, time_passes

    time_passes(chain(op_counts[0]))
    columns: list[list[float]] = []
    names: list[str] = []
    for op_count in op_counts:
        text = chain(op_count)
        best = best_rows([time_passes(text)[0] for _ in range(run_count)])
        names = [name for name, _ in best] + ["total"]
        per_op = [1e6 * seconds / op_count for _, seconds in best]
        columns.append([*per_op, sum(per_op)])
    header = [chain_name, *(f"{op_count:,}" for op_count in op_counts), "growth"]
    rows = [
        [name, *(f"{value:.1f}" for value in values), f"{values[-1] / values[0]:.2f}"]
        for name, values in zip(names, zip(*columns, strict=True), strict=True)
    ]
    print(f"\nmicroseconds per op of the program, by its number of ops (best of {run_count})")
    print(format_table([header, *rows]), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compile_time", description=__doc__)
    parser.add_argument("--opencl", action="store_true", help="time the opencl backend too")
    parser.add_argument("--processes", type=int, default=5, help="fresh processes (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each program (default: %(default)s)")
    parser.add_argument(
        "--most-ops", type=int, default=LADDER[-1], help="the ladder's end (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    use_one_thread()

    # Only now: this imports numpy.
    from .chains import CHAINS

    backends = ("llvm", "opencl") if options.opencl else ("llvm",)
    print_cold(backends, options.processes)
    print_breakdown(backends, options.runs)
    for chain_name, chain in CHAINS.items():
        print_ladder(chain_name, chain, [n for n in LADDER if n <= options.most_ops], options.runs)


if __name__ == "__main__":
    main()
