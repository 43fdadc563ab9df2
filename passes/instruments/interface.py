"""The interface of instruments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...errors import TenonError


class PassInstrument(Protocol):
    """
    Watches a pipeline run; instruments hear of each event in the order they were given. An instrument must
    not change the module. Any object with some of these methods is one, whether or not it is a subclass:
    what it has not, it does not hear of.
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


EVENTS = ("before_pipeline", "before", "applied", "after", "failed", "after_pipeline")
"""The methods of an instrument."""


def check_instrument(instrument: object) -> None:
    """Raises `TenonError` for an object that would hear of nothing, such as one with a misspelt method."""
    if not any(callable(getattr(instrument, event, None)) for event in EVENTS):
        raise TenonError(
            f"instruments: {type(instrument).__name__} has none of the methods of an instrument "
            f"({', '.join(EVENTS)})"
        )
