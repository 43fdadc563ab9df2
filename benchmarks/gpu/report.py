"""The section of the report on programs on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..findings import geometric_mean
from ..tables import markdown_table, seconds_text
from .contest import Outcome

Report = Mapping[str, Any]

TENON = "tenon"


def gpu_text(report: Report) -> str:
    """Returns the table of workloads, and who could not do what."""
    outcomes: Mapping[str, Outcome] = report["outcomes"]
    peers = [name for name in report["versions"] if name != TENON]
    versions = ", ".join(f"{name} {report['versions'][name]}" for name in peers)
    rows = [["workload", "Tenon", "rate", *peers, "ratio"]]
    ratios: list[float] = []
    for name, outcome in outcomes.items():
        rows.append([name, *_cells(report["work"][name], outcome, peers)])
        ratio = ratio_of(outcome)
        if ratio is not None:
            ratios.append(ratio)
    left_out = "".join(f" Left out: {name} ({reason})." for name, reason in report["missing"].items())
    parts = [
        f"{report['device']}, driver {report['driver']}; f32 without shorter floats. Peers: "
        f"{versions}.{left_out} The rate is that of the contractions' multiplications and additions, "
        "of other work that of reading arguments and writing results once. The ratio is the best peer's "
        "least time over Tenon's.",
        markdown_table(rows),
    ]
    if ratios:
        won = sum(ratio >= 1 for ratio in ratios)
        parts.append(
            f"Geometric mean of the ratios: {geometric_mean(ratios):.2f}; {won} of {len(ratios)} at least 1."
        )
    parts += [
        f"- {name}, {library}: {error}"
        for name, outcome in outcomes.items()
        for library, error in outcome["errors"].items()
    ]
    return "\n\n".join(parts) + "\n"


def ratio_of(outcome: Outcome) -> float | None:
    """Returns the best peer's least time over Tenon's; None where either has none."""
    times = {name: each["minimum"] for name, each in outcome["times"].items()}
    peers = [time for name, time in times.items() if name != TENON]
    return min(peers) / times[TENON] if peers and TENON in times else None


def _cells(work: Mapping[str, int], outcome: Outcome, peers: list[str]) -> list[str]:
    times = {name: each["minimum"] for name, each in outcome["times"].items()}
    cells = [seconds_text(times[TENON]), _rate(work, times[TENON])] if TENON in times else ["none", ""]
    cells += [seconds_text(times[name]) if name in times else "none" for name in peers]
    ratio = ratio_of(outcome)
    return [*cells, "" if ratio is None else f"{ratio:.2f}"]


def _rate(work: Mapping[str, int], seconds: float) -> str:
    if work["flops"]:
        return f"{work['flops'] / seconds / 1e12:.2f} TFLOP/s"
    return f"{work['nbytes'] / seconds / 1e9:.0f} GB/s"
