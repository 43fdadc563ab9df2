"""
Tensors of ONNX as numpy arrays. They are data of a file: what a tensor says of itself is checked against what
is there before memory is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ...errors import TenonError
from .external_data import ExternalData
from .package import onnx_package

NumpyArray = npt.NDArray[Any]

DTYPES: dict[int, np.dtype[Any]] = {
    number: np.dtype(kind)
    for number, kind in {
        1: np.float32,
        2: np.uint8,
        3: np.int8,
        4: np.uint16,
        5: np.int16,
        6: np.int32,
        7: np.int64,
        9: np.bool_,
        10: np.float16,
        11: np.float64,
        12: np.uint32,
        13: np.uint64,
        16: ml_dtypes.bfloat16,
        17: ml_dtypes.float8_e4m3fn,
        18: ml_dtypes.float8_e4m3fnuz,
        19: ml_dtypes.float8_e5m2,
        20: ml_dtypes.float8_e5m2fnuz,
        21: ml_dtypes.uint4,
        22: ml_dtypes.int4,
        23: ml_dtypes.float4_e2m1fn,
        24: ml_dtypes.float8_e8m0fnu,
        25: ml_dtypes.uint2,
        26: ml_dtypes.int2,
    }.items()
}
"""The dtypes of `TensorProto.DataType`: all but strings and complex numbers."""

_BITS = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}
"""The bits of an element of types of which several lie in a byte."""

_FIELDS = {
    "float_data": (1,),
    "int32_data": (2, 3, 4, 5, 6, 9, 10, 16, *range(17, 27)),
    "int64_data": (7,),
    "double_data": (11,),
    "uint64_data": (12, 13),
}
"""The fields that hold the elements of each type, where they are not raw."""

_FIELD_OF = {number: field for field, numbers in _FIELDS.items() for number in numbers}


def type_name(number: int) -> str:
    """Returns what ONNX calls a data type."""
    names: dict[int, str] = {value: name for name, value in onnx_package().TensorProto.DataType.items()}
    return names.get(number, f"data type {number}")


def dtype_of_number(number: int, who: str) -> np.dtype[Any]:
    """
    Returns the dtype of a number of `TensorProto.DataType`.

    Raises:
        TenonError: it is of strings or of complex numbers, or none.
    """
    found = DTYPES.get(number)
    if found is None:
        raise TenonError(f"{who}: there are no arrays of {type_name(number)}")
    return found


def number_of_dtype(dtype: np.dtype[Any]) -> int:
    """Returns the number of `TensorProto.DataType` that a dtype has."""
    return next(number for number, each in DTYPES.items() if each == dtype)


@dataclass(frozen=True, slots=True)
class TensorReader:
    """Reads tensors of one model; `external` finds those that lie in files beside it."""

    external: ExternalData

    def read(self, tensor: Any, who: str) -> NumpyArray:
        """
        Returns the elements of a `TensorProto`, which share the memory of the bytes that protobuf gives, or
        that of a mapped file, where they lie there as numpy has them. They are not to be written to.

        Raises:
            TenonError: its type is none of Tenon's, or it has not as many elements as its shape says.
        """
        shape = _shape_of(tensor.dims, who)
        dtype = dtype_of_number(tensor.data_type, who)
        n_elements = prod(shape)
        if tensor.data_location == tensor.EXTERNAL:
            nbytes = _nbytes(tensor.data_type, dtype, n_elements)
            raw = self.external.read({each.key: each.value for each in tensor.external_data}, nbytes, who)
            return _from_bytes(raw, tensor.data_type, dtype, shape)
        if tensor.HasField("raw_data"):
            nbytes = _nbytes(tensor.data_type, dtype, n_elements)
            # Asked for once: protobuf makes a copy each time.
            raw = np.frombuffer(tensor.raw_data, np.uint8)
            if raw.size != nbytes:
                raise TenonError(f"{who}: {raw.size} bytes for {dtype} of shape {shape}, expected {nbytes}")
            return _from_bytes(raw, tensor.data_type, dtype, shape)
        return _from_field(tensor, dtype, shape, who)


def _shape_of(dims: Sequence[int], who: str) -> tuple[int, ...]:
    shape = tuple(int(extent) for extent in dims)
    if any(extent < 0 for extent in shape):
        raise TenonError(f"{who}: the shape {shape} has a negative extent")
    return shape


def _nbytes(number: int, dtype: np.dtype[Any], n_elements: int) -> int:
    bits = _BITS.get(number)
    return n_elements * dtype.itemsize if bits is None else -(-n_elements * bits // 8)


def _from_bytes(raw: NumpyArray, number: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NumpyArray:
    bits = _BITS.get(number)
    if bits is not None:
        return _unpacked(raw, bits, dtype, shape)
    if dtype.kind == "b":
        # Any byte but 0 is true.
        return (raw != 0).reshape(shape)
    found = raw.view(dtype.newbyteorder("<") if dtype.itemsize > 1 and dtype.kind != "V" else dtype)
    if not found.dtype.isnative:
        found = found.astype(dtype)
    return found.reshape(shape)


def _unpacked(raw: NumpyArray, bits: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NumpyArray:
    """Returns elements of which the first lies in the lowest bits of a byte."""
    each = raw[:, None] >> np.arange(0, 8, bits, dtype=np.uint8)
    codes = (each & ((1 << bits) - 1)).reshape(-1)[: prod(shape)].astype(np.uint8)
    if dtype.name.startswith("int"):
        # The sign is in the highest of the bits.
        sign = 1 << (bits - 1)
        return ((codes ^ sign).astype(np.int8) - sign).astype(dtype).reshape(shape)
    found = codes.view(dtype) if dtype.name.startswith("float") else codes.astype(dtype)
    return found.reshape(shape)


def _from_field(tensor: Any, dtype: np.dtype[Any], shape: tuple[int, ...], who: str) -> NumpyArray:
    number = tensor.data_type
    field = _FIELD_OF[number]
    values = getattr(tensor, field)
    bits = _BITS.get(number)
    wanted = prod(shape)
    if bits is not None:
        wanted = _nbytes(number, dtype, wanted)
    if len(values) != wanted:
        raise TenonError(f"{who}: {len(values)} elements in {field} for shape {shape}, expected {wanted}")
    if bits is not None:
        return _unpacked(np.array(values, np.int32).astype(np.uint8), bits, dtype, shape)
    if dtype.itemsize <= 2 and dtype.kind not in "iub":
        # Floats of 16 and 8 bits are written as the integers that their bits are.
        unsigned = np.uint16 if dtype.itemsize == 2 else np.uint8
        return np.array(values, np.int32).astype(unsigned).view(dtype).reshape(shape)
    return np.array(values).astype(dtype).reshape(shape)
