"""`tenon.jit`: a Python function as a program, compiled once for each signature."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..driver import compile
from ..errors import TenonError
from .aval import Aval
from .concrete import ConcreteArray, as_concrete
from .dispatch import WEAK, _values_of, aval_of_scalar, check_range, lift
from .trace import Trace, current_trace
from .traced import TracedArray
from .tree import Node, flatten, paths, unflatten


def jit(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compiles a Python function over arrays, at its first call with each signature."""
    if function is None:
        return lambda function: jit(function, **options)
    return functools.wraps(function)(Jitted(function))


class Jitted:
    """A function that is traced and compiled at its first call with each signature."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.name = function.__name__
        self.signature = inspect.signature(function)
        self.entries: dict[Any, Any] = {}

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if current_trace() is not None:
            return self.function(*arguments, **named)
        leaves: list[Any] = []
        structure = flatten((arguments, named), leaves)
        avals = tuple([_aval(leaf) for leaf in leaves])
        key = (structure, avals)
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = self._compile(structure, avals)
        executable, trace, result_structure, result_avals = entry
        captured = [_values_of(array) for array, _ in trace.captured]
        for number, dtype in trace.ranges:
            check_range(leaves[number], dtype)
        found = executable(*[_values_of(leaf) for leaf in leaves], *captured)
        found = (found,) if len(result_avals) == 1 else found
        arrays = [ConcreteArray(each, aval) for each, aval in zip(found, result_avals, strict=True)]
        return unflatten(result_structure, iter(arrays))

    def _compile(self, structure: Node | None, avals: Sequence[Aval]) -> Any:
        trace = Trace(self.name)
        with trace:
            names = [path.replace("[0]", "arg", 1) for path in paths(structure)]
            traced = [trace.argument(aval, name) for aval, name in zip(avals, names, strict=True)]
            arguments, named = unflatten(structure, iter(traced))
            found: list[Any] = []
            result_structure = flatten(self.function(*arguments, **named), found)
            results = [_result(trace, value) for value in found]
        executable = compile(trace.finish(results))
        return executable, trace, result_structure, [result.aval for result in results]


def _result(trace: Trace, value: Any) -> TracedArray:
    if isinstance(value, TracedArray):
        value.check_usable()
        return value
    return lift(trace, value, _aval(value))


def _aval(value: Any) -> Aval:
    if isinstance(value, ConcreteArray):
        return value.aval
    if type(value) in WEAK:
        return aval_of_scalar(value)
    if isinstance(value, np.ndarray | np.generic):
        return as_concrete(value).aval
    raise TenonError(f"jit: cannot take {type(value).__name__}")
