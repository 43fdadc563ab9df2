"""The tensor nodes and static symbols that `tenon-run` runs a program with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IndexType, ModuleOp

from ...dialects.modules.entry import Entry, argument_names
from ...errors import TenonError
from ...passes.instruments.random_state import random_state
from ...runtime.executables.node_arrays import NodeArrays
from ...runtime.plan.entry_state import nodes_of, symbols_of
from ...runtime.plan.signature import ArrayType
from .input_arrays import retyped

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class RunState:
    """What nodes hold before the run, by name, and the values of the symbols by name."""

    nodes: Mapping[str, Array]
    symbols: Mapping[str, int]

    def fill(self, nodes: NodeArrays) -> None:
        """Writes what the nodes hold before a run."""
        for name in nodes:
            nodes[name] = self.nodes[name]

    def changed(self, nodes: NodeArrays) -> dict[str, Array]:
        """Returns the nodes that no longer hold what they held before."""
        found = {name: nodes[name] for name in nodes}
        return {name: array for name, array in found.items() if array.tobytes() != self.nodes[name].tobytes()}

    def with_symbols(self, entry: Entry, arrays: Sequence[Array]) -> list[Any]:
        """Returns all arguments of `entry` in order, given those that are arrays."""
        rest = iter(arrays)
        return [
            self.symbols[name] if isinstance(argument.type, IndexType) else next(rest)
            for name, argument in zip(argument_names(entry), entry.body.block.args, strict=True)
        ]


def run_state(
    module: ModuleOp, entry: Entry, given: Mapping[str, Array], symbols: Sequence[tuple[str, int]], seed: int
) -> RunState:
    """
    Returns the nodes that `entry` uses, from `given` by name, else their initial values, else random, and
    its symbols, from `symbols`, else random.

    Raises:
        TenonError: an array does not fit its node, or there is no such symbol.
    """
    random = random_state(module, entry, seed)
    nodes: dict[str, Array] = {}
    for plan in nodes_of(module, entry):
        array = given.get(plan.name)
        if array is None:
            array = random.nodes[plan.name] if plan.initial is None else np.array(plan.initial)
        array = retyped(array, plan.type.dtype)
        found = ArrayType(array.dtype, array.shape)
        if found != plan.type:
            raise TenonError(f"{entry.sym_name.data}: node '{plan.name}' is {plan.type}, found {found}")
        nodes[plan.name] = array
    values = dict(random.symbols)
    for name, value in symbols:
        if name not in values:
            listed = ", ".join(symbol.name for symbol in symbols_of(entry)) or "none"
            raise TenonError(f"{entry.sym_name.data}: there is no symbol '{name}' (symbols: {listed})")
        values[name] = value
    return RunState(nodes, values)
