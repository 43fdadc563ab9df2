"""
Times kernels on one thread and on two, what sharing a kernel out costs, and what two threads are worth while
another process keeps a processor busy.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import tenon
from tenon.backends.interface import BufferLoc
from tenon.backends.registry import get_backend
from tenon.backends.steps import LaunchStep
from tenon.dialects.modules.parsing import parse_module

from .command import record
from .harness import Thunk, Times, format_table, time_interleaved
from .peers import tenon_peer
from .sections import MOST_TIMES_SERIAL
from .workloads import WORKLOADS, Workload

FORK_COUNT = 100

SHARED = (
    "matmul 256",
    "matmul 1024",
    "batched",
    "gelu 4096",
    "softmax 4096",
    "layernorm 4096",
    "attention",
    "transformer",
    "sum over axis 0",
)
"""How the names of the workloads begin that are timed on one thread and on two."""

BUSY_ROWS = (64, 256, 2048)
"""Rows of 1024 elements whose tanh is taken while another process is busy: about 20 us, 100 us, 1 ms."""

TANH = """
func.func @tanh(%x: tensor<{rows}x1024xf32>) -> tensor<{rows}x1024xf32> {{
  %y = graph.tanh %x : tensor<{rows}x1024xf32>
  func.return %y : tensor<{rows}x1024xf32>
}}
"""

TOUCH = """
low.kernel @touch(%x: memref<16xi32>) grid [16, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<16xi32>
  memref.store %v, %x[%i] : memref<16xi32>
}
"""

BUSY = "while True: pass"


def time_threads(call: Thunk, rounds: int, block_seconds: float = 0.02) -> tuple[Times, Times]:
    """Returns the times of `call` on one thread and on two, in turns."""
    names = ("1", "2")
    prepare: Mapping[str, Thunk] = {name: partial(tenon.set_num_threads, int(name)) for name in names}
    times = time_interleaved(dict.fromkeys(names, call), rounds, block_seconds, prepare)
    return times["1"], times["2"]


def print_kernels(workloads: Sequence[Workload], rounds: int) -> None:
    """Prints the times of whole programs on one thread and on two."""
    rows = [["", "1 thread ms", "2 threads ms", "times as fast", "(min)"]]
    for workload in workloads:
        call = tenon_peer.contenders(workload, workload.arguments(), 2)["tenon"]
        one, two = time_threads(call, rounds)
        milliseconds = [f"{1e3 * seconds:.3f}" for seconds in (one.median, two.median)]
        ratios = [f"{one.median / two.median:.2f}", f"{one.minimum / two.minimum:.2f}"]
        rows.append([workload.name, *milliseconds, *ratios])
    print(f"\n{format_table(rows)}", flush=True)


def print_fork_join(rounds: int) -> None:
    """Prints what sharing out a kernel that does next to nothing takes longer than running it."""
    device = get_backend("llvm")
    source = device.renderer.render(parse_module(TOUCH), device.device)
    artifact = device.compiler.compile(source, device.device)
    device.driver.alloc_pool(1, 64, 64)
    device.driver.memset_zero(BufferLoc(1, 0), 64)
    step = LaunchStep("touch", (16, 1, 1), (1, 1, 1), (0,), nanoseconds=1_000_000)
    program = device.driver.bind(artifact, (step,) * FORK_COUNT, (BufferLoc(1, 0),))
    one, two = time_threads(program.run, rounds)
    median, minimum = (
        (b - a) / FORK_COUNT for a, b in ((one.median, two.median), (one.minimum, two.minimum))
    )
    print(
        f"\nsharing out a kernel and waiting for it, workers awake: {1e6 * median:.2f} us "
        f"(least {1e6 * minimum:.2f} us)",
        flush=True,
    )


@contextmanager
def busy_process() -> Iterator[None]:
    """Keeps one processor busy; the last one that this process may use, where the system can pin."""
    with subprocess.Popen([sys.executable, "-c", BUSY]) as process:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(process.pid, {max(os.sched_getaffinity(0))})
        time.sleep(0.2)
        try:
            yield
        finally:
            process.kill()


def print_contention(rounds: int) -> dict[str, float]:
    """
    Prints times on one thread and on two, without and with another process that keeps a processor busy.
    Returns how many times the time on one thread two of them take on the average, by the work.
    """
    found: dict[str, float] = {}
    rows = [["tanh of", "", "1 thread us", "2 threads us", "2 over 1", "(mean)"]]
    for row_count in BUSY_ROWS:
        executable = tenon.compile(TANH.format(rows=row_count))
        x = np.linspace(-3, 3, row_count * 1024, dtype=np.float32).reshape(row_count, 1024)
        call = partial(executable, x, out=np.empty_like(x))
        quiet = time_threads(call, rounds, 0.1)
        with busy_process():
            busy = time_threads(call, rounds, 0.1)
        for what, (one, two) in (("alone", quiet), ("beside a busy process", busy)):
            microseconds = [f"{1e6 * seconds:.1f}" for seconds in (one.median, two.median)]
            ratios = [f"{two.median / one.median:.2f}", f"{two.mean / one.mean:.2f}"]
            rows.append([f"{row_count}x1024", what, *microseconds, *ratios])
            found[f"tanh of {row_count}x1024, {what}"] = two.mean / one.mean
    print(f"\n{format_table(rows)}", flush=True)
    worst = max(found, key=lambda name: found[name])
    verdict = "met" if found[worst] <= MOST_TIMES_SERIAL else "missed"
    print(
        f"\ntwo threads take {found[worst]:.2f} times as long as one at worst ({worst}); "
        f"the goal of at most {MOST_TIMES_SERIAL:g} is {verdict}"
    )
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.threads", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="rounds of blocks (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="where to write what two threads take over one")
    options = parser.parse_args(arguments)
    if hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) < 2:
        parser.error("this process may use one processor only")
    print_kernels([each for each in WORKLOADS if each.name.startswith(SHARED)], options.rounds)
    print_fork_join(options.rounds)
    found = print_contention(options.rounds)
    record(options.json, found)


if __name__ == "__main__":
    main()
