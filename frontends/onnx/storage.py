"""
Arrays of dtypes that programs do not compute in: integers of 4 and 2 bits, and small floats of other kinds.
They lie in arrays of a wider dtype that holds all of their values; few ops take them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..tracing.trace import TracedArray

NumpyArray = npt.NDArray[Any]

CARRIERS: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(narrow): np.dtype(carrier)
    for narrow, carrier in (
        (ml_dtypes.int4, np.int8),
        (ml_dtypes.uint4, np.uint8),
        (ml_dtypes.int2, np.int8),
        (ml_dtypes.uint2, np.uint8),
        (ml_dtypes.float4_e2m1fn, np.float16),
        (ml_dtypes.float8_e4m3fnuz, np.float16),
        (ml_dtypes.float8_e5m2fnuz, np.float16),
        (ml_dtypes.float8_e8m0fnu, np.float32),
    )
}
"""The dtypes that programs do not compute in, and what their elements lie in."""


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """A traced array whose elements are of `dtype`, and lie in an array of its carrier."""

    array: TracedArray
    dtype: np.dtype[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape


def carrier_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the dtype that programs have elements of `dtype` in."""
    return CARRIERS.get(dtype, dtype)


def carried(values: NumpyArray) -> NumpyArray:
    """Returns an array in the dtype that programs have its elements in."""
    carrier = CARRIERS.get(values.dtype)
    return values if carrier is None else values.astype(carrier)


def stored(array: Any, dtype: np.dtype[Any]) -> Any:
    """Returns what stands for an array of `dtype` whose elements `array` has."""
    return Stored(array, dtype) if dtype in CARRIERS else array


def stored_array(value: Any) -> TracedArray:
    """Returns the array that has the elements."""
    return value.array if isinstance(value, Stored) else value
