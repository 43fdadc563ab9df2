"""
The functions that eager calls go through. Those of one or two arrays look their program up by what stands for
these, and call it; all else, and every first call, is left to `Eager.call`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from ...runtime.timeline import timeline
from ..arrays.concrete import ConcreteArray
from ..arrays.tracing_state import ENTERED
from ..tracing.trace import TracedArray

_new = object.__new__
_SCALARS = (float, int, bool)


class Eager(Protocol):
    """A function of arrays, as the functions here know it."""

    function: Callable[..., Any]
    signature: inspect.Signature
    static: frozenset[str]
    fast: dict[Any, tuple[Any, ...]]

    def call(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any: ...


def fast_call(eager: Eager) -> Callable[..., Any]:
    """Returns a function that calls `eager`, fit for its parameters."""
    parameters = eager.signature.parameters.values()
    if (
        all(
            each.kind is inspect.Parameter.POSITIONAL_ONLY and each.default is inspect.Parameter.empty
            for each in parameters
        )
        and not eager.static
    ):
        if len(parameters) == 1:
            return _of_one(eager)
        if len(parameters) == 2:
            return _of_two(eager)
    return _of_any(eager)


def _of_one(eager: Eager) -> Callable[..., Any]:
    find, new, concrete, entered = eager.fast.get, _new, ConcreteArray, ENTERED
    function, traced = eager.function, TracedArray

    def call(x: Any, /) -> Any:
        if type(x) is concrete and not entered[0]:
            found = find(x.aval)
            if found is not None and timeline.CURRENT[0] is None:
                values = found[0]((x.values,), None)
                if values is not None:
                    result = new(concrete)
                    result.values = values
                    result.aval = found[1]
                    return result
        elif type(x) is traced and entered[0]:
            return function(x)
        return eager.call((x,), {})

    return call


def _of_two(eager: Eager) -> Callable[..., Any]:
    """
    Returns the function of two arrays, of which one may be a Python scalar. Its branches repeat a few lines,
    as calls of helpers would take time in every call.
    """
    # Locals, as the lookup of a global or an attribute takes time at each call.
    find, new, concrete, entered, array = eager.fast.get, _new, ConcreteArray, ENTERED, np.array
    function, traced = eager.function, TracedArray

    def call(x: Any, y: Any, /) -> Any:
        if type(x) is concrete and not entered[0]:
            if type(y) is concrete:
                found = find((x.aval, y.aval))
                if found is not None and timeline.CURRENT[0] is None:
                    values = found[0]((x.values, y.values), None)
                    if values is not None:
                        result = new(concrete)
                        result.values = values
                        result.aval = found[1]
                        return result
            elif type(y) in _SCALARS:
                found = find((x.aval, type(y)))
                # `eager.call` converts, or refuses, a scalar that is outside of what the dtype holds.
                if found is not None and timeline.CURRENT[0] is None and found[3] <= y <= found[4]:
                    values = found[0]((x.values, array(y, found[2])), None)
                    if values is not None:
                        result = new(concrete)
                        result.values = values
                        result.aval = found[1]
                        return result
        elif type(x) is traced and type(y) is traced and entered[0]:
            return function(x, y)
        elif type(y) is concrete and type(x) in _SCALARS and not entered[0]:
            found = find((type(x), y.aval))
            if found is not None and timeline.CURRENT[0] is None and found[3] <= x <= found[4]:
                values = found[0]((array(x, found[2]), y.values), None)
                if values is not None:
                    result = new(concrete)
                    result.values = values
                    result.aval = found[1]
                    return result
        return eager.call((x, y), {})

    return call


def _of_any(eager: Eager) -> Callable[..., Any]:
    find, concrete, entered = eager.fast.get, ConcreteArray, ENTERED

    def call(*arguments: Any, **named: Any) -> Any:
        if len(arguments) == 1 and not named and not entered[0]:
            x = arguments[0]
            if type(x) is concrete:
                found = find(x.aval)
                if found is not None and timeline.CURRENT[0] is None:
                    values = found[0]((x.values,), None)
                    if values is not None:
                        return concrete(values, found[1])
        return eager.call(arguments, named)

    return call
