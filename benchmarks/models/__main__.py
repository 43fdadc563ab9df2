"""
Runs whole models in Tenon and its peers on one thread, checks all answers against numpy's in f64, and times
them.
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
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description=__doc__)
    parser.add_argument("row", nargs="*", help="what to time, by the beginning of a name (default: all)")
    parser.add_argument(
        "--size", choices=("tiny", "full"), default="full", help="tiny is for a try (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=9, help="rounds of blocks (default: %(default)s)")
    parser.add_argument("--block", type=float, default=20, help="ms of a block (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=20, help="s for a row (default: %(default)s)")
    parser.add_argument(
        "--peers",
        default="torch,torch.compile,onnxruntime,jax,iree",
        help="those to time (default: %(default)s)",
    )
    parser.add_argument("--no-gate", action="store_true", help="let disturbed rounds count too")
    parser.add_argument("--json", type=Path, help="where to write what was found")
    options = parser.parse_args(arguments)
    use_one_thread()

    # Only now: these import numpy.
    from .. import limits
    from ..findings import TENON
    from ..gate import Gate
    from ..machine import describe_machine
    from .contenders import NAMED, find_peers
    from .contest import contest, warm_up
    from .imported import IMPORTED
    from .registry import MODELS
    from .report import line_of

    names = [model.row_name(row) for model in MODELS.values() for row in model.scales[options.size].rows]
    chosen = [name for name in names if is_chosen(name, options.row)]
    if not chosen:
        parser.error(f"no row begins so (there are {', '.join(names)})")
    warnings.filterwarnings("ignore")
    installed, missing = find_peers([name for name in options.peers.split(",") if name])
    gate = None if options.no_gate else Gate(limits.Probe(1))
    imported = (name for name, (peer, _) in IMPORTED.items() if peer in installed)
    contenders = (TENON, NAMED, *imported, *installed)
    warm_up(MODELS["LSTM"], contenders)
    warm_up(MODELS["ResNet-18"], contenders)
    report = {
        "machine": describe_machine(),
        "versions": installed,
        "missing": missing,
        "weights": {},
        "outcomes": {},
    }
    for model in MODELS.values():
        rows = [row for row in model.scales[options.size].rows if model.row_name(row) in chosen]
        if not rows:
            continue
        weights, report["weights"][model.name] = model.weights(options.size)
        for row in rows:
            outcome = contest(
                model,
                options.size,
                row,
                weights,
                contenders,
                options.rounds,
                options.block / 1e3,
                gate,
                options.limit,
            )
            report["outcomes"][model.row_name(row)] = outcome
            print(line_of(model.row_name(row), outcome), flush=True)
            # After each row: a run that is stopped leaves what it found.
            record(options.json, report)
    if any(outcome["errors"] for outcome in report["outcomes"].values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
