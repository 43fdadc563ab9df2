"""Element types as numpy dtypes, and constants as arrays."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    TensorType,
    bf16,
    f8E4M3,
    f8E4M3FN,
    f8E5M2,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

from ..dialects.element_types import element_type_of, ui8, ui16, ui32, ui64
from ..errors import TenonError

Array = npt.NDArray[Any]
"""An array, or a numpy scalar, of any element type."""

F64, F32, F16 = np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16)
BF16 = np.dtype(ml_dtypes.bfloat16)
F8_DTYPES = tuple(
    np.dtype(type) for type in (ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3)
)
"""The dtypes of f8E5M2, f8E4M3FN and f8E4M3."""
BOOL = np.dtype(np.bool_)

_DTYPES: dict[Attribute, np.dtype[Any]] = {
    f64: F64,
    f32: F32,
    f16: F16,
    bf16: BF16,
    **dict(zip((f8E5M2, f8E4M3FN, f8E4M3), F8_DTYPES, strict=True)),
    i64: np.dtype(np.int64),
    i32: np.dtype(np.int32),
    i16: np.dtype(np.int16),
    i8: np.dtype(np.int8),
    ui64: np.dtype(np.uint64),
    ui32: np.dtype(np.uint32),
    ui16: np.dtype(np.uint16),
    ui8: np.dtype(np.uint8),
    i1: BOOL,
    IndexType(): np.dtype(np.int64),
}
_NARROW = frozenset((F16, BF16, *F8_DTYPES))
_FLOATS = frozenset((F64, F32, *_NARROW))
_ELEMENT_TYPES = {dtype: type for type, dtype in _DTYPES.items() if type != IndexType()}


DTYPES_BY_NAME: dict[str, np.dtype[Any]] = {dtype.name: dtype for dtype in _DTYPES.values()}
"""The dtypes of all element types."""


def dtype_of(type: Attribute) -> np.dtype[Any]:
    """
    Returns the dtype of the values of an element type, or of the elements of a shaped type: signless integers
    are signed, i1 is bool, index is int64.

    Raises TenonError for a type that is none of Tenon's.
    """
    dtype = _DTYPES.get(element_type_of(type))
    if dtype is None:
        raise TenonError(f"no numpy dtype for {type}")
    return dtype


def storage_dtype(type: Attribute) -> np.dtype[Any]:
    """
    Returns the dtype of a buffer of elements of `type`: the signed one of the width of an unsigned integer,
    int8 for i1, else the values' own.
    """
    dtype = dtype_of(type)
    return np.dtype(f"i{dtype.itemsize}") if dtype.kind in "bu" else dtype


def element_type_of_dtype(dtype: np.dtype[Any]) -> Attribute:
    """
    Returns the element type whose values have `dtype`.

    Raises TenonError for a dtype that no element type has.
    """
    element_type = _ELEMENT_TYPES.get(dtype)
    if element_type is None:
        raise TenonError(f"no element type for dtype {dtype}")
    return element_type


def is_narrow(dtype: np.dtype[Any]) -> bool:
    """Returns whether arithmetic on a dtype is done in f32: f16, bf16 and those of 8 bits."""
    return dtype in _NARROW


def widened(array: Array) -> Array:
    """Returns the same elements in the dtype that they are computed in: narrow floats as f32."""
    return array.astype(F32) if is_narrow(array.dtype) else array


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Returns whether a dtype is one of the floats; numpy calls the kind of some of them `V`."""
    return dtype in _FLOATS


def strided_view(array: Array, shape: Sequence[int], strides: Sequence[int], writeable: bool = True) -> Array:
    """Returns numpy's `as_strided` view, which by itself does not know the dtype of f8E5M2."""
    bits = array.view(f"u{array.dtype.itemsize}")
    return np.lib.stride_tricks.as_strided(bits, shape, strides, writeable=writeable).view(array.dtype)


def array_of(value: Attribute) -> Array:
    """
    Returns the value of a constant: a 0-d array for an integer or a float, else an array of its type's shape.

    Raises TenonError for an attribute that is no constant.
    """
    match value:
        case IntegerAttr():
            dtype = dtype_of(value.type)
            if dtype == BOOL:
                return np.array(value.value.data & 1 == 1)
            return np.array(_wrapped(value.value.data, dtype), dtype)
        case FloatAttr():
            with np.errstate(all="ignore"):
                return np.array(value.value.data).astype(dtype_of(value.type))
        case DenseIntOrFPElementsAttr():
            dtype, shape = dtype_of(value.type), value.get_shape()
            stored = np.frombuffer(value.data.data, np.dtype(np.int8) if dtype == BOOL else dtype)
            elements = stored != 0 if dtype == BOOL else stored
            return np.broadcast_to(elements[0], shape) if len(elements) == 1 else elements.reshape(shape)
        case _:
            raise TenonError(f"reference: {value} is no constant")


def _wrapped(value: int, dtype: np.dtype[Any]) -> int:
    bits = dtype.itemsize * 8
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value


def dense_of(values: Array, type: TensorType[Any]) -> DenseIntOrFPElementsAttr[Any]:
    """Returns a constant of a static tensor type; one value alone is a splat."""
    stored = -values.astype(np.int8) if values.dtype == BOOL else values
    data = np.ascontiguousarray(stored).tobytes()
    return DenseIntOrFPElementsAttr(
        type, BytesAttr(data * prod(type.get_shape()) if values.size == 1 else data)
    )


def is_masked(value: object) -> bool:
    """Returns whether it is a masked array. Where nobody imported numpy's module of those there is none."""
    masked = sys.modules.get("numpy.ma")
    return isinstance(value, getattr(masked, "MaskedArray", ()))
