"""Checks that passes preserve what a module computes, by running it on random inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.passes import ModulePass

from ...dialects.dims.expressions import DimSymbol
from ...dialects.graph import dims_of
from ...dialects.modules.entry import find_entry
from ...errors import TenonError
from ...semantics.computed_precision import result_precisions
from ...semantics.numpy_types import dtype_of
from .all_rank_modules import AllRankModules, ExecuteRanks
from .interface import PassInstrument
from .random_inputs import random_inputs
from .random_state import RandomState, random_state

Array = npt.NDArray[Any]
Arrays = Sequence[Array]

_Origin = Callable[
    [
        ModuleOp,
        str,
        Arrays,
        dict[str, Array],
        Array | None,
        Mapping[str, int],
        int | str,
        tuple[int, ...],
    ],
    Sequence[str],
]

_RELATIVE_TOLERANCE = {
    **{"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1},
    **{"float8_e5m2": 0.5, "float8_e4m3fn": 0.25, "float8_e4m3": 0.25},
}
"""
How far a result may move when a pass fixes the order of a reduction, by the dtype that it was computed in;
results of other dtypes agree exactly.
"""


class SemanticsError(Exception):
    """
    `pass_` changed what a module computes: a bug of the pass. `details` are more lines about what is wrong,
    which the text has too.
    """

    def __init__(self, message: str, pass_: ModulePass, details: Sequence[str] = ()):
        super().__init__("\n".join((message, *details)))
        self.pass_ = pass_
        self.details = details


@dataclass
class VerifySemantics(PassInstrument):
    """
    Runs every public function of a module through `execute(module, name, inputs, nodes, merge, symbols)`
    before the first pass, and again after each pass that changed the module, on the same random inputs, nodes
    and symbols from `seeds`. `execute` changes `nodes`. Raises `SemanticsError` after the first pass that
    changes an answer: a result, or what a node holds afterwards; and after the first one that leaves a module
    which `execute` refuses to run. A program that the interpreter refuses before any pass has an error of its
    own.

    `origin(module, name, inputs, nodes, merge, symbols, result, index)` says where an element of a result, or
    of a node, comes from, in lines; the error has them for the first element that is wrong.

    Where a pass writes the program of one rank, those of all others are written too, and go through the
    passes that follow: `ranks(modules, name)` is asked then for what runs them all.

    Integers and booleans agree exactly; floats agree up to a relative error (a NaN with any NaN), because
    lowering fixes the order of reductions that `graph` leaves open.
    """

    execute: Callable[[ModuleOp, str, Arrays, dict[str, Array], Array | None, Mapping[str, int]], Arrays]
    seeds: Sequence[int] = (0,)
    origin: _Origin | None = None
    ranks: Callable[[Sequence[ModuleOp], str], ExecuteRanks] | None = None
    wants_changed: bool = field(default=True, init=False)
    _expected: dict[tuple[str, int], _Outcome] = field(
        default_factory=dict[tuple[str, int], "_Outcome"], init=False
    )
    _states: dict[tuple[str, int], RandomState] = field(
        default_factory=dict[tuple[str, int], RandomState], init=False
    )
    _dims: dict[str, DimSymbol] = field(default_factory=dict[str, DimSymbol], init=False)
    _types: dict[str, FunctionType] = field(default_factory=dict[str, FunctionType], init=False)
    _all: AllRankModules = field(default_factory=AllRankModules, init=False)

    def before_pipeline(self, passes: Sequence[ModulePass], module: ModuleOp) -> None:
        self._types = public_functions(module)
        self._all = AllRankModules()
        self._dims = dims_of(module)
        self._states = {
            (name, seed): random_state(module, find_entry(module, name), seed)
            for name in self._types
            for seed in self.seeds
        }
        self._expected = {key: self._run(module, *key) for key in self._states}
        for (name, seed), outcome in self._expected.items():
            precisions = [dtype_of(type).name for type in result_precisions(find_entry(module, name))]
            self._expected[name, seed] = replace(outcome, precisions=precisions)

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        if self.ranks is not None:
            self._all.before(pass_, module)

    def after(self, pass_: ModulePass, module: ModuleOp, changed: bool | None) -> None:
        if self.ranks is not None and self._all.after(pass_, module):
            self._check_ranks(pass_, module)
            return
        if changed is False:
            return
        found_types = public_functions(module)
        for (name, seed), expected in self._expected.items():
            if found_types.get(name) != self._types[name]:
                raise SemanticsError(
                    f"pass `{pass_}`: @{name} was of type {self._types[name]}, is now "
                    f"{found_types.get(name, 'missing')}",
                    pass_,
                )
            try:
                found = self._run(module, name, seed)
            except TenonError as error:
                raise SemanticsError(
                    f"pass `{pass_}`: @{name} does not run any more: {error} (inputs from seed {seed})", pass_
                ) from error
            except BaseException as error:
                error.add_note(f"in @{name} after pass `{pass_}`")
                raise
            if difference := _first_difference(expected, found):
                raise SemanticsError(
                    f"pass `{pass_}`: changed what @{name} computes: {difference.text} "
                    f"(inputs from seed {seed})",
                    pass_,
                    self._details(module, name, seed, difference),
                )

    def _check_ranks(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Runs the programs of all ranks."""
        assert self.ranks is not None, "nothing runs the programs of ranks"
        modules = self._all.modules(module)
        for (name, seed), expected in self._expected.items():
            run = self._all.running.get(name)
            if run is None:
                run = self._all.running[name] = self.ranks(modules, name)
            try:
                results = run(modules, random_inputs(self._types[name], seed, self._dims))
            except TenonError as error:
                raise SemanticsError(
                    f"pass `{pass_}`: the ranks of @{name} do not run: {error} (inputs from seed {seed})",
                    pass_,
                ) from error
            if difference := _first_difference(expected, _Outcome(results, expected.nodes)):
                raise SemanticsError(
                    f"pass `{pass_}`: changed what the ranks of @{name} compute: {difference.text} "
                    f"(inputs from seed {seed})",
                    pass_,
                )

    def _details(self, module: ModuleOp, name: str, seed: int, difference: _Difference) -> Sequence[str]:
        """Returns where the wrong element comes from, if that can be told."""
        if self.origin is None or difference.index is None:
            return ()
        state = self._states[name, seed]
        return self.origin(
            module,
            name,
            random_inputs(self._types[name], seed, self._dims),
            state.copied_nodes(),
            state.merge,
            state.symbols,
            difference.result,
            difference.index,
        )

    def _run(self, module: ModuleOp, name: str, seed: int) -> _Outcome:
        state = self._states[name, seed]
        nodes = state.copied_nodes()
        inputs = random_inputs(self._types[name], seed, self._dims)
        results = self.execute(module, name, inputs, nodes, state.merge, state.symbols)
        return _Outcome(results, {node: nodes[node] for node in state.nodes})


@dataclass(frozen=True)
class _Outcome:
    """What a run gives: the results, and what the nodes hold afterwards."""

    results: Arrays
    nodes: Mapping[str, Array]
    precisions: Sequence[str] = ()
    """The dtype that each result was computed in, where that is known."""


@dataclass(frozen=True)
class _Difference:
    """
    What is wrong with a result (by its number) or a node (by its name); `index` is the first wrong element
    where shapes and dtypes agree.
    """

    text: str
    result: int | str = 0
    index: tuple[int, ...] | None = None


def public_functions(module: ModuleOp) -> dict[str, FunctionType]:
    """
    Returns the types of the functions and programs of a module that have a body and can be called from
    outside, by name.
    """
    functions: dict[str, FunctionType] = {}
    for op in module.ops:
        name, function_type = op.properties.get("sym_name"), op.properties.get("function_type")
        visibility = op.properties.get("sym_visibility")
        is_private = isinstance(visibility, StringAttr) and visibility.data == "private"
        if not any(region.blocks for region in op.regions) or is_private:
            continue
        if isinstance(name, StringAttr) and isinstance(function_type, FunctionType):
            functions[name.data] = function_type
    return functions


def _first_difference(expected: _Outcome, found: _Outcome) -> _Difference | None:
    """Returns the first place where two outcomes disagree, and None where they agree."""
    if len(expected.results) != len(found.results):
        return _Difference(f"{len(expected.results)} outputs before, {len(found.results)} after")
    pairs = zip(expected.results, found.results, strict=True)
    keyed: list[tuple[int | str, Array, Array]] = [(number, *pair) for number, pair in enumerate(pairs)]
    keyed.extend((name, before, found.nodes[name]) for name, before in expected.nodes.items())
    for key, before, after in keyed:
        name = f"node @{key}" if isinstance(key, str) else f"output {key}"
        before, after = np.asarray(before), np.asarray(after)
        if (before.shape, before.dtype) != (after.shape, after.dtype):
            text = f"{name} was {before.dtype}{list(before.shape)}, is now {after.dtype}{list(after.shape)}"
            return _Difference(text)
        precision = before.dtype.name
        if isinstance(key, int) and key < len(expected.precisions):
            precision = expected.precisions[key]
        if len(wrong := np.argwhere(~_agree(before, after, precision))):
            index = tuple(wrong[0].tolist())
            place = ", ".join(map(str, index))
            return _Difference(f"{name} at [{place}] was {before[index]}, is now {after[index]}", key, index)
    return None


def _agree(before: npt.NDArray[Any], after: npt.NDArray[Any], precision: str) -> npt.NDArray[np.bool_]:
    if before.dtype.name not in _RELATIVE_TOLERANCE:
        return np.asarray(np.equal(before, after))
    tolerance = _RELATIVE_TOLERANCE[precision]
    before, after = before.astype(np.float64), after.astype(np.float64)
    finite = np.abs(before[np.isfinite(before)])
    scale = np.maximum(np.abs(before), finite.mean() if finite.size else 0.0)
    with np.errstate(invalid="ignore"):
        close = np.abs(before - after) <= tolerance * scale
    return (before == after) | (np.isnan(before) & np.isnan(after)) | close
