"""Writes the module to a numbered file before the first pass and after each pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .interface import PassInstrument
from .print_ir import print_module


@dataclass
class TreeDump(PassInstrument):
    """
    Writes `00-input.mlir`, `01-canonicalize-graph.mlir`, ... into `directory`, which is made if it is not
    there. The module that a failing pass left goes to a file like `02-plan-memory-failed.mlir`.
    """

    directory: Path
    print_module: Callable[[ModuleOp, IO[str]], None] = field(default=print_module)
    _written: int = field(default=0, init=False)

    def before_pipeline(self, passes: Sequence[ModulePass], module: ModuleOp) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self._written = 0
        self._write("input", module)

    def after(self, pass_: ModulePass, module: ModuleOp, changed: bool | None) -> None:
        self._write(pass_.name, module)

    def failed(self, pass_: ModulePass, module: ModuleOp, error: BaseException) -> None:
        self._write(f"{pass_.name}-failed", module)

    def _write(self, what: str, module: ModuleOp) -> None:
        with (self.directory / f"{self._written:02d}-{what}.mlir").open("w", encoding="utf-8") as file:
            self.print_module(module, file)
        self._written += 1
