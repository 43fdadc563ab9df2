"""
Times gelu, softmax and layernorm on 4096x1024, matmul 512 and digits inference in Tenon, numpy and whatever
peers are installed, on one thread.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from .harness import format_times
from .one_thread import use_one_thread

WORKLOAD_NAMES = ("gelu", "softmax", "layernorm", "matmul", "digits")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description=__doc__)
    parser.add_argument(
        "workload", nargs="*", help=f"what to time: {', '.join(WORKLOAD_NAMES)} (default: all)"
    )
    parser.add_argument("--opencl", action="store_true", help="time the opencl backend too")
    parser.add_argument("--no-peers", action="store_true", help="time Tenon and numpy only")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of blocks (default: %(default)s)")
    options = parser.parse_args(arguments)
    for name in options.workload:
        if name not in WORKLOAD_NAMES:
            parser.error(f"no workload {name!r} (choose from {', '.join(WORKLOAD_NAMES)})")
    use_one_thread()

    # Only now: these import numpy.
    from .contest import BASELINE, contest
    from .peers.interface import find_peers
    from .workloads import make_workloads

    peers, missing = ({}, []) if options.no_peers else find_peers()
    if missing:
        print(f"not installed, left out: {', '.join(missing)}")
    backends = ("llvm", "opencl") if options.opencl else ("llvm",)
    for workload in make_workloads():
        if not options.workload or workload.name in options.workload:
            print(f"\n{workload.name}")
            print(format_times(contest(workload, backends, peers, options.rounds), BASELINE), flush=True)


if __name__ == "__main__":
    main()
