"""Arrays that the host keeps for tensor nodes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import TenonError
from ...semantics.numerics import cast
from ...semantics.numpy_types import is_floating, is_masked
from ..memory.aligned_arrays import aligned_zeros
from .padding import Padding


def plain_array(array: object, who: str) -> npt.NDArray[Any]:
    """Returns `array`. Raises `TenonError` where it is no array, or a masked one."""
    found = type(array).__name__
    if is_masked(array) or not isinstance(array, np.ndarray):
        raise TenonError(f"{who}: expected a numpy array, found {found}")
    return np.asarray(array)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def padded_zeros(dims: Sequence[int], padding: Padding | None, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Returns an array of the padded extents `dims`: its margins hold the padding's value, its data zeros."""
    array = aligned_zeros(dims, dtype)
    if padding is not None and padding.value != 0:
        array[...] = padding.value
        array[padding.interior(dims)] = 0
    return array


def aligned_copy(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns a copy in C order and in the host's byte order."""
    copy = aligned_zeros(array.shape, array.dtype.newbyteorder("="))
    copy[...] = array
    return copy


def reshaped(
    array: npt.NDArray[Any], dims: Sequence[int], padding: Padding | None, from_padded: bool, who: str
) -> npt.NDArray[Any]:
    """
    Returns the elements of a C-contiguous array in the padded extents `dims`: the same memory where `array`
    has margins already or there are none, else a new array.

    Raises:
        TenonError: the numbers of elements differ.
    """
    data_dims = tuple(dims) if padding is None or from_padded else padding.unpadded(dims)
    if array.size != prod(data_dims):
        raise TenonError(
            f"{who}: the array {list(array.shape)} has {array.size} elements, "
            f"{list(data_dims)} has {prod(data_dims)}"
        )
    data = array.reshape(data_dims)
    if padding is None or from_padded:
        return data
    target = padded_zeros(dims, padding, array.dtype)
    target[padding.interior(dims)] = data
    return target


def converted(values: npt.ArrayLike, dtype: np.dtype[Any], who: str) -> npt.NDArray[Any]:
    """
    Returns values as an array of `dtype`. Floats are converted as `graph.cast` converts them. Other arrays
    and numpy scalars must have the dtype, in any byte order; Python's integers and lists of them are
    converted to every dtype that holds them.

    Raises:
        TenonError: the values have another dtype, no common shape, or are out of its range.
    """
    if isinstance(values, np.ndarray | np.generic):
        array: npt.NDArray[Any] = np.asarray(values)  # pyright: ignore[reportUnknownArgumentType]
        native = array.dtype.newbyteorder("=")
        if native == dtype:
            return array
        if not is_floating(native):
            raise TenonError(f"{who}: the values are {array.dtype}, expected {dtype}")
        return _cast_floats(array.astype(native, copy=False), dtype)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise TenonError(f"{who}: the values are no array ({error})") from error
    if dtype.kind in "iu" and array.dtype.kind in "iu":
        info = np.iinfo(dtype)
        if array.size and not (info.min <= array.min() and array.max() <= info.max):
            raise TenonError(f"{who}: a value is out of the range of {dtype} ({info.min} to {info.max})")
    elif array.dtype.kind == "f":
        return _cast_floats(array, dtype)
    elif array.size and not np.can_cast(array.dtype, dtype, "same_kind"):
        raise TenonError(f"{who}: the values are {array.dtype}, expected {dtype}")
    with np.errstate(over="ignore", invalid="ignore"):
        return cast(array, dtype) if is_floating(dtype) else array.astype(dtype)


def _cast_floats(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    with np.errstate(over="ignore", invalid="ignore"):
        return cast(array, dtype)
