"""What a run of a program gives, and how two runs on the same arguments compare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import Attribute

from ...runtime.executables.executable import Executable
from ...semantics.numpy_types import element_type_of_dtype
from .result_comparison import Comparison, compare
from .run_state import RunState

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class RunOutcome:
    """The results in order, and the nodes that changed, by name."""

    results: Sequence[Array]
    nodes: Mapping[str, Array]
    precisions: Sequence[Attribute] = ()
    """The element type that each result was computed in, where that is known."""

    @staticmethod
    def of(executable: Executable, arguments: Sequence[Any], state: RunState) -> RunOutcome:
        """Runs a program once, from `state`."""
        state.fill(executable.nodes)
        results: Any = executable(*arguments)
        listed: list[Array] = [*results] if isinstance(results, tuple) else [results]
        return RunOutcome(listed, state.changed(executable.nodes))

    def pairs(self, expected: RunOutcome, state: RunState) -> Iterator[tuple[str, Array, Array]]:
        """Yields what is to be compared: its name, what is here, and what `expected` has."""
        for number, (found, wanted) in enumerate(zip(self.results, expected.results, strict=True)):
            yield f"result{number}", found, wanted
        for name in {**self.nodes, **expected.nodes}:
            before = state.nodes[name]
            yield f"@{name}", self.nodes.get(name, before), expected.nodes.get(name, before)


def compare_outcomes(
    found: RunOutcome, expected: RunOutcome, arguments: Sequence[Any], state: RunState
) -> Iterator[tuple[str, Comparison]]:
    """Yields how each result and each node that changed compares, with its name."""
    terms = max((np.size(array) for array in (*arguments, *state.nodes.values())), default=1)
    for number, (name, one, other) in enumerate(found.pairs(expected, state)):
        known = expected.precisions
        type = known[number] if number < len(known) else element_type_of_dtype(other.dtype)
        yield name, compare(one, other, type, terms)
