"""Tells when each pass ran."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter_ns

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .interface import PassInstrument


@dataclass
class Spans(PassInstrument):
    """
    Calls `report` with the name, the begin and the end of each pass that ran or failed, in nanoseconds of
    `time.perf_counter_ns`. They leave out the verifier, which runs between passes, and other instruments.
    """

    report: Callable[[str, int, int], None]
    _begin_ns: int = field(default=0, init=False)
    _is_running: bool = field(default=False, init=False)

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        self._begin_ns = perf_counter_ns()
        self._is_running = True

    def applied(self, pass_: ModulePass, module: ModuleOp) -> None:
        self._end(pass_)

    def failed(self, pass_: ModulePass, module: ModuleOp, error: BaseException) -> None:
        if self._is_running:
            self._end(pass_)

    def _end(self, pass_: ModulePass) -> None:
        self._is_running = False
        self.report(pass_.name, self._begin_ns, perf_counter_ns())
