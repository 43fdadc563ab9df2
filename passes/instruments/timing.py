"""Measures how long each pass takes."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .interface import PassInstrument
from .report import report_header

VERIFIER = "verifier"


@dataclass
class Timing(PassInstrument):
    """
    Adds up the wall time of each pass by name, and of verifying between passes; `phase` does so for anything
    else. The time that other instruments take counts for nothing.
    """

    seconds: dict[str, float] = field(default_factory=dict[str, float])
    _start: float = field(default=0.0, init=False)

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        self._start = perf_counter()

    def applied(self, pass_: ModulePass, module: ModuleOp) -> None:
        self._stop(pass_.name)

    def after(self, pass_: ModulePass, module: ModuleOp, changed: bool | None) -> None:
        self._stop(VERIFIER)

    def failed(self, pass_: ModulePass, module: ModuleOp, error: BaseException) -> None:
        self._stop(pass_.name)

    @contextmanager
    def phase(self, name: str) -> Generator[None]:
        """Counts the time spent inside under `name`."""
        start = perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - start

    def _stop(self, name: str) -> None:
        now = perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._start
        self._start = now

    def report(self) -> str:
        """Returns a table as mlir-opt's `-mlir-timing -mlir-timing-display=list` prints it, longest first."""
        total = sum(self.seconds.values())
        rows = sorted(self.seconds.items(), key=lambda row: -row[1])
        lines = [
            f"  {seconds:8.4f} ({100 * seconds / total if total else 0.0:5.1f}%)  {name}\n"
            for name, seconds in [*rows, ("Total", total)]
        ]
        return (
            report_header("Execution time")
            + f"  Total Execution Time: {total:.4f} seconds\n\n"
            + "  ----Wall Time----  ----Name----\n"
            + "".join(lines)
        )
