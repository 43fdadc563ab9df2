"""
Runs the benchmarks, each in a process of its own, and writes what they found to a folder: `report.md`, its
figures as JSON, and pictures.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter

from .calls import CALL_GOAL_NS, FOUR_ARRAYS, NUMPY
from .cold_compile import table_of
from .findings import findings_of, read_reports
from .plot import draw
from .report import contest_text, markdown_table
from .threads import MOST_TIMES_SERIAL

PARTS: Mapping[str, tuple[str, ...]] = {
    "one_thread": ("contest", "--threads", "1"),
    "two_threads": ("contest", "--threads", "2", "--limit", "6"),
    "compile": ("cold_compile",),
    "calls": ("calls",),
    "threads": ("threads",),
}
"""By the name of a part's file: the command, which takes `--json`."""

ALONE = ("tracing", "transfers", "compile_time")
"""Benchmarks that print only."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "part",
        nargs="*",
        help=f"one of {', '.join((*PARTS, *ALONE))} (default: the first {len(PARTS)})",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("out/bench"), help="the folder (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    for part in options.part:
        if part not in PARTS and part not in ALONE:
            parser.error(f"no part {part!r} (choose from {', '.join((*PARTS, *ALONE))})")
    options.out.mkdir(parents=True, exist_ok=True)
    failed: list[str] = []
    for part in options.part or PARTS:
        start = perf_counter()
        print(f"\n== {part}", flush=True)
        command = [sys.executable, "-m"]
        if part in PARTS:
            name, *rest = PARTS[part]
            command += [f"{__package__}.{name}", *rest, "--json", str(options.out / f"{part}.json")]
        else:
            command += [f"{__package__}.{part}"]
        done = subprocess.run(command, env=_variables(part, options.out), check=False)
        print(f"== {part}: {perf_counter() - start:.0f} s", flush=True)
        if done.returncode:
            failed.append(part)
    write_report(options.out)
    print(f"\n{options.out / 'report.md'}")
    if failed:
        sys.exit(f"benchmarks: wrong or stopped: {', '.join(failed)}")


def _variables(part: str, out: Path) -> dict[str, str]:
    variables = {"TORCHINDUCTOR_CACHE_DIR": str((out / "torch").resolve()), **os.environ}
    # Nothing that an earlier run compiled, and nothing for later ones.
    return variables if part == "compile" else {**variables, "TENON_CACHE": "0"}


def write_report(out: Path) -> None:
    """Writes `report.md` and the pictures from the files that are there."""
    parts = ["# Benchmarks"]
    for name, title in (("one_thread", "One thread"), ("two_threads", "Two threads")):
        path = out / f"{name}.json"
        if path.exists():
            report = read_reports([path])
            draw(findings_of(report), title, out / f"{name}.png")
            parts += [contest_text(report), f"![{title}]({name}.png)"]
    if (out / "compile.json").exists():
        found = json.loads((out / "compile.json").read_text())
        parts += ["## Compiling, in fresh processes", markdown_table(table_of(found))]
    if (out / "calls.json").exists():
        parts += ["## Calls", *_calls_parts(json.loads((out / "calls.json").read_text()))]
    if (out / "threads.json").exists():
        ratios: Mapping[str, float] = json.loads((out / "threads.json").read_text())
        rows = [["two threads over one", "ratio", f"goal {MOST_TIMES_SERIAL:g}"]]
        rows += [
            [name, f"{ratio:.2f}", "met" if ratio <= MOST_TIMES_SERIAL else "**missed**"]
            for name, ratio in ratios.items()
        ]
        parts += ["## Beside a busy process", markdown_table(rows)]
    (out / "report.md").write_text("\n\n".join(part.rstrip() for part in parts) + "\n")


def _calls_parts(times: Mapping[str, tuple[float, float]]) -> list[str]:
    rows = [["8 elements of f32", "median ns", "least ns"]]
    rows += [[name, f"{median:.0f}", f"{least:.0f}"] for name, (median, least) in times.items()]
    four, numpys = times[FOUR_ARRAYS][1], times[NUMPY][1]
    verdict = "met" if four < CALL_GOAL_NS and four <= numpys else "**missed**"
    goal = f"Goal for 4 arrays: no more than numpy's {numpys:.0f} ns, less than {CALL_GOAL_NS} ns"
    return [markdown_table(rows), f"{goal}: {four:.0f} ns, {verdict}."]


if __name__ == "__main__":
    main()
