"""Keeps what is needed to run a failing pass again, in one file."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .interface import PassInstrument

_TRAILER = re.compile(
    r"\{-#\s*external_resources:\s*\{\s*mlir_reproducer:\s*\{(?P<entries>.*?)\}\s*\}\s*#-\}\s*\Z", re.DOTALL
)
_PIPELINE = re.compile(r'\bpipeline:\s*"((?:[^"\\]|\\.)*)"')
_VERIFY_EACH = re.compile(r"\bverify_each:\s*(true|false)")


@dataclass(frozen=True)
class Reproducer:
    """
    A module's text and the pipeline that fails on it; `str` gives MLIR's form, the text followed by

    ```mlir
    {-#
      external_resources: {
        mlir_reproducer: {
          pipeline: "builtin.module(canonicalize-graph)",
          verify_each: true
        }
      }
    #-}
    ```
    """

    text: str
    pipeline: str
    verify_each: bool = True

    def __str__(self) -> str:
        pipeline = f"builtin.module({self.pipeline})".replace("\\", "\\\\").replace('"', '\\"')
        return (
            f"{self.text.rstrip()}\n\n"
            "{-#\n  external_resources: {\n    mlir_reproducer: {\n"
            f'      pipeline: "{pipeline}",\n'
            f"      verify_each: {str(self.verify_each).lower()}\n"
            "    }\n  }\n#-}\n"
        )

    @staticmethod
    def read(text: str) -> Reproducer | None:
        """Returns the reproducer that `text` is, None where it does not end in one."""
        if not (trailer := _TRAILER.search(text)) or not (pipeline := _PIPELINE.search(trailer["entries"])):
            return None
        verify_each = _VERIFY_EACH.search(trailer["entries"])
        return Reproducer(
            text[: trailer.start()],
            re.sub(r"\\(.)", r"\1", pipeline[1]),
            verify_each is None or verify_each[1] == "true",
        )


@dataclass
class CrashReproducer(PassInstrument):
    """
    When a pass fails, writes a `Reproducer` to `path`: the module as it came in and the whole pipeline, or
    with `local` the module before the failing pass and this pass alone. Costs printing the module, `local`
    before each pass. Where the file cannot be written `problem` says why, and the failure of the pass goes
    on.
    """

    path: Path
    local: bool = False
    verify_each: bool = True
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
        reproducer = Reproducer(self._text, pipeline, self.verify_each)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(str(reproducer), encoding="utf-8")
        except OSError as problem:
            self.problem = f"cannot write {self.path}: {(problem.strerror or str(problem)).lower()}"
        else:
            self.is_written = True
