"""A function that was traced for one signature, and the program of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from sys import getrefcount
from sysconfig import get_config_var
from typing import Any

import numpy as np

from ..arrays.concrete import ConcreteArray, as_concrete, is_frozen
from ..arrays.tree import Node, unflatten
from ..tracing.leaves import values_of
from ..tracing.trace import Trace, TracedArray
from .compiled_trace import CompiledTrace
from .guards import Guard
from .rank_program import RankPrograms, compiled_for_ranks


@dataclass(frozen=True, eq=False, slots=True)
class TracedCall:
    """A finished run of a function: the parts of its result, arrays and Python's constants."""

    trace: Trace
    structure: Node | None
    parts: tuple[Any, ...]
    donated: tuple[int, ...] = ()
    """The numbers of the arrays that a call may use up."""

    @property
    def results(self) -> list[TracedArray]:
        """The arrays of the result."""
        return [part for part in self.parts if isinstance(part, TracedArray)]

    def compiled(self, guards: Sequence[Guard] = (), allow_gather: bool = False, **options: Any) -> Version:
        """
        Returns the program, those of the ranks that are here where there are several; where nothing is
        computed or printed there is none. `allow_gather` is that of `jit`.
        """
        program: CompiledTrace | None = None
        ranks: RankPrograms | None = None
        avals = [result.aval for result in self.results]
        if self.trace.mesh is not None:
            ranks = compiled_for_ranks(self.trace, avals, allow_gather, **options)
            program = ranks.programs[0]
        elif avals or self.trace.has_effects:
            program = CompiledTrace(self.trace, avals, **options)
        kept = [_ARRAY if isinstance(part, TracedArray) else part for part in self.parts]
        return Version(program, self.structure, kept, tuple(guards), self.donated, ranks)


@dataclass(frozen=True, eq=False, slots=True)
class Version:
    """A program for one signature, and what the function read from outside when it was traced."""

    program: CompiledTrace | None
    structure: Node | None
    parts: list[Any]
    guards: tuple[Guard, ...] = field(default=())
    donated: tuple[int, ...] = ()
    ranks: RankPrograms | None = None
    """The programs of ranks, of which the program is one, where arrays are spread over a mesh."""

    def changed(self) -> Guard | None:
        """Returns a guard that does not hold any more, if there is one."""
        for guard in self.guards:
            if not guard.holds():
                return guard
        return None

    def run(self, leaves: Sequence[Any]) -> Any:
        """Returns the result for arrays and Python scalars, in order."""
        program = self.program
        if program is None:
            return unflatten(self.structure, iter(self.parts))
        if program.ranges:
            program.check_ranges(leaves)
        if self.ranks is not None:
            return self._with_constants(self.ranks.run(leaves, self._values))
        return self._with_constants(program.run(self._values(leaves)))

    def _values(self, leaves: Sequence[Any]) -> list[Any]:
        """Returns the plain values; those of donated arrays that others see too are copied."""
        values = [values_of(leaf) for leaf in leaves]
        if self.donated:
            are_alone = _are_alone(leaves, values)
            for number in self.donated:
                if not are_alone[number]:
                    values[number] = values[number].copy()
        return values

    def finished(self, results: Any) -> Any:
        """Returns the result for what the program gave."""
        assert self.program is not None, "finished: there is no program"
        return self._with_constants(self.program.arrays_of(results))

    def _with_constants(self, results: Sequence[Any]) -> Any:
        if self.structure is None:
            return results[0]
        found = iter(results)
        parts = [next(found) if part is _ARRAY else part for part in self.parts]
        return unflatten(self.structure, iter(parts))


def _are_alone(leaves: Sequence[Any], values: list[Any]) -> list[bool]:
    """Returns of which arrays the values, the items of a list, may be written to: nobody else sees them."""
    return [
        type(leaf) is ConcreteArray
        and n_references <= N_REFERENCES
        and leaf.values.base is None
        and not is_frozen(leaf)
        for leaf, n_references in zip(leaves, _counts(values), strict=True)
    ]


def _counts(values: list[Any]) -> list[int]:
    """
    Returns how often each item is referred to, as code in C sees it: what the interpreter's stack counts is
    another number in each version.
    """
    return list(map(getrefcount, values))


def references_of_one() -> int:
    """Returns what counts of the values that an array and the list of values refer to."""
    if get_config_var("Py_GIL_DISABLED"):
        return 0  # Other threads count on their own: values are copied.
    array = as_concrete(np.empty(1))
    return _counts([array.values])[0]


N_REFERENCES = references_of_one()
"""What is referred to more often somebody else sees too."""

_ARRAY = object()
"""Where an array stands among the parts of a result."""
