"""Makes inputs for a function from its type and a seed."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FunctionType,
    IndexType,
    IntegerType,
    Signedness,
    TensorType,
)
from xdsl.ir import Attribute

from ...errors import TenonError

DYNAMIC_EXTENT = 4
"""
The extent given to every `?`: the same for all, since dims that are not known until run time may have to
agree.
"""


def random_inputs(function_type: FunctionType, seed: int) -> list[npt.NDArray[Any]]:
    """
    Returns one array per tensor that the function takes, and none for its static symbols: floats from the
    standard normal distribution, integers from -8 to 8 (unsigned: 0 to 16), booleans evenly. The same type
    and seed give the same arrays.

    Raises `TenonError` for an argument that is no tensor of Tenon's element types, or too large.
    """
    generator = np.random.default_rng(seed)
    arrays: list[npt.NDArray[Any]] = []
    for type_ in function_type.inputs:
        if not isinstance(type_, IndexType):
            arrays.append(random_array(type_, generator))
    return arrays


def random_array(type_: Attribute, generator: np.random.Generator) -> npt.NDArray[Any]:
    """
    Returns a random array of a tensor type; see `random_inputs`.

    Raises `TenonError` for a type that is no tensor of Tenon's element types, or too large.
    """
    try:
        return _random_array(type_, generator)
    except (MemoryError, ValueError) as error:
        raise TenonError(f"random inputs: cannot make {type_} ({error})") from error


def _random_array(type_: Attribute, generator: np.random.Generator) -> npt.NDArray[Any]:
    if not isinstance(type_, TensorType):
        raise TenonError(f"random inputs: {type_} is no tensor")
    tensor = cast("TensorType[Attribute]", type_)
    shape = [DYNAMIC_EXTENT if extent == DYNAMIC_INDEX else extent for extent in tensor.get_shape()]
    match tensor.element_type:
        case Float64Type():
            return generator.standard_normal(shape)
        case Float32Type():
            return generator.standard_normal(shape).astype(np.float32)
        case Float16Type():
            return generator.standard_normal(shape).astype(np.float16)
        case BFloat16Type():
            import ml_dtypes

            return generator.standard_normal(shape).astype(ml_dtypes.bfloat16)
        case IntegerType(width=width) if width.data == 1:
            return generator.integers(0, 2, shape).astype(np.bool_)
        case IntegerType(width=width, signedness=signedness) if signedness.data is Signedness.UNSIGNED:
            return generator.integers(0, 17, shape).astype(f"u{width.data // 8}")
        case IntegerType(width=width):
            return generator.integers(-8, 9, shape).astype(f"i{width.data // 8}")
        case element_type:
            raise TenonError(f"random inputs: no values of {element_type}")
