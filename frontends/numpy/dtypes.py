"""The dtypes, and functions about them."""

from __future__ import annotations

import builtins
import math
from dataclasses import dataclass
from typing import Any, cast

import ml_dtypes
import numpy as np

from ..arrays.array import Array
from ..calls.dispatch import array_function
from ..tracing import graph_ops as ops
from .arguments.operands import operands

__all__ = [
    "astype",
    "bfloat16",
    "bool",
    "finfo",
    "float8_e4m3",
    "float8_e4m3fn",
    "float8_e5m2",
    "float16",
    "float32",
    "float64",
    "iinfo",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

DType = np.dtype[Any]

bool = np.dtype(np.bool_)
int8 = np.dtype(np.int8)
int16 = np.dtype(np.int16)
int32 = np.dtype(np.int32)
int64 = np.dtype(np.int64)
uint8 = np.dtype(np.uint8)
uint16 = np.dtype(np.uint16)
uint32 = np.dtype(np.uint32)
uint64 = np.dtype(np.uint64)
float16 = np.dtype(np.float16)
float32 = np.dtype(np.float32)
float64 = np.dtype(np.float64)
bfloat16 = np.dtype(ml_dtypes.bfloat16)
float8_e5m2 = np.dtype(ml_dtypes.float8_e5m2)
float8_e4m3fn = np.dtype(ml_dtypes.float8_e4m3fn)
float8_e4m3 = np.dtype(ml_dtypes.float8_e4m3)

SIGNED = (int8, int16, int32, int64)
UNSIGNED = (uint8, uint16, uint32, uint64)
STANDARD_FLOATS = (float32, float64)
FLOATS = (float16, *STANDARD_FLOATS, bfloat16, float8_e5m2, float8_e4m3fn, float8_e4m3)
DTYPES = (bool, *SIGNED, *UNSIGNED, *FLOATS)
"""Every dtype that an array can have."""

_KINDS: dict[str, tuple[DType, ...]] = {
    "bool": (bool,),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": (*SIGNED, *UNSIGNED),
    "real floating": FLOATS,
    "complex floating": (),
    "numeric": (*SIGNED, *UNSIGNED, *FLOATS),
}


def dtype_of(who: str, dtype: object) -> DType:
    """
    Returns what a caller gives as a dtype: a dtype, a scalar type of numpy or of python, or a name. Arrays
    have the byte order of the machine, whatever that of the dtype is.

    Raises TypeError, naming `who`, for what is no dtype, and for dtypes that arrays cannot have, complex ones
    say.
    """
    try:
        found = np.dtype(dtype)  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]
    except TypeError:
        raise TypeError(f"{who}: {dtype!r} is not a dtype") from None
    native = found.newbyteorder("=")
    if dtype is None or native not in DTYPES:
        why = "there are no complex dtypes" if found.kind == "c" else "it is none of tenon.numpy's"
        raise TypeError(f"{who}: arrays cannot have dtype {dtype if dtype is None else found} ({why})")
    return native


@array_function(static=("dtype",))
def _astype(x: Array, dtype: DType) -> Array:
    return ops.cast(operands("astype", x)[0], dtype)


def astype(x: Array, dtype: object, /, *, copy: builtins.bool = True, device: str | None = None) -> Array:
    """
    Returns the elements of `x` converted: floats to integers towards zero, saturating, NaN to 0; integers to
    integers keep their low bits; to bool whether they are not zero. Arrays never change, so that `copy` makes
    no difference but that `x` itself is returned where it is false and the dtype is that of `x`.
    """
    check_device("astype", device)
    wanted = dtype_of("astype", dtype)
    return x if x.dtype == wanted and not copy else _astype(x, wanted)


def check_device(who: str, device: object) -> None:
    """Raises ValueError, naming `who`, for a device that is not there: there is `cpu`, and None for it."""
    if device not in (None, "cpu"):
        raise ValueError(f"{who}: there is no device {device!r}, only 'cpu'")


@dataclass(frozen=True)
class FloatInfo:
    """The limits of a float dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True)
class IntegerInfo:
    """The limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


def _dtype_asked_for(who: str, type: object) -> DType:
    return type.dtype if isinstance(type, Array) else dtype_of(who, type)


def finfo(type: object, /) -> FloatInfo:
    """Returns the limits of a float dtype, or of that of an array. Raises ValueError for other dtypes."""
    dtype = _dtype_asked_for("finfo", type)
    if dtype not in FLOATS:
        raise ValueError(f"finfo: {dtype} is not of floats")
    info = cast(Any, ml_dtypes.finfo(dtype))
    return FloatInfo(
        info.bits, float(info.eps), float(info.max), float(info.min), float(info.smallest_normal), dtype
    )


def iinfo(type: object, /) -> IntegerInfo:
    """Returns the limits of an integer dtype, or of that of an array. Raises ValueError for other dtypes."""
    dtype = _dtype_asked_for("iinfo", type)
    if dtype.kind not in "iu":
        raise ValueError(f"iinfo: {dtype} is not of integers")
    info = np.iinfo(dtype)
    return IntegerInfo(info.bits, int(info.max), int(info.min), dtype)


def least_of(dtype: DType) -> builtins.bool | int | float:
    """Returns what no element of a dtype is less than, but for NaN."""
    return _extreme_of(dtype, False)


def greatest_of(dtype: DType) -> builtins.bool | int | float:
    """Returns what no element of a dtype is greater than, but for NaN."""
    return _extreme_of(dtype, True)


def _extreme_of(dtype: DType, is_greatest: builtins.bool) -> builtins.bool | int | float:
    if dtype.kind == "b":
        return is_greatest
    if dtype.kind in "iu" or dtype == float8_e4m3fn:  # That one has no infinities.
        info = iinfo(dtype) if dtype.kind in "iu" else finfo(dtype)
        return info.max if is_greatest else info.min
    return math.inf if is_greatest else -math.inf


def isdtype(dtype: object, kind: object) -> builtins.bool:
    """
    Returns whether a dtype is of a kind: a dtype, the name of a kind by the Array API, or a tuple of these.

    Raises:
        TypeError: `dtype` is none, or `kind` is neither.
        ValueError: there is no kind of that name.
    """
    found = dtype_of("isdtype", dtype)
    if isinstance(kind, tuple):
        return any([isdtype(found, each) for each in cast("tuple[object, ...]", kind)])
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"isdtype: there is no kind {kind!r}, only {', '.join(map(repr, _KINDS))}")
        return found in _KINDS[kind]
    return found == dtype_of("isdtype", kind)
