"""What programs do when they call the host: functions of the user's, and print."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import CallError, TenonError
from .numpy_types import Array, is_floating

HostFunctions = Mapping[str, Callable[..., Any]]
"""The functions that a program may call, by the names that it has for them."""

_MOST_NAMES = 8


def function_called(name: str, functions: HostFunctions, who: str) -> Callable[..., Any]:
    """Returns the function of a name. Raises `TenonError`, naming `who` calls it, where there is none."""
    function = functions.get(name)
    if function is None:
        known = [f"@{other}" for other in functions][:_MOST_NAMES]
        given = f"given are {', '.join(known)}" if known else "none are given"
        raise TenonError(
            f"{who}: no function is given for @{name} ({given}; hint: callbacks={{{name!r}: function}})"
        )
    return function


def call_function(
    who: str,
    function: Callable[..., Any],
    arguments: Sequence[Array],
    types: Sequence[tuple[np.dtype[Any], Sequence[int]]],
) -> list[Array]:
    """
    Returns what a function gives for copies of `arguments`: one array for one of `types`, else a sequence of
    as many. Python's scalars take the dtype that is asked for; a dtype and a shape must be those of the type,
    where a negative extent agrees with every other.

    Raises:
        CallError: the function gives another number of arrays, or one of another dtype or shape.
        Exception: what the function raises.
    """
    given: Any = function(*[np.array(argument, order="C") for argument in arguments])
    results: Sequence[Any] = [given] if len(types) == 1 else [] if given is None else given
    if not isinstance(results, list | tuple):
        raise CallError(
            f"{who}: the function gives {type(given).__name__}, expected a tuple of {len(types)} arrays"
        )
    if len(results) != len(types):
        raise CallError(f"{who}: the function gives {len(results)} arrays, expected {len(types)}")
    return [
        _checked(f"{who}: result {number}", result, *type)
        for number, (result, type) in enumerate(zip(results, types, strict=True))
    ]


def print_values(format: str, values: Sequence[Array]) -> None:
    """Prints a text with the values that stand for its fields; those of rank 0 are Python's scalars."""
    shown = [_scalar(value) if not value.shape else np.array(value, order="C") for value in values]
    print(format.format(*shown), flush=True)


def _checked(who: str, result: Any, dtype: np.dtype[Any], shape: Sequence[int]) -> Array:
    array: Array = np.asarray(result)
    if type(result) in (bool, int, float) and _fits(array, dtype):
        array = array.astype(dtype)
    is_alike = len(array.shape) == len(shape) and all(
        wanted < 0 or wanted == extent for extent, wanted in zip(array.shape, shape, strict=True)
    )
    if array.dtype != dtype or not is_alike:
        expected = ", ".join("?" if extent < 0 else str(extent) for extent in shape)
        raise CallError(f"{who} is {array.dtype}{list(array.shape)}, expected {dtype}[{expected}]")
    return array


def _fits(scalar: Array, dtype: np.dtype[Any]) -> bool:
    """Returns whether a Python scalar may take a dtype: one of its kind or above that holds it."""
    if is_floating(dtype):
        return True
    if scalar.dtype.kind == "b":
        return True
    if dtype.kind not in "iu" or scalar.dtype.kind not in "iu":
        return False
    limits = np.iinfo(dtype)
    return bool(limits.min <= int(scalar) <= limits.max)


def _scalar(value: Array) -> bool | int | float:
    """Returns the value of an array of rank 0; the narrow floats of ml_dtypes write no digits themselves."""
    return float(value) if is_floating(value.dtype) else value.item()
