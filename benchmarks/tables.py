"""Tables of what a contest found, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from .findings import MEAN_GOALS, TENON, Finding, mean_ratios


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Returns rows of equally many cells as a table, of which the first row is the head."""
    head, *body = rows
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def seconds_text(seconds: float) -> str:
    """Returns a time with three digits that count."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            value = seconds * scale
            return f"{value:.{max(0, 2 - len(str(int(value))) + 1)}f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def contest_table(findings: Sequence[Finding], with_goals: bool = True) -> str:
    """Returns the table of ratios: one row for each workload, misses in bold where there are goals."""
    rows = [["workload", "Tenon", "of the limit", "best peer", "its time", "ratio", "of medians", "goal"]]
    for finding in findings:
        peer = finding.best_peer
        share = f"{100 * finding.share_of_limit:.0f} %"
        if finding.share_goal is not None:
            share += f" (goal {100 * finding.share_goal:.0f} %)"
        cells = [finding.workload.name, seconds_text(finding.tenon), share]
        if peer is None or finding.ratio is None or finding.median_ratio is None:
            cells += ["none", "", "", ""]
        else:
            ratios = [f"{finding.ratio:.2f}", f"{finding.median_ratio:.2f}"]
            cells += [peer, seconds_text(finding.times[peer]), *ratios]
        verdict = f"{finding.workload.goal:.2f} " + ("met" if finding.is_met else "**missed**")
        rows.append([*cells, verdict])
    return markdown_table(rows if with_goals else [row[:-1] for row in rows])


def means_table(findings: Sequence[Finding], with_goals: bool = True) -> str:
    """Returns the geometric means of the groups' ratios."""
    rows = [["group", "geometric mean of the ratios", "goal"]]
    for group, mean in mean_ratios(findings).items():
        goal = MEAN_GOALS.get(group)
        verdict = "" if goal is None else f"{goal:.2f} " + ("met" if round(mean, 2) >= goal else "**missed**")
        rows.append([group, f"{mean:.2f}", verdict])
    return markdown_table(rows if with_goals else [row[:-1] for row in rows])


def times_table(findings: Sequence[Finding]) -> str:
    """Returns every contender's least time."""
    names = [TENON]
    for finding in findings:
        names += [name for name in finding.times if name not in names]
    rows = [["workload", *names]]
    for finding in findings:
        cells = [seconds_text(finding.times[name]) if name in finding.times else "" for name in names]
        rows.append([finding.workload.name, *cells])
    return markdown_table(rows)


def missed_text(findings: Sequence[Finding]) -> str:
    """Returns one line for each goal that was missed, the worst first."""
    missed = sorted((f for f in findings if not f.is_met), key=lambda f: (f.ratio or 0) / f.workload.goal)
    if not missed:
        return "No goal is missed.\n"
    lines = [f"{len(missed)} of {len(findings)} goals are missed, the worst first:", ""]
    for finding in missed:
        ratio = "no peer" if finding.ratio is None else f"{finding.ratio:.2f} times as fast as the best peer"
        lines.append(
            f"- {finding.workload.name}: {ratio} ({finding.best_peer}), goal {finding.workload.goal:.2f}; "
            f"{100 * finding.share_of_limit:.0f} % of the machine's limit"
        )
    return "\n".join(lines) + "\n"
