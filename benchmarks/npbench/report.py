"""The section of the report on NPBench's kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..findings import TENON, geometric_mean
from ..outcomes import Outcome, failure_lines, least_times, peers_text, ratio_of, ratio_text
from ..tables import markdown_table, seconds_text

Report = Mapping[str, Any]


def npbench_text(report: Report) -> str:
    """Returns the table of kernels, those where Tenon is furthest behind first, and what is missing."""
    outcomes: Mapping[str, Outcome] = report["outcomes"]
    names = list(report["versions"])
    rows = [["kernel", *names, "Tenon", "best peer", "ratio", "to numpy", "first call"]]
    ratios: dict[str, float] = {}
    for name, outcome in outcomes.items():
        found = ratio_of(outcome)
        if found is not None:
            ratios[name] = found[1]
    for name in sorted(ratios, key=lambda name: ratios[name]):
        rows.append([name, *_cells(outcomes[name], names)])
    parts = [
        f"{report['machine']['processor']}, Python {report['machine']['python']}, one thread, size "
        f"{report['size']}. {peers_text(report)} The ratio is the best peer's least time over "
        "Tenon's; the last column is Tenon's first call, which compiles.",
        markdown_table(rows),
        *_means(outcomes, ratios),
        *_missing(outcomes),
    ]
    return "\n\n".join(parts) + "\n"


def line_of(name: str, outcome: Outcome) -> str:
    """Returns what is printed of a kernel while others run."""
    times = ", ".join(f"{library} {seconds_text(time)}" for library, time in least_times(outcome).items())
    errors = "".join(f"\n  {error}" for error in outcome["errors"].values())
    return f"{name}: {times}{ratio_text(outcome)}{errors}"


def _cells(outcome: Outcome, names: list[str]) -> list[str]:
    times = least_times(outcome)
    found = ratio_of(outcome)
    assert found is not None, "a row without a ratio"
    best, ratio = found
    to_numpy = f"{times['numpy'] / times[TENON]:.2f}" if "numpy" in times else ""
    of_peers = [seconds_text(times[name]) if name in times else "" for name in names]
    return [
        *of_peers,
        seconds_text(times[TENON]),
        best,
        f"{ratio:.2f}",
        to_numpy,
        seconds_text(outcome["first"][TENON]),
    ]


def _means(outcomes: Mapping[str, Outcome], ratios: Mapping[str, float]) -> list[str]:
    if not ratios:
        return []
    ahead = sum(ratio >= 1 for ratio in ratios.values())
    to_best = geometric_mean(list(ratios.values()))
    text = f"Geometric mean of {len(ratios)} ratios: {to_best:.2f} to the best peer, "
    for peer in ("numpy", "numba", "jax"):
        pairs = [least_times(outcomes[name]) for name in ratios if peer in least_times(outcomes[name])]
        if pairs:
            mean = geometric_mean([times[peer] / times[TENON] for times in pairs])
            text += f"{mean:.2f} to {peer} ({len(pairs)}), "
    return [f"{text.removesuffix(', ')}. Tenon is the fastest in {ahead}."]


def _missing(outcomes: Mapping[str, Outcome]) -> list[str]:
    """Returns which libraries have no source of what, and who failed."""
    without: dict[str, list[str]] = {}
    for name, outcome in outcomes.items():
        for library in outcome["without"]:
            without.setdefault(library, []).append(name)
    parts = [f"No source for {library}: {', '.join(names)}." for library, names in without.items()]
    errors = failure_lines(outcomes)
    return [*parts, "Could not do the work, or did another:", "\n".join(errors)] if errors else parts
