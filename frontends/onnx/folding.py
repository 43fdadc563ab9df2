"""Computes nodes whose inputs are known: what a rule traces is interpreted, without a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from ..arrays.aval import aval_of
from ..calls.compiled_trace import compile_module
from ..tracing.trace import Trace, TracedArray
from .storage import Stored, carried, stored, stored_array
from .values import NumpyArray, Value, size_of


def folded(apply: Callable[[Callable[[Value], Any]], Sequence[Value]], most: int) -> list[Value] | None:
    """
    Returns the results of a rule as numpy arrays, None where they have more than `most` elements; `apply`
    runs it with what makes its traced arrays of known ones.
    """
    trace = Trace("known")
    arguments: list[NumpyArray] = []

    def lift(value: Value) -> Any:
        array = carried(np.ascontiguousarray(value).reshape(value.shape))
        arguments.append(array)
        argument = trace.argument(aval_of(array.dtype, array.shape), f"known{len(arguments)}")
        return stored(argument, value.dtype)

    with trace:
        results = list(apply(lift))
        traced = [stored_array(each) for each in results if isinstance(each, TracedArray | Stored)]
        trace.finish(traced)
    if not traced:
        return results
    if size_of(traced) > most:
        return None
    assert not trace.captured, "a rule reads an array from outside"
    executable = compile_module(trace.module, backend="reference", callbacks=trace.callbacks)
    found: Any = executable(*arguments)
    values = iter(cast("Sequence[NumpyArray]", found if len(traced) > 1 else (found,)))
    return [
        np.asarray(next(values)).astype(each.dtype) if isinstance(each, TracedArray | Stored) else each
        for each in results
    ]
