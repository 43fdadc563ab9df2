"""Counts ops before and after each pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .interface import PassInstrument
from .report import report_header


@dataclass(frozen=True)
class OpCounts:
    """How many ops of each name a module holds before and after one pass."""

    pass_name: str
    before: Counter[str]
    after: Counter[str]


@dataclass
class Statistics(PassInstrument):
    """Records `OpCounts` for each pass of each run."""

    rows: list[OpCounts] = field(default_factory=list[OpCounts])
    _counts: Counter[str] = field(default_factory=Counter[str], init=False)

    def before_pipeline(self, passes: Sequence[ModulePass], module: ModuleOp) -> None:
        self._counts = _count(module)

    def after(self, pass_: ModulePass, module: ModuleOp, changed: bool | None) -> None:
        counts = _count(module)
        self.rows.append(OpCounts(pass_.name, self._counts, counts))
        self._counts = counts

    def report(self) -> str:
        """
        Returns mlir-opt's `-mlir-pass-statistics` table: the number of ops, then each name whose number
        changed.
        """
        lines: list[str] = []
        for row in self.rows:
            lines.append(row.pass_name)
            lines.append(f"  (S) {row.after.total():5d} ops - {row.before.total()} before")
            for name in sorted(row.before | row.after):
                delta = row.after[name] - row.before[name]
                if delta:
                    lines.append(f"  (S) {delta:+5d} {name}")
        return report_header("Pass statistics") + "".join(f"{line}\n" for line in lines)


def _count(module: ModuleOp) -> Counter[str]:
    return Counter(op.name for op in module.walk())
