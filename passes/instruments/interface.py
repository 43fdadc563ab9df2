"""What an instrument is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


class PassInstrument(Protocol):
    """
    Watches a pipeline run. A subclass overrides the events it wants to hear of; instruments hear of each
    event in the order they were given. An instrument must not change the module.
    """

    wants_changed: bool = False
    """Whether `after` is to say if the pass changed the module, which costs printing it."""

    def before_pipeline(self, passes: Sequence[ModulePass], module: ModuleOp) -> None:
        """The passes are about to run."""

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """The pass is about to run."""

    def applied(self, pass_: ModulePass, module: ModuleOp) -> None:
        """The pass has returned; what it left has not been verified yet."""

    def after(self, pass_: ModulePass, module: ModuleOp, changed: bool | None) -> None:
        """The pass has succeeded. `changed` compares texts; it is None where no instrument wants to know."""

    def failed(self, pass_: ModulePass, module: ModuleOp, error: BaseException) -> None:
        """
        The pass, verifying what it left, or an instrument's `after` has raised `error`, which goes on after
        this.
        """

    def after_pipeline(self, module: ModuleOp) -> None:
        """All passes have succeeded."""
