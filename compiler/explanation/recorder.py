"""Watches a pipeline and notes what each pass changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects import graph
from ...passes.instruments.interface import PassInstrument
from ...passes.rewriting.rewrite_counts import counted_rewrites
from ...passes.sched.planning.convert_graph_to_sched import ConvertGraphToSchedPass
from ...runtime.reports.explanation import PassEffect
from .words import rule_words

_WATCHED = ("graph.", "sched.kernel", "sched.axis", "sched.reduce", "sched.alloc", "func.call")
"""The names of ops that changes are told of begin with one of these."""


class Recorder(PassInstrument):
    """Notes the effects of passes, and how many ops of `graph` there were before they became kernels."""

    def __init__(self) -> None:
        self.effects: list[PassEffect] = []
        self.n_ops = 0
        self._ops: Counter[str] = Counter()
        self._rules: Counter[str] = Counter()
        self._counting = ExitStack()

    def before_pipeline(self, passes: Sequence[ModulePass], module: ModuleOp) -> None:
        self._ops = _watched_ops(module)

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        self._rules = Counter()
        self._counting.enter_context(counted_rewrites(self._rules))
        if isinstance(pass_, ConvertGraphToSchedPass):
            self.n_ops = sum(isinstance(op, graph.GraphOp) for op in module.walk())

    def after(self, pass_: ModulePass, module: ModuleOp, changed: bool | None) -> None:
        self._counting.close()
        before, self._ops = self._ops, _watched_ops(module)
        if isinstance(pass_, ConvertGraphToSchedPass):
            return
        changes = [(name, self._ops[name] - before[name]) for name in sorted(before | self._ops)]
        ops = tuple((name, change) for name, change in changes if change)
        rules = tuple(sorted((rule_words(name), count) for name, count in self._rules.items()))
        if ops or rules:
            self.effects.append(PassEffect(pass_.name, rules, ops))

    def failed(self, pass_: ModulePass, module: ModuleOp, error: BaseException) -> None:
        self._counting.close()


def _watched_ops(module: ModuleOp) -> Counter[str]:
    return Counter(op.name for op in module.walk() if op.name.startswith(_WATCHED))
