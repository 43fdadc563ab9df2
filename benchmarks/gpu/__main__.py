"""
Times the contest's workloads on a GPU, on arrays that stay there, against torch and jax where these find one.

    TENON_OPENCL_DEVICE=nvidia python -m benchmarks.gpu [matmul "gelu 4096"]
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ..command import is_chosen, record
from ..workloads import WORKLOADS
from .contenders import MAKERS, NoGpuError, driver_version, gpu_backend, versions_of
from .contest import Outcome, contest
from .report import gpu_text


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("workload", nargs="*", help="what to time, by the beginning of a name (default: all)")
    parser.add_argument("--peers", default="torch,jax", help="those to take part (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of blocks (default: %(default)s)")
    parser.add_argument("--block", type=float, default=20, help="ms of a block (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=10, help="s for a workload (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="where to write what was found")
    options = parser.parse_args(arguments)
    try:
        backend = gpu_backend()
    except NoGpuError as error:
        sys.exit(f"benchmarks.gpu: {error}")
    chosen = [workload for workload in WORKLOADS if is_chosen(workload.name, options.workload)]
    if not chosen:
        parser.error(f"no workload begins so (there are {', '.join(w.name for w in WORKLOADS)})")
    # Else jax takes most of the memory when it is first used.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    names = [name for name in options.peers.split(",") if name]
    for name in names:
        if name not in MAKERS:
            parser.error(f"no peer {name!r} (choose from {', '.join(MAKERS)})")
    versions, missing = versions_of(names)
    makers = {name: MAKERS[name] for name in versions}
    outcomes: dict[str, Outcome] = {}
    for workload in chosen:
        outcomes[workload.name] = outcome = contest(
            workload, makers, options.rounds, options.block / 1e3, options.limit
        )
        times = ", ".join(f"{name} {1e3 * each['minimum']:.4f} ms" for name, each in outcome["times"].items())
        print(f"{workload.name}: {times}", *outcome["errors"].values(), sep="\n  ", flush=True)
        report = {
            "device": backend.device.name,
            "driver": driver_version(backend),
            "versions": versions,
            "missing": missing,
            "work": {w.name: {"flops": w.flops, "nbytes": w.nbytes} for w in chosen},
            "outcomes": outcomes,
        }
        # After each workload: a run that is stopped leaves what it found.
        record(options.json, report)
    print(f"\n{gpu_text(report)}")
    if any("tenon" in outcome["errors"] for outcome in outcomes.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
