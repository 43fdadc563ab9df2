"""
Runs passes one after the other and tells instruments about it.

A pass manager is made of pass objects, or of text: `canonicalize-graph,convert-graph-to-sched{fuse=false}`,
also in mlir-opt's form `builtin.module(...)`. What is timed, printed or checked on the way is an
instrument's business (`passes/instruments`), not the manager's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from ..dialects.modules.collection_pause import collection_paused
from ..errors import TenonError
from .instruments.interface import check_instrument
from .pipeline_text import parse_passes
from .registry import ALL_PASSES
from .rewriting.debug_counter import PASS_EXECUTION, debug_counter
from .rewriting.failing_location import failing_location, failure_text


class PassError(TenonError):
    """A pass cannot handle a program; `pass_name` says which pass."""

    def __init__(self, message: str, pass_name: str, *, location: str | None = None):
        super().__init__(f"{message} [in pass `{pass_name}`]", location=location)
        self.pass_name = pass_name


class InvalidModuleError(Exception):
    """`pass_` left a module that does not verify: a bug of the pass."""

    def __init__(self, message: str, pass_: ModulePass):
        super().__init__(message)
        self.pass_ = pass_


@dataclass(init=False)
class PassManager:
    """
    Passes in order, with the instruments that watch them. With `verify_each` the module is verified after
    each pass; what comes in is taken to be valid, as `parse_module` and `verify_module` leave it.
    """

    passes: Sequence[ModulePass]
    instruments: Sequence[object]
    verify_each: bool

    def __init__(
        self,
        passes: str | Sequence[ModulePass],
        instruments: Sequence[object] = (),
        verify_each: bool = True,
        available: Mapping[str, Callable[[], type[ModulePass]]] | None = None,
    ) -> None:
        """
        Makes a pass manager of passes, or of text that names passes in `available` (by default: Tenon's).

        Raises `TenonError` for text that is no pipeline, unknown passes and options, values of a wrong type,
        and an instrument that has none of an instrument's methods.
        """
        for instrument in instruments:
            check_instrument(instrument)
        if isinstance(passes, str):
            passes = parse_passes(passes, ALL_PASSES if available is None else available)
        self.passes, self.instruments, self.verify_each = passes, instruments, verify_each

    def __str__(self) -> str:
        return ",".join(str(pass_) for pass_ in self.passes)

    def run(self, ctx: Context, module: ModuleOp) -> None:
        """
        Rewrites `module` by all passes in order.

        Raises `PassError` where a pass cannot handle the program and `InvalidModuleError` where it leaves a
        module that does not verify. Any other exception of a pass goes through, with a note naming the
        pass; so does what an instrument raises. The module is then as the failing pass left it.
        """
        with collection_paused():
            self._run(ctx, module)

    def _run(self, ctx: Context, module: ModuleOp) -> None:
        comparing = any(getattr(instrument, "wants_changed", False) for instrument in self.instruments)
        text = str(module) if comparing and self.passes else ""
        self._tell("before_pipeline", self.passes, module)
        for pass_ in self.passes:
            self._tell("before", pass_, module)
            try:
                self._run_pass(pass_, ctx, module)
                changed = None
                if comparing:
                    text, previous = str(module), text
                    changed = text != previous
                self._tell("after", pass_, module, changed)
            except BaseException as error:
                self._tell("failed", pass_, module, error)
                raise
        self._tell("after_pipeline", module)

    def _run_pass(self, pass_: ModulePass, ctx: Context, module: ModuleOp) -> None:
        counter = debug_counter(PASS_EXECUTION)
        try:
            if counter is None:
                pass_.apply(ctx, module)
            elif counter.should_execute():
                counter.last = str(pass_)
                pass_.apply(ctx, module)
        except DiagnosticException as error:
            raise PassError(failure_text(error), pass_.name, location=failing_location(error)) from error
        except TenonError as error:
            raise PassError(error.message, pass_.name, location=error.location) from error
        except BaseException as error:
            error.add_note(f"in pass `{pass_}`")
            raise
        self._tell("applied", pass_, module)
        if self.verify_each:
            try:
                module.verify()
            except VerifyException as error:
                raise InvalidModuleError(f"pass `{pass_}`: left an invalid module: {error}", pass_) from error

    def _tell(self, event: str, *what: object) -> None:
        """Calls the method `event` of each instrument that has one."""
        for instrument in self.instruments:
            if (hear := getattr(instrument, event, None)) is not None:
                hear(*what)
