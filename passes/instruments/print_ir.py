"""Prints the module before and after passes, under mlir-opt's banners."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field
from typing import IO

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .interface import PassInstrument


class EveryPass(Container[str]):
    """The names of all passes."""

    def __contains__(self, name: object) -> bool:
        return True


def print_module(module: ModuleOp, stream: IO[str]) -> None:
    """Prints a module as `str` does, and a line break."""
    print(module, file=stream)


@dataclass
class PrintIR(PassInstrument):
    """
    Prints the module to `stream` before the passes in `before_passes` and after those in `after_passes`,
    where one of them fails too. `only_changes` leaves out, of the latter, those that changed nothing,
    `only_failures` those that succeeded.
    """

    stream: IO[str]
    before_passes: Container[str] = ()
    after_passes: Container[str] = ()
    only_changes: bool = False
    only_failures: bool = False
    print_module: Callable[[ModuleOp, IO[str]], None] = field(default=print_module)

    def __post_init__(self) -> None:
        self.wants_changed = self.only_changes

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        if pass_.name in self.before_passes:
            self._print(f"Before {_title(pass_)}", module)

    def after(self, pass_: ModulePass, module: ModuleOp, changed: bool | None) -> None:
        skipped = self.only_failures or (self.only_changes and changed is False)
        if pass_.name in self.after_passes and not skipped:
            self._print(f"After {_title(pass_)}", module)

    def failed(self, pass_: ModulePass, module: ModuleOp, error: BaseException) -> None:
        if pass_.name in self.after_passes:
            self._print(f"After {type(pass_).__name__} Failed ({pass_.name})", module)

    def _print(self, what: str, module: ModuleOp) -> None:
        self.stream.write(f"// -----// IR Dump {what} //----- //\n")
        self.print_module(module, self.stream)
        self.stream.write("\n\n")
        self.stream.flush()


def _title(pass_: ModulePass) -> str:
    return f"{type(pass_).__name__} ({pass_.name})"
