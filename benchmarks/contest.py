"""
Puts Tenon and its peers to work on the same arguments, checks that they agree, and times them, each with so
many threads.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .command import is_chosen, record
from .pinning import use_threads

if TYPE_CHECKING:
    from .gate import Gate
    from .harness import Thunk, Times
    from .peers.interface import Peer
    from .workloads import Workload

TOLERANCE = 2e-4
"""How far off a result may be, as a share of the largest element that is expected."""


class DisagreementError(Exception):
    """A contender computed something else."""


@dataclass
class Outcome:
    """How a workload went; without times something is wrong with it, which `errors` tells."""

    times: dict[str, Times] = field(default_factory=dict[str, "Times"])
    failures: dict[str, str] = field(default_factory=dict[str, str])
    """What peers said who cannot do the work."""
    error: str = ""


def contest(
    workload: Workload,
    peers: Mapping[str, Peer],
    threads: int,
    rounds: int,
    block_seconds: float,
    gate: Gate | None,
    most_seconds: float = inf,
) -> Outcome:
    """Returns the times of all contenders that know the workload."""
    from .harness import time_interleaved
    from .peers.numpy_peer import expected

    arguments = workload.arguments()
    outcome = Outcome()
    contenders: dict[str, Thunk] = {}
    right = expected(workload, arguments)
    for name, peer in peers.items():
        try:
            found = peer.contenders(workload, arguments, threads)
            answers = {each: call() for each, call in found.items()}
        except peer.FAILURES as failure:
            outcome.failures[name] = reason_of(failure)
            continue
        for each, answer in answers.items():
            check_answer(workload.name, each, answer, right)
        contenders.update(found)
    outcome.times = time_interleaved(contenders, rounds, block_seconds, gate=gate, most_seconds=most_seconds)
    return outcome


def reason_of(failure: Exception) -> str:
    """Returns what a contender said that cannot do the work, or did another, in one line."""
    if isinstance(failure, DisagreementError):
        return str(failure)
    return f"{type(failure).__name__}: {failure}".strip().split("\n")[0][:300]


def check_answer(workload_name: str, name: str, answer: Any, right: Any) -> None:
    """
    Checks one answer against the one that was computed in f64.

    Raises:
        DisagreementError: its dtype or its shape is another one, or an element is too far off.
    """
    import numpy as np

    actual = np.asarray(answer)
    if actual.shape != right.shape or actual.dtype != np.float32:
        raise DisagreementError(
            f"{workload_name}: {name} gives {actual.dtype}{list(actual.shape)}, "
            f"expected float32{list(right.shape)}"
        )
    largest, difference = float(np.max(np.abs(right))), float(np.max(np.abs(actual - right)))
    if not difference <= TOLERANCE * largest:
        raise DisagreementError(
            f"{workload_name}: {name} is off by up to {difference:g} (largest {largest:g})"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contest", description=__doc__)
    parser.add_argument("workload", nargs="*", help="what to time, by the beginning of a name (default: all)")
    parser.add_argument("--threads", type=int, default=1, help="of each contender (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of blocks (default: %(default)s)")
    parser.add_argument("--block", type=float, default=10, help="ms of a block (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=10, help="s for a workload (default: %(default)s)")
    parser.add_argument(
        "--peers",
        help="those to take part, with commas; opencl is Tenon's own (default: all that are installed)",
    )
    parser.add_argument("--no-gate", action="store_true", help="let disturbed rounds count too")
    parser.add_argument("--json", type=Path, help="where to write what was found")
    options = parser.parse_args(arguments)
    use_threads(options.threads)

    # Only now: these import numpy.
    from . import limits
    from .gate import Gate
    from .harness import format_table
    from .machine import describe_machine
    from .peers import tenon_peer
    from .peers.interface import PEER_NAMES, find_peers
    from .workloads import WORKLOADS

    chosen = [workload for workload in WORKLOADS if is_chosen(workload.name, options.workload)]
    if not chosen:
        parser.error(f"no workload begins so (there are {', '.join(w.name for w in WORKLOADS)})")
    warnings.filterwarnings("ignore")
    names = tuple(options.peers.split(",")) if options.peers is not None else PEER_NAMES
    installed, missing = find_peers(tuple(filter(None, names)))
    peers: dict[str, Peer] = {"tenon": tenon_peer, **installed}
    for name, reason in missing.items():
        print(f"left out: {name} ({reason})", flush=True)
    gate = None if options.no_gate else Gate(limits.Probe(options.threads))
    found = limits.measure(options.threads)
    print(f"{found.flops_per_second / 1e9:.1f} GFLOP/s, {options.threads} threads", flush=True)
    outcomes: dict[str, Outcome] = {}
    report: dict[str, object] = {
        "machine": describe_machine(),
        "threads": options.threads,
        "versions": {name: peer.VERSION for name, peer in installed.items()},
        "missing": missing,
        "limits": asdict(found),
    }
    for workload in chosen:
        try:
            outcome = contest(
                workload, peers, options.threads, options.rounds, options.block / 1e3, gate, options.limit
            )
        except DisagreementError as error:
            outcome = Outcome(error=str(error))
        outcomes[workload.name] = outcome
        print(f"\n{workload.name} {outcome.error}")
        rows = [["", "least ms", "median ms", "tenon is", "quiet"]]
        for name, times in sorted(outcome.times.items(), key=lambda item: item[1].minimum):
            ratio = times.minimum / outcome.times["tenon"].minimum
            cells = [f"{1e3 * times.minimum:.4f}", f"{1e3 * times.median:.4f}", f"x {ratio:.2f}"]
            rows.append([name, *cells, str(times.quiet_rounds)])
        print(format_table(rows), flush=True)
        for name, reason in outcome.failures.items():
            print(f"{name}: {reason}", flush=True)
        # After each workload: a run that is stopped leaves what it found.
        record(options.json, {**report, "outcomes": {name: asdict(each) for name, each in outcomes.items()}})
    if any(outcome.error for outcome in outcomes.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
