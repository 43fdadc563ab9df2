"""Makes inputs for a function from its type and a seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FunctionType,
    IndexType,
    TensorType,
)
from xdsl.ir import Attribute

from ...dialects.dims.expressions import DimSymbol, evaluated, symbols_of
from ...dialects.element_types import ELEMENT_TYPES
from ...dialects.graph import shape_of
from ...errors import TenonError
from ...semantics.numpy_types import dtype_of

DYNAMIC_EXTENT = 4
"""
The extent given to every `?`: the same for all, since dims that are not known until run time may have to
agree.
"""


LARGEST_SIZE = 4096
"""The greatest value given to a dim whose bounds allow more."""


def random_sizes(dims: Mapping[str, DimSymbol], seed: int) -> dict[str, int]:
    """
    Returns a value for each dim within its bounds: with successive seeds one of them, the least, the greatest
    and another, where each dim is one step further than the one before it by name.
    """
    sizes: dict[str, int] = {}
    for number, name in enumerate(sorted(dims)):
        low, high = dims[name].minimum, dims[name].maximum
        high = max(low, min(high, LARGEST_SIZE))
        between = int(np.random.default_rng([seed, *name.encode()]).integers(low, high + 1))
        sizes[name] = (between, low, high, between)[(seed + number) % 4]
    return sizes


def random_inputs(
    function_type: FunctionType, seed: int, dims: Mapping[str, DimSymbol] | None = None
) -> list[npt.NDArray[Any]]:
    """
    Returns one array per tensor that the function takes, and none for its static symbols: floats from the
    standard normal distribution, integers from -8 to 8 (unsigned: 0 to 16), booleans evenly. The same type
    and seed give the same arrays. Named `dims` have values that `random_sizes` chooses.

    Raises `TenonError` for an argument that is no tensor of Tenon's element types, or too large.
    """
    generator = np.random.default_rng(seed)
    arrays: list[npt.NDArray[Any]] = []
    sizes = random_sizes(dims or {}, seed)
    for type_ in function_type.inputs:
        if not isinstance(type_, IndexType):
            arrays.append(random_array(type_, generator, sizes))
    return arrays


def random_array(
    type_: Attribute, generator: np.random.Generator, sizes: Mapping[str, int] | None = None
) -> npt.NDArray[Any]:
    """
    Returns a random array of a tensor type, for the values of its dims in `sizes`; see `random_inputs`.

    Raises `TenonError` for a type that is no tensor of Tenon's element types, or too large.
    """
    try:
        return _random_array(type_, generator, sizes or {})
    except (MemoryError, ValueError) as error:
        raise TenonError(f"random inputs: cannot make {type_} ({error})") from error


def _random_array(
    type_: Attribute, generator: np.random.Generator, sizes: Mapping[str, int]
) -> npt.NDArray[Any]:
    if not isinstance(type_, TensorType):
        raise TenonError(f"random inputs: {type_} is no tensor")
    tensor = cast("TensorType[Attribute]", type_)
    extents = shape_of(tensor)
    for name in symbols_of(extents):
        if name not in sizes:
            raise TenonError(f"random inputs: dim @{name} of {type_} is not declared")
    shape = [DYNAMIC_EXTENT if extent == DYNAMIC_INDEX else evaluated(extent, sizes) for extent in extents]
    if tensor.element_type not in ELEMENT_TYPES:
        raise TenonError(f"random inputs: no values of {tensor.element_type}")
    dtype = dtype_of(tensor)
    match dtype.kind:
        case "b":
            return generator.integers(0, 2, shape).astype(dtype)
        case "u":
            return generator.integers(0, 17, shape).astype(dtype)
        case "i":
            return generator.integers(-8, 9, shape).astype(dtype)
        case _:
            return generator.standard_normal(shape).astype(dtype)
