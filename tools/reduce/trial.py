"""
What is asked about a module: does it fail, and how?

A trial compiles the module as `tenon.compile` does and runs it beside the interpreter, all in a child process
(`child.py`). What it finds is a `Failure`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...backends.interface import Backend
from ...backends.reference.execute import run_module
from ...backends.reference.kernels.undefined_memory import undefined_bytes
from ...backends.registry import REFERENCE, compiling_names, get_backend
from ...compiler.compile import compile
from ...compiler.lowering import default_phases
from ...dialects import context, sched
from ...dialects.graph import dims_of
from ...dialects.modules.entry import Entry, find_entry, keep_only
from ...dialects.modules.level import IRLevel
from ...errors import TenonError
from ...passes.instruments.interface import PassInstrument
from ...passes.instruments.random_inputs import random_inputs
from ...passes.instruments.verify_semantics import SemanticsError, VerifySemantics, public_functions
from ...passes.pass_manager import InvalidModuleError, PassManager
from ...runtime.executables.executable import Executable
from ...semantics.host_calls import HostFunctions
from ...semantics.numpy_types import is_floating
from ..run.run_outcome import Array, RunOutcome, compare_outcomes
from ..run.run_state import RunState, run_state
from .child import Died, Finished, Note, TimedOut, call_in_child
from .failures import Failure, FailureKind

TIMEOUT = 60.0
"""How many seconds a trial may take unless told otherwise."""

FAR = "far off"
"""What is wrong with results that no rounding explains."""

ROUNDED = "off by little"

_FAR_PART = 0.01
"""Results that differ by more than this part of the largest element are far off."""

INTERPRETER = "the interpreter"


_PASS = re.compile("pass `(.*)`")


def pass_place(name: str) -> str:
    """Returns where a failure of a pass is."""
    return f"pass `{name}`"


def pass_of(place: str) -> str | None:
    """Returns the name of the pass at whose place a failure is, None for other places."""
    found = _PASS.fullmatch(place)
    return None if found is None else found[1]


@dataclass(frozen=True)
class Trial:
    """
    Compiles a module in a child process, and runs it on random inputs of `seeds` beside the interpreter.

    `backend` is the backend's name; with None only the passes run. `pipeline` is the text of passes to run
    instead of the backend's default ones. `entry` names the function; without a name all are tried, in their
    order. With `verify_each` the module is verified after each pass; with `verify_semantics` it is also run
    before the first and after each pass, by the interpreter. A child that takes more than `timeout` seconds
    is killed. `target` names the processor that llvm makes code for. `until` is the name of a pass that alone
    is asked about: nothing is run after it, and semantics are not verified before it. `callbacks` are the
    functions that the module may call.

    Raises `TenonError` for a backend, or a pass, that is not known.
    """

    backend: str | None = "llvm"
    pipeline: str | None = None
    entry: str | None = None
    seeds: Sequence[int] = (0,)
    verify_each: bool = True
    verify_semantics: bool = False
    timeout: float = TIMEOUT
    target: str | None = None
    until: str | None = None
    callbacks: HostFunctions = field(default_factory=dict[str, Callable[..., Any]])

    def __post_init__(self) -> None:
        if self.backend not in (None, *(names := compiling_names())):
            raise TenonError(f"reduce: backend '{self.backend}' is not one of {', '.join(names)}")
        if self.pipeline is not None:
            PassManager(self.pipeline)

    def failure(self, module: ModuleOp) -> Failure | None:
        """
        Returns the first failure of a module, None where it has none. The module is left as it is.

        Raises `TenonError` where this system has no forks.
        """

        def work(note: Note) -> dict[str, str] | None:
            found = _failure(self, module, note)
            return None if found is None else found.to_json()

        match call_in_child(work, self.timeout):
            case Finished(None):
                return None
            case Finished(value):
                return Failure.from_json(value)
            case Died(how, doing, said):
                message = f"the process ended by {how}" + (f" ({said})" if said else "")
                return Failure(FailureKind.CRASH, doing, how, message)
            case TimedOut(doing):
                message = f"no end in {self.timeout:g} seconds"
                return Failure(FailureKind.TIMEOUT, doing, "timeout", message)


@dataclass
class _PassNotes(PassInstrument):
    """Notes which pass is about to run, and what comes after all passes."""

    note: Note
    then: str

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        self.note(pass_place(pass_.name))

    def after_pipeline(self, module: ModuleOp) -> None:
        self.note(self.then)


def _failure(trial: Trial, module: ModuleOp, note: Note) -> Failure | None:
    """Returns the first failure of the module's entries. This is what runs in a child."""
    os.environ["TENON_CACHE"] = "0"
    place = ""

    def keep(doing: str) -> None:
        nonlocal place
        place = doing
        note(doing)

    for name in [trial.entry] if trial.entry else [*public_functions(module)] or [None]:
        try:
            keep("search for the function")
            own = module.clone()
            entry = find_entry(own, name)
            keep_only(own, entry)
            for failure in _failures(trial, own, entry, keep):
                return failure
        except SemanticsError as error:
            return Failure.of_error(FailureKind.SEMANTICS, place, error)
        except InvalidModuleError as error:
            return Failure.of_error(FailureKind.INVALID, place, error)
        except Exception as error:
            return Failure.of_error(FailureKind.ERROR, place, error)
    return None


def _failures(trial: Trial, module: ModuleOp, entry: Entry, note: Note) -> Iterator[Failure]:
    """Yields what is wrong with the numbers of an entry; all else raises."""
    backend = None if trial.backend is None else get_backend(trial.backend, trial.target)
    passes = _passes(trial, module, entry, backend)
    watching: list[PassInstrument] = [_PassNotes(note, f"compilation for {trial.backend or 'nothing'}")]
    if trial.until is not None:
        places = [number for number, pass_ in enumerate(passes) if pass_.name == trial.until]
        first, end = (places[0], places[-1] + 1) if places else (len(passes), len(passes))
        PassManager(passes[:first], watching, trial.verify_each).run(context(), module)
        passes, backend = passes[first:end], None
    if trial.verify_semantics:
        watching.append(VerifySemantics(partial(run_module, callbacks=trial.callbacks), trial.seeds))
    manager = PassManager(passes, watching, trial.verify_each)
    if backend is None:
        manager.run(context(), module)
        return
    name, callbacks = entry.sym_name.data, trial.callbacks
    with compile(module, backend=backend, pipeline=manager, entry=name, callbacks=callbacks) as executable:
        for seed in trial.seeds:
            state = run_state(module, entry, {}, (), seed)
            arguments = state.with_symbols(entry, random_inputs(entry.function_type, seed, dims_of(module)))
            # Before the backend runs it: what the interpreter refuses may do anything there.
            note(INTERPRETER)
            with compile(module, backend=REFERENCE, entry=name, callbacks=callbacks) as reference:
                expected = RunOutcome.of(reference, arguments, state)
                if isinstance(entry, sched.ProgramOp):
                    _check_defined(reference, arguments, state, expected)
            note(f"the run on {backend.name}")
            found = RunOutcome.of(executable, arguments, state)
            wrong = [
                f"{what} of @{entry.sym_name.data}: {comparison.text} (inputs from seed {seed})"
                for what, comparison in compare_outcomes(found, expected, arguments, state)
                if not comparison.agrees
            ]
            if wrong:
                pairs = [(one, other) for _, one, other in found.pairs(expected, state)]
                is_far = any(_is_far_off(one, other) for one, other in pairs)
                what = FAR if is_far else ROUNDED
                if all(_is_finite(other) for _, other in pairs):
                    what += ", where all should be finite"
                yield Failure(FailureKind.NUMBERS, f"the run on {backend.name}", what, wrong[0])


def _check_defined(
    reference: Executable, arguments: Sequence[Any], state: RunState, expected: RunOutcome
) -> None:
    """
    Checks that what a program computes does not hang on memory that nothing was written to: of that a backend
    may make what it likes.

    Raises `TenonError` where it does.
    """
    with undefined_bytes(0x33):
        again = RunOutcome.of(reference, arguments, state)
    for name, one, other in again.pairs(expected, state):
        if one.tobytes() != other.tobytes():
            raise TenonError(f"reduce: {name} depends on memory that nothing was written to")


def _passes(trial: Trial, module: ModuleOp, entry: Entry, backend: Backend | None) -> Sequence[ModulePass]:
    if trial.pipeline is not None or backend is None:
        return PassManager(trial.pipeline or "").passes
    phases = default_phases(module, entry, IRLevel.LOW, backend.device, None)
    return [pass_ for phase in phases.values() for pass_ in phase]


def _is_finite(array: Array) -> bool:
    return not is_floating(array.dtype) or bool(np.isfinite(array.astype(np.float64)).all())


def _is_far_off(found: Array, expected: Array) -> bool:
    """Returns whether two results differ by more than any order of rounding could make them."""
    if found.shape != expected.shape or not is_floating(expected.dtype):
        return found.tobytes() != expected.tobytes()
    one, other = found.astype(np.float64), expected.astype(np.float64)
    are_finite = np.isfinite(one) & np.isfinite(other)
    with np.errstate(invalid="ignore"):
        is_same = are_finite | (one == other) | (np.isnan(one) & np.isnan(other))
    largest = np.max(np.abs(other), initial=0.0, where=np.isfinite(other))
    distance = np.max(np.abs(one - other), initial=0.0, where=are_finite)
    return not is_same.all() or bool(distance > _FAR_PART * largest)
