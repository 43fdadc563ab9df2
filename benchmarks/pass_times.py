"""Takes the time of every pass of a pipeline run, each by its place in the order."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

from tenon.dialects import context
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.instruments.interface import PassInstrument
from tenon.passes.machine.target import DEFAULT_TARGET, Target
from tenon.passes.pass_manager import PassManager
from tenon.passes.pipeline import phases
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

Row = tuple[str, float]


@dataclass
class PassTimes(PassInstrument):
    """Collects `(name, seconds)` in the order that passes run, without verifying between them."""

    rows: list[Row] = field(default_factory=list[Row])
    _start: float = field(default=0.0, init=False)

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        self._start = perf_counter()

    def applied(self, pass_: ModulePass, module: ModuleOp) -> None:
        self.rows.append((pass_.name, perf_counter() - self._start))


def time_passes(text: str, target: Target = DEFAULT_TARGET) -> tuple[list[Row], ModuleOp]:
    """
    Returns the times of parsing `text` and of each pass of the default pipeline, for a
    machine, and the module they make.
    """
    gc.collect()
    start = perf_counter()
    module = parse_module(text, "benchmark.mlir")
    parsing = ("parse", perf_counter() - start)
    times = PassTimes()
    passes = [pass_ for phase in phases(target).values() for pass_ in phase]
    PassManager(passes, (times,), verify_each=False).run(context(), module)
    return [parsing, *times.rows], module


def best_rows(runs: Sequence[Sequence[Row]]) -> list[Row]:
    """Returns the least time of each row over runs of the same pipeline."""
    return [(rows[0][0], min(seconds for _, seconds in rows)) for rows in zip(*runs, strict=True)]
