"""What several libraries did of the same work: least times, the best peer, and who could not do it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .findings import TENON

Outcome = Mapping[str, Any]
"""How one piece of work went: `times` and `errors`, by library; Tenon's own ways begin with its name."""


def least_times(outcome: Outcome) -> dict[str, float]:
    return {name: times["minimum"] for name, times in outcome["times"].items()}


def ratio_of(outcome: Outcome) -> tuple[str, float] | None:
    """Returns the best peer and its least time over Tenon's; None where either has none."""
    times = least_times(outcome)
    peers = {name: time for name, time in times.items() if not name.startswith(TENON)}
    if TENON not in times or not peers:
        return None
    best = min(peers, key=lambda name: peers[name])
    return best, peers[best] / times[TENON]


def ratio_text(outcome: Outcome) -> str:
    """Returns the ratio as the end of a line, nothing where there is none."""
    found = ratio_of(outcome)
    return "" if found is None else f"; {found[1]:.2f} times as fast as {found[0]}"


def peers_text(report: Mapping[str, Any]) -> str:
    """Returns which peers took part, and why others did not."""
    peers = {name: version for name, version in report["versions"].items() if name != TENON}
    versions = ", ".join(f"{name} {version}" for name, version in peers.items())
    left_out = "".join(f" Left out: {name} ({reason})." for name, reason in report["missing"].items())
    return f"Peers: {versions}.{left_out}"


def failure_lines(outcomes: Mapping[str, Outcome], kind: str = "errors") -> list[str]:
    """Returns who could not do what, a line each."""
    return [
        f"- {name}, {library}: {reason}"
        for name, outcome in outcomes.items()
        for library, reason in outcome[kind].items()
    ]
