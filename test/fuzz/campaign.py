"""Runs programs of all kinds for some minutes, counts what came of them, and shrinks and keeps what fails."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import quantiles

from .pool import ROOT, Result, Worker, run_all
from .shrink import MOST_TRIES, shrunk, signature

MOST_SHRUNK = 3
"""How many failures with one signature are shrunk and written."""


def command(kind: str, seed: int, given: dict[str, int]) -> str:
    """Returns what runs one program again."""
    words = [f"{name}={value}" for name, value in given.items()]
    more = f" --with {' '.join(words)}" if words else ""
    return f"python -m tenon.test.fuzz --kind {kind} --seed {seed}{more}"


def programs(kinds: Sequence[str], seed: int) -> Iterator[tuple[str, int]]:
    """Yields programs without end, of the kinds in turn."""
    for number in count():
        yield kinds[number % len(kinds)], seed + number // len(kinds)


@dataclass
class Campaign:
    """What was run so far."""

    folder: Path
    most_tries: int = MOST_TRIES
    """How often a failing program is run to shrink it."""
    most_seconds: float = 300.0
    """How long reducing the text of one may take."""
    ops: list[int] = field(default_factory=list[int])
    counts: dict[str, Counter[str]] = field(default_factory=dict[str, "Counter[str]"])
    failures: list[Result] = field(default_factory=list[Result])
    signatures: Counter[str] = field(default_factory=lambda: Counter[str]())
    seconds: Counter[str] = field(default_factory=lambda: Counter[str]())

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._start = time.monotonic()

    def note(self, worker: Worker, result: Result) -> None:
        """Counts a program; a failure is shrunk, printed, and written to the folder."""
        self.ops.append(result["ops"])
        self.seconds.update(result["seconds"])
        target, *more = result["way"].split(", ")
        self._count("kinds", result["kind"])
        self._count("targets", target)
        for word in more:
            self._count("ways", word)
        for name in ("is_loose", "is_undecided"):
            if result[name]:
                self._count("comparisons", name.removeprefix("is_"))
        if result["status"] == "right":
            return
        self._count("failures", result["kind"])
        sign = signature(result)
        self.signatures[sign] += 1
        if self.signatures[sign] <= MOST_SHRUNK:
            result = shrunk(
                result, lambda given: worker.run(result["kind"], result["seed"], given), self.most_tries
            )
            self._write(result)
            print(f"\n{self._reduced(result)}", flush=True)
        self.failures.append(result)
        print(f"\n{result['status']} ({result['way']}, {result['ops']} ops): {sign}", flush=True)
        print(f"  {command(result['kind'], result['seed'], result['given'])}", flush=True)

    def _count(self, table: str, name: str) -> None:
        self.counts.setdefault(table, Counter())[name] += 1

    def _write(self, result: Result) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        name = f"{result['kind']}-{result['seed']}"
        words = command(result["kind"], result["seed"], result["given"])
        choices = json.dumps({name: value for name, (value, _) in result["choices"].items()})
        head = f"{words}\n{result['status']}: {result['way']}, {result['ops']} ops"
        text = f"{head}\n\n{result['detail']}\n\n{choices}\n"
        (self.folder / f"{name}.txt").write_text(text, encoding="utf-8")

    def _reduced(self, result: Result) -> str:
        """Reduces the module of a failure, in a process of its own, and returns a line about it."""
        target = result["way"].partition(",")[0]
        asked = {name: result[name] for name in ("kind", "seed", "given")}
        asked |= {"backend": "opencl" if target == "opencl" else "llvm", "folder": str(self.folder)}
        try:
            done = subprocess.run(
                [sys.executable, "-m", "tenon.test.fuzz.reduction"],
                input=json.dumps(asked),
                capture_output=True,
                text=True,
                cwd=ROOT,
                timeout=self.most_seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"not reduced within {self.most_seconds:.0f} s"
        lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
        return lines[-1] if lines else f"not reduced: exit status {done.returncode}"

    @property
    def progress(self) -> str:
        """A line: programs, ops, failures, and how many programs a minute."""
        minutes = (time.monotonic() - self._start) / 60
        return (
            f"{minutes:6.1f} min  {len(self.ops)} programs  {sum(self.ops)} ops  "
            f"{len(self.failures)} failures  {len(self.ops) / max(minutes, 1e-9):.0f} programs/min"
        )

    def summary(self) -> str:
        """What was run, by kind, target and way, and the failures."""
        lines = [self.progress]
        if len(self.ops) > 1:
            cuts = quantiles(self.ops, n=100)
            lines.append(
                f"ops of a program: median {cuts[49]:.0f}, 90 % below {cuts[89]:.0f}, "
                f"99 % below {cuts[98]:.0f}, most {max(self.ops)}"
            )
        for table, counted in sorted(self.counts.items()):
            lines.append(f"{table}: " + ", ".join(f"{name} {n}" for name, n in sorted(counted.items())))
        spent = ", ".join(f"{name} {seconds:.0f}" for name, seconds in sorted(self.seconds.items()))
        lines.append(f"processor seconds: {spent}")
        for failure in self.failures:
            lines.append(
                f"{failure['status']}: {command(failure['kind'], failure['seed'], failure['given'])}"
            )
        lines += [f"{n} x {sign}" for sign, n in self.signatures.most_common()]
        return "\n".join(lines)

    def run(self, kinds: Sequence[str], seed: int, minutes: float, jobs: int, every: float = 20.0) -> None:
        """Runs programs for so many minutes, and prints a line about them every so many seconds."""
        end = self._start + minutes * 60
        said = [self._start]

        def noticed(worker: Worker, result: Result) -> None:
            self.note(worker, result)
            if time.monotonic() > said[0] + every:
                said[0] = time.monotonic()
                print(self.progress, flush=True)

        run_all(programs(kinds, seed), jobs, noticed, lambda: time.monotonic() < end)
