"""Draws the ratios and the shares of the machine's limit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .findings import Finding

_MET, _MISSED, _PLAIN = "#2a7f62", "#c8553d", "#4a6fa5"


def draw(findings: Sequence[Finding], title: str, path: Path) -> None:
    """
    Writes a picture with two panels of one bar for each workload: the ratio to the best peer, on a
    logarithmic axis with each goal marked, and the share of the limit.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = [finding for finding in findings if finding.ratio is not None]
    names = [finding.workload.name for finding in shown]
    places = list(range(len(shown)))
    figure: Any
    axes: Any
    figure, axes = pyplot.subplots(
        1, 2, figsize=(13, 1.6 + 0.28 * len(shown)), sharey=True, constrained_layout=True
    )
    left, right = axes
    ratios = [finding.ratio or 0 for finding in shown]
    left.barh(
        places,
        [ratio - 1 for ratio in ratios],
        left=1,
        color=[_MET if finding.is_met else _MISSED for finding in shown],
    )
    left.scatter(
        [finding.workload.goal for finding in shown], places, marker="|", s=90, color="black", zorder=3
    )
    left.set_xscale("log")
    ticks = [
        tick for tick in (0.125, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 8) if tick >= 0.8 * min(ratios, default=1)
    ]
    left.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
    left.minorticks_off()
    left.axvline(1, color="black", linewidth=0.8)
    left.set_yticks(places, names)
    left.invert_yaxis()
    left.set_xlabel("best peer's time / Tenon's (right of 1, Tenon is faster; | is the goal)")
    for place, finding in zip(places, shown, strict=True):
        left.annotate(
            f"{finding.ratio:.2f} {finding.best_peer}",
            (max(finding.ratio or 1, 1), place),
            textcoords="offset points",
            xytext=(8, 0),
            va="center",
            fontsize=7,
        )
    # Room for the names of the peers.
    left.set_xlim(0.8 * min([1, *ratios]), 4 * max([1, *ratios]))
    left.margins(y=0.01)
    right.barh(places, [100 * finding.share_of_limit for finding in shown], color=_PLAIN)
    right.axvline(100, color="black", linewidth=0.8)
    right.set_xlabel("share of the machine's limit, %")
    figure.suptitle(title)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
