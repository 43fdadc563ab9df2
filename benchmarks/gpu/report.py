"""The section of the report on programs on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..findings import TENON, geometric_mean
from ..outcomes import Outcome, failure_lines, least_times, peers_text, ratio_of
from ..tables import markdown_table, seconds_text

Report = Mapping[str, Any]


def gpu_text(report: Report) -> str:
    """Returns the table of workloads, and who could not do what."""
    outcomes: Mapping[str, Outcome] = report["outcomes"]
    peers = [name for name in report["versions"] if name != TENON]
    rows = [["workload", "Tenon", "rate", *peers, "ratio"]]
    ratios: list[float] = []
    for name, outcome in outcomes.items():
        rows.append([name, *_cells(report["work"][name], outcome, peers)])
        found = ratio_of(outcome)
        if found is not None:
            ratios.append(found[1])
    parts = [
        f"{report['device']}, driver {report['driver']}; f32 without shorter floats. "
        f"{peers_text(report)} The rate is that of the contractions' multiplications and additions, "
        "of other work that of reading arguments and writing results once. The ratio is the best peer's "
        "least time over Tenon's.",
        markdown_table(rows),
    ]
    if ratios:
        won = sum(ratio >= 1 for ratio in ratios)
        parts.append(
            f"Geometric mean of the ratios: {geometric_mean(ratios):.2f}; {won} of {len(ratios)} at least 1."
        )
    return "\n\n".join([*parts, *failure_lines(outcomes)]) + "\n"


def _cells(work: Mapping[str, int], outcome: Outcome, peers: list[str]) -> list[str]:
    times = least_times(outcome)
    cells = [seconds_text(times[TENON]), _rate(work, times[TENON])] if TENON in times else ["none", ""]
    cells += [seconds_text(times[name]) if name in times else "none" for name in peers]
    found = ratio_of(outcome)
    return [*cells, "" if found is None else f"{found[1]:.2f}"]


def _rate(work: Mapping[str, int], seconds: float) -> str:
    if work["flops"]:
        return f"{work['flops'] / seconds / 1e12:.2f} TFLOP/s"
    return f"{work['nbytes'] / seconds / 1e9:.0f} GB/s"
