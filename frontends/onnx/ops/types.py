"""Conversions between dtypes, also to those that programs do not compute in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from ....errors import TenonError
from ... import numpy as tnp
from ...tracing import graph_ops as ops
from ..registry import onnx_op
from ..storage import CARRIERS, Stored, stored_array
from ..tensors import dtype_of_number

_FLOAT8 = tuple(
    np.dtype(each)
    for each in (
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e4m3fnuz,
        ml_dtypes.float8_e5m2,
        ml_dtypes.float8_e5m2fnuz,
    )
)
"""Conversions to these saturate where that is asked for."""


@onnx_op("Cast", narrow=("x",))
def cast(x: Any, *, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    return converted(x, dtype_of_number(to, "Cast"), bool(saturate), round_mode)


@onnx_op("CastLike", narrow=("x", "like"))
def cast_like(x: Any, like: Any, *, saturate: int = 1, round_mode: str = "up") -> Any:
    return converted(x, like.dtype, bool(saturate), round_mode)


@onnx_op("BitCast", narrow=("x",))
def bit_cast(x: Any, *, to: int) -> Any:
    dtype = dtype_of_number(to, "BitCast")
    if isinstance(x, Stored) or dtype in CARRIERS or dtype.itemsize != x.dtype.itemsize:
        raise TenonError(f"the bits of {x.dtype} as {dtype} are not supported")
    if x.dtype == dtype:
        return x
    if dtype.kind == "b" or x.dtype.kind == "b":
        return tnp.astype(x, dtype) if x.dtype.kind == "b" else tnp.not_equal(x, 0)
    return ops.bitcast(x, dtype)


def converted(x: Any, dtype: np.dtype[Any], saturate: bool, round_mode: str = "up") -> Any:
    """Returns the elements in another dtype, rounded to nearest even."""
    if x.dtype == dtype:
        return x
    source: Any = stored_array(x)
    if dtype in CARRIERS:
        return Stored(_narrowed(source, dtype, saturate, round_mode), dtype)
    if dtype in _FLOAT8 and saturate:
        source = _saturated(source, dtype)
    return tnp.astype(source, dtype)


@dataclass(frozen=True, slots=True)
class _Floats:
    """What a dtype of floats has."""

    max: float
    smallest_normal: float
    nmant: int


def _finfo(dtype: np.dtype[Any]) -> _Floats:
    finfo: Any = ml_dtypes.finfo
    info = finfo(dtype)
    return _Floats(float(info.max), float(info.smallest_normal), int(info.nmant))


def _saturated(x: Any, dtype: np.dtype[Any]) -> Any:
    """Returns `x` with what is too large for a dtype of floats moved to its greatest."""
    greatest = _finfo(dtype).max
    if x.dtype.kind in "iub":
        x = tnp.astype(x, np.dtype(np.float32))
    return tnp.clip(x, -greatest, greatest)


def _narrowed(x: Any, dtype: np.dtype[Any], saturate: bool, round_mode: str) -> Any:
    carrier = CARRIERS[dtype]
    if dtype.name.startswith(("int", "uint")):
        return _few_bits(x, dtype, carrier)
    wide = tnp.astype(x, np.dtype(np.float32)) if x.dtype != np.dtype(np.float32) else x
    if dtype.name == "float8_e8m0fnu":
        return _powers_of_two(wide, saturate, round_mode)
    return tnp.astype(_rounded(wide, dtype, saturate), carrier)


def _few_bits(x: Any, dtype: np.dtype[Any], carrier: np.dtype[Any]) -> Any:
    """
    Returns integers of 4 or 2 bits: the lowest bits of integers; floats are rounded towards zero, and those
    that are out of range, of which the standard says nothing, are 0.
    """
    info = ml_dtypes.iinfo(dtype)
    if x.dtype.kind not in "iu":
        whole = tnp.astype(x, np.dtype(np.int64))
        is_inside = tnp.logical_and(tnp.greater_equal(whole, info.min), tnp.less_equal(whole, info.max))
        return tnp.astype(tnp.where(is_inside, whole, 0), carrier)
    lowest = tnp.bitwise_and(x, (1 << info.bits) - 1)
    if info.min == 0:
        return tnp.astype(lowest, carrier)
    sign = 1 << (info.bits - 1)
    return tnp.subtract(tnp.astype(tnp.bitwise_xor(lowest, sign), carrier), sign)


def _rounded(x: Any, dtype: np.dtype[Any], saturate: bool) -> Any:
    """Returns floats rounded to what a dtype of few bits has, ties to even."""
    info = _finfo(dtype)
    greatest = info.max
    is_few = dtype.name == "float4_e2m1fn"
    if saturate or is_few:
        x = tnp.clip(x, -greatest, greatest)
    step = tnp.multiply(_power_below(tnp.maximum(tnp.abs(x), info.smallest_normal)), 2.0**-info.nmant)
    found = tnp.multiply(tnp.round(tnp.divide(x, step)), step)
    if is_few:
        return tnp.where(tnp.isnan(x), tnp.zeros_like(x), found)
    found = tnp.where(tnp.greater(tnp.abs(found), greatest), tnp.full_like(x, np.nan), found)
    # There is no negative zero.
    return tnp.where(tnp.equal(found, 0), tnp.zeros_like(x), found)


def _power_below(size: Any) -> Any:
    """Returns the greatest power of two that is no greater: the exponents of float32 alone."""
    bits = ops.bitcast(size, np.dtype(np.int32))
    exponents: Any = tnp.bitwise_and(bits, 0x7F800000)
    return ops.bitcast(exponents, np.dtype(np.float32))


def _powers_of_two(x: Any, saturate: bool, round_mode: str) -> Any:
    """Returns the powers of two at, above or nearest to the sizes of floats: what is 0 is the least."""
    size = tnp.abs(x)
    lower = _power_below(size)
    is_power = tnp.equal(lower, size)
    if round_mode == "up":
        found = tnp.where(is_power, lower, tnp.multiply(lower, 2))
    elif round_mode == "down":
        found = lower
    elif round_mode == "nearest":
        found = tnp.where(tnp.less(size, tnp.multiply(lower, 1.5)), lower, tnp.multiply(lower, 2))
    else:
        raise TenonError(f"round_mode is {round_mode!r}, expected up, down or nearest")
    least, greatest = 2.0**-127, 2.0**127
    found = tnp.maximum(found, least)
    over = greatest if saturate else np.nan
    found = tnp.where(tnp.greater(found, greatest), tnp.full_like(x, over), found)
    return tnp.where(tnp.isnan(x), tnp.full_like(x, np.nan), found)
