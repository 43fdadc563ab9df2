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

from .findings import findings_of
from .plot import draw
from .sections import CONTESTS, SECTIONS, details_text

PARTS: Mapping[str, tuple[str, ...]] = {
    "one_thread": ("contest", "--threads", "1"),
    "two_threads": ("contest", "--threads", "2", "--limit", "6"),
    "compile": ("cold_compile",),
    "calls": ("calls",),
    "threads": ("threads",),
    "narrow": ("narrow",),
    "npbench": ("npbench",),
    "gpu": ("gpu",),
    "models": ("models",),
}
"""By the name of a part's file: the command, which takes `--json`."""

QUICK: Mapping[str, tuple[str, ...]] = {
    "contest": ("--rounds", "2", "--block", "2", "--limit", "0", "--no-gate"),
    "cold_compile": ("--processes", "1"),
    "calls": ("--rounds", "3"),
    "threads": ("--rounds", "2"),
    "narrow": ("--size", "tiny", "--rounds", "1"),
    "npbench": ("--size", "tiny", "--rounds", "1", "--block", "0.1", "--no-gate"),
    "gpu": ("--rounds", "1", "--block", "1", "--limit", "0"),
    "models": ("--size", "tiny", "--rounds", "1", "--block", "0.1", "--no-gate"),
}
"""What makes a command fast and its figures worthless."""

DEFAULT = tuple(name for name in PARTS if name != "gpu")
"""The parts that every machine can run."""

ALONE = ("tracing", "transfers", "compile_time")
"""Benchmarks that print only."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "part",
        nargs="*",
        help=f"one of {', '.join((*PARTS, *ALONE))} (default: {' '.join(DEFAULT)})",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("out/bench"), help="the folder (default: %(default)s)"
    )
    parser.add_argument("--quick", action="store_true", help="only try whether everything runs")
    parser.add_argument(
        "--size", choices=("S", "M"), default="S", help="of NPBench's kernels (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    for part in options.part:
        if part not in PARTS and part not in ALONE:
            parser.error(f"no part {part!r} (choose from {', '.join((*PARTS, *ALONE))})")
    options.out.mkdir(parents=True, exist_ok=True)
    failed: list[str] = []
    for part in options.part or DEFAULT:
        start = perf_counter()
        print(f"\n== {part}", flush=True)
        command = [sys.executable, "-m"]
        if part in PARTS:
            name, *rest = PARTS[part]
            command += [f"{__package__}.{name}", *rest, "--json", str(options.out / f"{part}.json")]
            if name == "npbench":
                command += ["--size", options.size]
            if options.quick:
                command += QUICK[name]
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
    for name, section in SECTIONS.items():
        path = out / f"{name}.json"
        if path.exists():
            report = json.loads(path.read_text())
            parts += [f"## {section.title}", section.text(report)]
            if name in CONTESTS:
                draw(findings_of(report), section.title, out / f"{name}.png")
                parts += [f"![{section.title}]({name}.png)", details_text(report)]
    (out / "report.md").write_text("\n\n".join(part.rstrip() for part in parts) + "\n")


if __name__ == "__main__":
    main()
