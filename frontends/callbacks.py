"""
`pure_callback` and `debug_print`: what a traced function asks of the host each time that its program runs.

Outside of a trace both happen at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dialects import graph
from ..dialects.dims.expressions import DimExpr
from ..errors import TenonError
from ..semantics.host_calls import call_function, print_values
from .arrays.array import Array
from .arrays.aval import Aval, aval_of
from .arrays.concrete import ConcreteArray
from .arrays.static_key import shown
from .arrays.tree import flatten, unflatten
from .print_text import PrintText
from .tracing.host_callback import HostCallback
from .tracing.leaves import aval_of_value, lift, values_of
from .tracing.trace import current_trace


@dataclass(frozen=True)
class ShapeDtype:
    """The shape and the dtype of an array: what a callback is to give."""

    shape: tuple[int, ...]
    dtype: Any = np.float32


def pure_callback(function: Callable[..., Any], result_types: Any, /, *arguments: Any) -> Any:
    """
    Returns what a Python function gives for numpy arrays, each time that the program runs. `result_types`
    says what that is: arrays, or `ShapeDtype`s, in the structure (nested lists, tuples, dicts) of the result.
    Where an argument is such a structure the function gets it so; Python scalars are arrays of rank 0.

    The function gets copies, which it may keep and change. It must depend on its arguments alone: it is
    called as often as the program needs its results, which may be never where they are not used. It runs in
    the thread that calls the program, and may call other programs. What it raises, the caller of the program
    gets.

    Raises:
        TypeError: an argument is no array, or a result type has no shape and dtype.
        CallError: when the program runs, the function gives another structure, dtype or shape.
    """
    leaves: list[Any] = []
    structure = flatten(arguments, leaves)
    types: list[Any] = []
    result_structure = flatten(result_types, types)
    avals = [_aval_of_type(type) for type in types]
    called = HostCallback(function, structure, result_structure)
    trace = current_trace()
    if trace is None:
        for leaf in leaves:
            aval_of_value(leaf, "pure_callback: an argument")
        results = call_function(
            f"pure_callback: callback @{called.name}",
            called,
            [values_of(leaf) for leaf in leaves],
            [(aval.dtype, aval.shape) for aval in avals],
        )
        copies = [np.array(result, order="C") for result in results]
        return unflatten(result_structure, map(ConcreteArray, copies, avals))
    operands = [lift(trace, leaf, "pure_callback: an argument") for leaf in leaves]
    op = graph.CallbackOp(
        trace.callback(called), [operand.value for operand in operands], [aval.type for aval in avals]
    )
    return unflatten(result_structure, iter(trace.add_all(op, avals)))


def debug_print(format: str, /, *values: Any, **named: Any) -> None:
    """
    Prints a line each time that the program runs: `format.format(*values, **named)`, in the order of the
    program. Arrays of rank 0 are shown as Python scalars; what is no array is put into the text at once.

    Raises:
        ValueError: the text is no format, or a value is not in it.
        LookupError: the text asks for a value that is not given.
    """
    text = PrintText(format, values, named, Array | np.ndarray | np.generic | DimExpr)
    trace = current_trace()
    if trace is None:
        print_values(text.format, [values_of(value) for value in text.arrays])
        return
    operands = [lift(trace, value, "debug_print: a value") for value in text.arrays]
    trace.add_all(graph.PrintOp(text.format, [operand.value for operand in operands]), ())
    trace.has_effects = True


def _aval_of_type(type: Any) -> Aval:
    try:
        return aval_of(np.dtype(type.dtype), tuple(type.shape))
    except (AttributeError, TypeError, TenonError):
        raise TypeError(
            f"pure_callback: a result type is {shown(type)}, expected an array or a ShapeDtype"
        ) from None
