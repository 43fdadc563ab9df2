"""
Times compiling the fused kernels, and a matrix product, in fresh processes: Tenon without its cache, Tenon
with what another process left in the cache, and the peers that compile. Each process compiles something else
first, so that imports and what is made once are not in the figures; no kernel was compiled in it before.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from .command import record
from .harness import format_table
from .pinning import use_one_thread

COMPILED = (
    "matmul 512",
    "matmul 1024 + bias + gelu",
    "batched 96 x 128x64x128",
    "matmul 8x1024x1024",
    "conv2d 3x3 64->64 NCHW",
    "conv2d depthwise 3x3 128 NCHW",
    "gelu 4096x1024",
    "softmax 4096x1024",
    "layernorm 4096x1024",
    "rmsnorm 4096x1024",
    "logsumexp 4096x1024",
    "attention 8x12x128x64",
    "transformer MLP 256x768x3072",
    "chain of 12 ops 4096x1024",
    "sum over axis 1 of 512x512x64",
    "transpose 4096x1024",
)

LIBRARIES = ("tenon", "jax", "numba", "torch", "iree")
"""Those with a `compiler` in `peers/`. torch compiles for seconds, and does so once only."""

CACHED = "tenon, cached"

ONE_KERNEL_GOAL, PRODUCT_GOAL, CACHED_GOAL = 0.040, 0.080, 0.002
"""Seconds: a fused kernel, one with a product in it, and one from the cache."""

Seconds = dict[str, float]


def goal_of(name: str) -> float:
    """Returns how long compiling a workload may take."""
    products = ("matmul", "batched", "conv2d", "attention", "transformer")
    return PRODUCT_GOAL if name.startswith(products) else ONE_KERNEL_GOAL


def measure_here(library: str, only_load: bool) -> Seconds:
    """Returns the seconds that each workload takes to compile in this process."""
    use_one_thread()

    # Only now: these import numpy.
    from importlib import import_module
    from time import perf_counter

    from .workloads import WORKLOADS, Workload

    peer = import_module(f".peers.{library}_peer", __package__)
    compiler_of = peer.loader if only_load else peer.compiler
    small = Workload("small", "", "reduce_sum", {"x": (4, 4, 4)}, (4, 4), 1.0, parameters={"axis": 2})
    compiler_of(small, small.arguments())()
    seconds: Seconds = {}
    for workload in WORKLOADS:
        if workload.name not in COMPILED:
            continue
        compiler = compiler_of(workload, workload.arguments())
        if compiler is None:
            continue
        start = perf_counter()
        try:
            compiler()
        except peer.FAILURES:
            continue
        seconds[workload.name] = perf_counter() - start
    return seconds


def measure(processes: int) -> dict[str, Seconds]:
    """Returns the median over the processes, by library; a library that is not there is left out."""
    found: dict[str, Seconds] = {}
    with tempfile.TemporaryDirectory() as folder:
        for library in LIBRARIES:
            count = 1 if library == "torch" else processes
            variables = {"TENON_CACHE": "0"}
            runs: list[Seconds] = []
            for number in range(count):
                variables["TORCHINDUCTOR_CACHE_DIR"] = str(Path(folder) / f"torch{number}")
                runs += _in_process(library, variables)
            if runs:
                found[library] = _medians(runs)
        variables = {"TENON_CACHE_DIR": str(Path(folder) / "cache")}
        runs = [run for _ in range(processes + 1) for run in _in_process("tenon", variables, "--load")]
        if len(runs) > 1:
            found[CACHED] = _medians(runs[1:])
    return found


def _in_process(library: str, variables: Mapping[str, str], *options: str) -> list[Seconds]:
    command = [sys.executable, "-m", f"{__package__}.cold_compile", "--here", library, *options]
    # A checkout has the bytecode then that an installed package has.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        command,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(f"{library}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}", flush=True)
        return []
    return [json.loads(done.stdout.splitlines()[-1])]


def _medians(runs: Sequence[Seconds]) -> Seconds:
    return {name: median(run[name] for run in runs) for name in runs[0]}


def table_of(found: Mapping[str, Seconds]) -> list[list[str]]:
    """Returns the table's rows, in ms, with what is above its goal or above jax's time told."""
    names = list(found)
    rows = [["workload", *(f"{name} ms" for name in names), "goal ms", ""]]
    for workload in COMPILED:
        mine = found.get("tenon", {}).get(workload)
        if mine is None:
            continue
        goal = goal_of(workload)
        cells = [f"{1e3 * found[n][workload]:.1f}" if workload in found[n] else "" for n in names]
        missed = [f"over {1e3 * goal:.0f} ms"] if mine > goal else []
        missed += ["over jax"] if mine > found.get("jax", {}).get(workload, mine) else []
        missed += ["cached over 2 ms"] if found.get(CACHED, {}).get(workload, 0) > CACHED_GOAL else []
        verdict = f"**missed**: {', '.join(missed)}" if missed else "met"
        rows.append([workload, *cells, f"{1e3 * goal:.0f}", verdict])
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cold_compile", description=__doc__)
    parser.add_argument("--processes", type=int, default=3, help="of each library (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="where to write what was found")
    parser.add_argument("--here", choices=LIBRARIES, help="time this library here, and print JSON")
    parser.add_argument("--load", action="store_true", help="with --here: of what was traced already")
    options = parser.parse_args(arguments)
    if options.here is not None:
        print(json.dumps(measure_here(options.here, options.load)))
        return
    found = measure(options.processes)
    print(format_table(table_of(found)))
    record(options.json, found)


if __name__ == "__main__":
    main()
