"""The section of the report on whole models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..findings import TENON, geometric_mean
from ..outcomes import Outcome, failure_lines, least_times, peers_text, ratio_of, ratio_text
from ..tables import markdown_table, seconds_text
from .contenders import NAMED
from .imported import IMPORTED

Report = Mapping[str, Any]

RATIO_GOAL, MEAN_GOAL, NAMED_GOAL = 1.0, 1.2, 1.1
"""
The least ratio of a row, the least geometric mean of all, and the most times that named dims may take of what
static shapes do.
"""


def models_text(report: Report) -> str:
    """Returns the tables of times and of first calls, which goals are missed, and who failed."""
    outcomes: Mapping[str, Outcome] = report["outcomes"]
    peers = list(report["versions"])
    weights = "; ".join(f"{name}: {origin}" for name, origin in report["weights"].items())
    parts = [
        f"{report['machine']['processor']}, Python {report['machine']['python']}, one thread. "
        f"{peers_text(report)} Weights: {weights}. The ratio is the best peer's least time over "
        "Tenon's; the last column is the time with named dims over that with static shapes.",
        _times_table(outcomes, peers),
        _goals_text(outcomes),
        "First calls, which compile; libraries are imported and have compiled another model before:",
        _first_table(outcomes, peers),
        *_imported(outcomes),
        *_errors(outcomes),
    ]
    return "\n\n".join(parts) + "\n"


def named_of(outcome: Outcome) -> float | None:
    """Returns the time with named dims over that with static shapes; None where either is not there."""
    times = least_times(outcome)
    return times[NAMED] / times[TENON] if NAMED in times and TENON in times else None


def line_of(name: str, outcome: Outcome) -> str:
    """Returns what is printed of a row while others run."""
    first = outcome["first"]
    times = ", ".join(
        f"{each} {seconds_text(time)} (first {seconds_text(first[each])})"
        for each, time in least_times(outcome).items()
    )
    errors = "".join(f"\n  {each}: {error}" for each, error in outcome["errors"].items())
    return f"{name}: {times}{ratio_text(outcome)}{errors}"


def _times_table(outcomes: Mapping[str, Outcome], peers: Sequence[str]) -> str:
    rows = [["model", *peers, "Tenon", "named dims", "best peer", "ratio", "named"]]
    for name, outcome in outcomes.items():
        times, found, named = least_times(outcome), ratio_of(outcome), named_of(outcome)
        cells = [seconds_text(times[each]) if each in times else "" for each in (*peers, TENON, NAMED)]
        best, ratio = ("", "") if found is None else (found[0], _marked(found[1], found[1] >= RATIO_GOAL))
        rows.append([name, *cells, best, ratio, "" if named is None else _marked(named, named <= NAMED_GOAL)])
    return markdown_table(rows)


def _marked(value: float, is_met: bool) -> str:
    return f"{value:.2f}" if is_met else f"**{value:.2f}**"


def _first_table(outcomes: Mapping[str, Outcome], peers: Sequence[str]) -> str:
    columns = [*peers, TENON, NAMED]
    rows = [["model", *peers, "Tenon", "named dims"]]
    for name, outcome in outcomes.items():
        first = outcome["first"]
        rows.append([name, *(seconds_text(first[each]) if each in first else "" for each in columns)])
    return markdown_table(rows)


def _imported(outcomes: Mapping[str, Outcome]) -> list[str]:
    """Returns the table of the same models, taken from other frameworks; nothing where none was."""
    names = [name for name in IMPORTED if any(name in outcome["times"] for outcome in outcomes.values())]
    if not names:
        return []
    rows = [["model", *(cell for name in names for cell in (name, f"to {IMPORTED[name][0]}", "first call"))]]
    for row, outcome in outcomes.items():
        times, cells = least_times(outcome), [row]
        for name in names:
            peer = IMPORTED[name][0]
            cells.append(seconds_text(times[name]) if name in times else "")
            ratio = times[peer] / times[name] if name in times and peer in times else None
            cells.append("" if ratio is None else _marked(ratio, ratio >= RATIO_GOAL))
            cells.append(seconds_text(outcome["first"][name]) if name in times else "")
        rows.append(cells)
    return [
        "The same models as other frameworks have them, run by Tenon; the ratio is the framework's least "
        "time over Tenon's:",
        markdown_table(rows),
    ]


def _goals_text(outcomes: Mapping[str, Outcome]) -> str:
    found = {name: ratio for name, outcome in outcomes.items() if (ratio := ratio_of(outcome))}
    named = {name: ratio for name, outcome in outcomes.items() if (ratio := named_of(outcome))}
    if not found:
        return "No row has a peer."
    mean = geometric_mean([ratio for _, ratio in found.values()])
    behind = [name for name, (_, ratio) in found.items() if ratio < RATIO_GOAL]
    slower = [name for name, ratio in named.items() if ratio > NAMED_GOAL]
    sentences = [
        f"Geometric mean of {len(found)} ratios: {mean:.2f} (goal {MEAN_GOAL:.2f}, "
        f"{'met' if mean >= MEAN_GOAL else '**missed**'}).",
        f"Under {RATIO_GOAL:.2f}: {', '.join(behind) or 'none'}.",
        f"Named dims over {NAMED_GOAL:.2f} of static shapes: {', '.join(slower) or 'none'}.",
    ]
    return " ".join(sentences)


def _errors(outcomes: Mapping[str, Outcome]) -> list[str]:
    lines = failure_lines(outcomes)
    return ["Could not do the work, or did another:", "\n".join(lines)] if lines else []
