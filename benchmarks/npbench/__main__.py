"""
Runs NPBench's kernels in Tenon, numpy, numba and jax on one thread, checks all answers against numpy's, and
times them.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from ..command import is_chosen, record
from ..pinning import use_one_thread


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.npbench", description=__doc__)
    parser.add_argument("kernel", nargs="*", help="what to time, by the beginning of a name (default: all)")
    parser.add_argument(
        "--size",
        choices=("tiny", "S", "M"),
        default="S",
        help="NPBench's, or for a try (default: %(default)s)",
    )
    parser.add_argument("--rounds", type=int, default=9, help="rounds of blocks (default: %(default)s)")
    parser.add_argument("--block", type=float, default=10, help="ms of a block (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=5, help="s for a kernel (default: %(default)s)")
    parser.add_argument("--peers", default="numpy,numba,jax", help="those to time (default: %(default)s)")
    parser.add_argument("--no-gate", action="store_true", help="let disturbed rounds count too")
    parser.add_argument("--json", type=Path, help="where to write what was found")
    options = parser.parse_args(arguments)
    use_one_thread()

    # Only now: these import numpy.
    from .. import limits
    from ..gate import Gate
    from ..machine import describe_machine
    from .contenders import find_peers
    from .contest import contest, warm_up
    from .registry import KERNELS
    from .report import line_of

    chosen = [kernel for name, kernel in KERNELS.items() if is_chosen(name, options.kernel)]
    if not chosen:
        parser.error(f"no kernel begins so (there are {', '.join(KERNELS)})")
    warnings.filterwarnings("ignore")
    installed, missing = find_peers([name for name in options.peers.split(",") if name])
    gate = None if options.no_gate else Gate(limits.Probe(1))
    warm_up(installed)
    report = {
        "machine": describe_machine(),
        "size": options.size,
        "versions": installed,
        "missing": missing,
        "outcomes": {},
    }
    for kernel in chosen:
        outcome = contest(
            kernel, options.size, tuple(installed), options.rounds, options.block / 1e3, gate, options.limit
        )
        report["outcomes"][kernel.name] = outcome
        print(line_of(kernel.name, outcome), flush=True)
        # After each kernel: a run that is stopped leaves what it found.
        record(options.json, report)
    if any(outcome["errors"] for outcome in report["outcomes"].values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
