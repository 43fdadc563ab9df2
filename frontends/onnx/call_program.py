"""A program for the calls of a model of one kind: what it takes of a call, and the results that it gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ..calls.compiled_trace import CompiledTrace
from .values import NumpyArray, Value


@dataclass(frozen=True, slots=True)
class CallProgram:
    """A program for calls of one kind: results that are known, and those that it computes."""

    compiled: CompiledTrace | None
    arguments: tuple[int, ...]
    """The numbers of the leaves of a call that it takes."""
    results: tuple[Any, ...]
    """For each result its known value, or the traced arrays in it, as they were."""

    def run(self, leaves: Sequence[NumpyArray]) -> list[Any]:
        values: list[NumpyArray] = []
        if self.compiled is not None:
            given = [leaves[number] for number in self.arguments]
            values = [each.values for each in self.compiled.run(given)]
        return [_filled(each, values) for each in self.results]


@dataclass(frozen=True, slots=True)
class Computed:
    """A result that is the array of that number which a program gives; its dtype is that of the model."""

    number: int
    dtype: np.dtype[Any]


def mapped(value: Value, function: Callable[[Any], Any]) -> Any:
    """Returns what a function makes of each array of a value."""
    if isinstance(value, list):
        return [mapped(each, function) for each in cast("list[Value]", value)]
    return None if value is None else function(value)


def _filled(kept: Any, values: Sequence[NumpyArray]) -> Any:
    if isinstance(kept, list):
        return [_filled(each, values) for each in cast("list[Any]", kept)]
    if isinstance(kept, Computed):
        value = values[kept.number]
        return value if value.dtype == kept.dtype else value.astype(kept.dtype)
    return None if kept is None else kept.copy()
