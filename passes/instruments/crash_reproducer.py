"""Writes a reproducer when a pass fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .interface import PassInstrument
from .reproducer import NO_PLUGINS, Plugins, Reproducer


@dataclass
class CrashReproducer(PassInstrument):
    """
    When a pass fails, writes a `Reproducer` to `path`: the module as it came in and the whole pipeline, or
    with `local` the module before the failing pass and this pass alone. Costs printing the module, `local`
    before each pass. `problem` says why the file could not be written. The failure of the pass goes on then.
    """

    path: Path
    local: bool = False
    verify_each: bool = True
    plugins: Plugins = NO_PLUGINS
    print_module: Callable[[ModuleOp], str] = field(default=str)
    is_written: bool = field(default=False, init=False)
    problem: str = field(default="", init=False)
    _text: str = field(default="", init=False)
    _passes: Sequence[ModulePass] = field(default=(), init=False)

    def before_pipeline(self, passes: Sequence[ModulePass], module: ModuleOp) -> None:
        if not self.local:
            self._passes, self._text = passes, self.print_module(module)

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        if self.local:
            self._passes, self._text = (pass_,), self.print_module(module)

    def failed(self, pass_: ModulePass, module: ModuleOp, error: BaseException) -> None:
        pipeline = ",".join(str(each) for each in self._passes)
        reproducer = Reproducer(self._text, pipeline, self.verify_each, self.plugins)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(str(reproducer), encoding="utf-8")
        except OSError as problem:
            self.problem = f"cannot write {self.path}: {(problem.strerror or str(problem)).lower()}"
        else:
            self.is_written = True
