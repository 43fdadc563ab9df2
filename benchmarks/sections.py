"""
The sections of the report; `python -m benchmarks.sections FILE...` prints that of a contest or of its parts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .calls import CALL_GOAL_NS, FOUR_ARRAYS, NUMPY
from .cold_compile import table_of
from .findings import errors_of, findings_of, limits_of, read_reports
from .gpu.report import gpu_text
from .models.report import models_text
from .narrow import narrow_text
from .npbench.report import npbench_text
from .outcomes import failure_lines, peers_text
from .tables import contest_table, markdown_table, means_table, missed_text, times_table

MOST_TIMES_SERIAL = 2.0
"""How many times the time on one thread two threads may take while another process is busy."""

Report = Mapping[str, Any]


@dataclass(frozen=True)
class Section:
    title: str
    text: Callable[[Report], str]
    """Makes the text of what the part's file has."""


def contest_text(report: Report) -> str:
    """Returns what a contest found."""
    findings, limits = findings_of(report), limits_of(report)
    # They are for one thread.
    has_goals = limits.threads == 1
    rate = limits.bytes_per_second(1 << 25) / 1e9
    parts = [
        f"{report['machine']['processor']}, Python {report['machine']['python']}, threads: {limits.threads}. "
        f"Measured limits: {limits.flops_per_second / 1e9:.0f} GFLOP/s of fused multiply-adds, "
        f"{rate:.1f} GB/s of copying 16 MiB. {peers_text(report)}",
        contest_table(findings, has_goals),
        means_table(findings, has_goals),
        *([missed_text(findings)] if has_goals else []),
        *(f"**Wrong**: {error}" for error in errors_of(report).values()),
    ]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def details_text(report: Report) -> str:
    """Returns the times of all contenders, and who could not do what."""
    parts = ["All contenders:", times_table(findings_of(report))]
    failures = failure_lines(report["outcomes"], "failures")
    if failures:
        parts += ["Peers that could not do the work:", "\n".join(failures)]
    return "\n\n".join(parts) + "\n"


def compile_text(found: Report) -> str:
    """Returns the table of compile times."""
    return markdown_table(table_of(found)) + "\n"


def calls_text(times: Report) -> str:
    """Returns the table of calls, and whether their goal is met."""
    rows = [["8 elements of f32", "median ns", "least ns"]]
    rows += [[name, f"{median:.0f}", f"{least:.0f}"] for name, (median, least) in times.items()]
    four, numpys = times[FOUR_ARRAYS][1], times[NUMPY][1]
    verdict = "met" if four < CALL_GOAL_NS and four <= numpys else "**missed**"
    goal = f"Goal for 4 arrays: no more than numpy's {numpys:.0f} ns, less than {CALL_GOAL_NS} ns"
    return f"{markdown_table(rows)}\n\n{goal}: {four:.0f} ns, {verdict}.\n"


def threads_text(ratios: Report) -> str:
    """Returns the table of what two threads take over one, alone and beside a busy process."""
    rows = [["mean time on two threads over that on one", "ratio", f"goal {MOST_TIMES_SERIAL:g}"]]
    rows += [
        [name, f"{ratio:.2f}", "met" if ratio <= MOST_TIMES_SERIAL else "**missed**"]
        for name, ratio in ratios.items()
    ]
    return markdown_table(rows) + "\n"


CONTESTS = ("one_thread", "two_threads")

SECTIONS: Mapping[str, Section] = {
    "one_thread": Section("One thread", contest_text),
    "two_threads": Section("Two threads", contest_text),
    "compile": Section("Compiling, in fresh processes", compile_text),
    "calls": Section("Calls", calls_text),
    "threads": Section("Beside a busy process", threads_text),
    "narrow": Section("Products of narrow numbers", narrow_text),
    "npbench": Section("NPBench", npbench_text),
    "gpu": Section("A GPU", gpu_text),
    "models": Section("Whole models", models_text),
}
"""By the name of the part, and of its file."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sections", description=__doc__)
    parser.add_argument("contest", type=Path, nargs="+", help="files of a contest, or of parts of one")
    report = read_reports(parser.parse_args(arguments).contest)
    print(f"{contest_text(report)}\n{details_text(report)}")


if __name__ == "__main__":
    main()
