"""What loops carry from one iteration to the next: its checks, and its values where no trace is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .arrays.array import Array, function
from .arrays.aval import Aval, aval_of
from .arrays.concrete import ConcreteArray, array_of_values, with_weakness
from .arrays.promotion import kind_of
from .arrays.tree import Node, flatten, paths, unflatten
from .tracing.leaves import WEAK, aval_of_scalar, aval_of_value


def check_structures(who: str, what: str, one: Node | None, other_what: str, other: Node | None) -> None:
    """Raises TypeError where two trees have other structures."""
    if one is not other:
        raise TypeError(
            f"{who}: {what} has the structure {one or 'of one array'}, {other_what} gives "
            f"{other or 'one array'}"
        )


def check_carried(who: str, path: str, before: Aval, after: Aval) -> None:
    """
    Checks that what a body gives fits what it takes: a Python scalar fits dtypes of its kind and above.

    Raises:
        TypeError: the body gives another dtype.
        ValueError: it gives another shape.
    """
    where = f"carried value{' ' + path if path else ''}"
    if before.shape != after.shape:
        raise ValueError(f"{who}: {where} has shape {before.shape}, but the body gives {after.shape}")
    fits = before.weak and kind_of(before.dtype) <= kind_of(after.dtype)
    if before.dtype != after.dtype and not fits:
        raise TypeError(
            f"{who}: {where} has dtype {before.dtype}, but the body gives {after.dtype} "
            f"(hint: x.astype({before.dtype}))"
        )


def array_for(value: Any, who: str) -> Array:
    """
    Returns what a function outside of a trace is called with where one in it is called with a traced array: a
    Python scalar as a weak array, an array as one that nobody writes to.

    Raises:
        TypeError: it is no array and no number.
    """
    if isinstance(value, Array):
        return value
    if type(value) in WEAK:
        aval = aval_of_scalar(value)
        return array_of_values(np.array(value, aval.dtype), aval)
    aval_of_value(value, who)
    return function("asarray")(value)


def arrays_for(tree: Any, who: str) -> Any:
    """Returns a tree with what `array_for` gives for its leaves."""
    leaves: list[Any] = []
    structure = flatten(tree, leaves)
    return unflatten(structure, iter([array_for(leaf, who) for leaf in leaves]))


class CarriedValues:
    """
    The values that a loop carries which runs in Python, in the dtypes that they have in a trace: a Python
    scalar takes the one that the body gives, and what is weak stays so for each iteration.
    """

    def __init__(self, who: str, initial: Any):
        self.who = who
        leaves: list[Any] = []
        self._structure = flatten(initial, leaves)
        self._paths = list(paths(self._structure))
        self._leaves = [array_for(leaf, f"{who}: a carried value") for leaf in leaves]
        self._given: Sequence[Aval] | None = None
        """What the body gave in the last iteration."""

    @property
    def value(self) -> Any:
        """What the next iteration takes."""
        return unflatten(self._structure, iter(self._leaves))

    @property
    def is_open(self) -> bool:
        """Whether there was no iteration that could say which dtypes Python scalars take."""
        return self._given is None and any(leaf.weak for leaf in self._leaves)

    @property
    def result(self) -> Any:
        """What the loop gives: it is weak where both what the body takes and what it gives are."""
        given = self._given or [leaf.aval for leaf in self._leaves]
        leaves = [
            _of_kind(leaf, leaf.weak and aval.weak) for leaf, aval in zip(self._leaves, given, strict=True)
        ]
        return unflatten(self._structure, iter(leaves))

    def take(self, following: Any) -> bool:
        """
        Takes what the body gave. Returns whether that iteration counts: where Python scalars take another
        dtype it does not, and the body is to be called again.

        Raises:
            TypeError: the body gives another structure or dtype.
            ValueError: it gives another shape.
        """
        found: list[Any] = []
        structure = flatten(following, found)
        check_structures(self.who, "the initial value", self._structure, "the body", structure)
        found = [array_for(leaf, f"{self.who}: a carried value") for leaf in found]
        for path, before, after in zip(self._paths, self._leaves, found, strict=True):
            weak = before.weak and self._given is None
            check_carried(self.who, path, aval_of(before.dtype, before.shape, weak), after.aval)
        pairs = list(zip(self._leaves, found, strict=True))
        if any(before.dtype != after.dtype for before, after in pairs):
            self._leaves = [_as_given(before, after.aval) for before, after in pairs]
            return False
        self._given = [after.aval for after in found]
        self._leaves = [_of_kind(after, before.weak) for before, after in pairs]
        return True


def _as_given(before: Any, aval: Aval) -> Any:
    if before.dtype == aval.dtype:
        return before
    return array_of_values(before.values.astype(aval.dtype), aval)


def _of_kind(array: Any, weak: bool) -> Any:
    return with_weakness(array, weak) if isinstance(array, ConcreteArray) else array
