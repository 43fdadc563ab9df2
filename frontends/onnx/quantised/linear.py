"""Floats as integers of few bits, times a scale, from a zero point on: per tensor, per axis and in blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ....errors import TenonError
from ... import numpy as tnp
from ...numpy.arguments.axes import axis_of
from ..ops.types import converted
from ..registry import onnx_op
from ..storage import carried, stored_array
from ..tensors import dtype_of_number
from ..values import NumpyArray

FLOAT32, INT32, UINT8 = np.dtype(np.float32), np.dtype(np.int32), np.dtype(np.uint8)


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Returns whether a dtype is of integers, those of few bits among them."""
    return dtype.name.startswith(("int", "uint"))


def bounds_of(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Returns the least and the greatest integer of a dtype."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return int(info.min), int(info.max)
    bits = int(dtype.name.lstrip("uint"))
    return (0, (1 << bits) - 1) if dtype.name[0] == "u" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def beside(like: Any, values: Any) -> Any:
    """Returns an array of the trace that `like` is of; a known one is a constant there."""
    if isinstance(values, np.ndarray):
        known = carried(cast(NumpyArray, values))
        return like.trace.constant(np.ascontiguousarray(known).reshape(known.shape))
    return stored_array(values)


def is_single(x: Any) -> bool:
    return tuple(x.shape) in ((), (1,))


def along(x: Any, shape: tuple[Any, ...], axis: int, block_size: int, what: str) -> Any:
    """
    Returns scales or zero points as an array that broadcasts with one of `shape`: one for all, one for each
    index of `axis`, or one for each block of it.

    Raises:
        TenonError: there are not as many.
    """
    if is_single(x):
        return tnp.reshape(x, ())
    if not block_size:
        if len(x.shape) != 1 or x.shape[0] != shape[axis]:
            raise TenonError(f"{what} has shape {x.shape}, expected ({shape[axis]},) for axis {axis}")
        return tnp.reshape(x, (x.shape[0], *[1] * (len(shape) - 1 - axis)))
    wanted = [*shape]
    extent = shape[axis]
    if block_size < 0 or not isinstance(extent, int):
        raise TenonError(f"blocks of {block_size} along an axis of extent {extent} are not supported")
    wanted[axis] = -(-extent // block_size)
    if tuple(x.shape) != tuple(wanted):
        raise TenonError(f"{what} has shape {x.shape}, expected {tuple(wanted)} for blocks of {block_size}")
    repeated = tnp.repeat(x, block_size, axis=axis)
    return repeated[(*[slice(None)] * axis, slice(0, extent))]


def _place(axis: int, shape: tuple[Any, ...], who: str, scale: Any) -> int:
    """Returns the axis of scales; where there is one scale it is not looked at."""
    return 0 if is_single(scale) else axis_of(who, axis, len(shape))


def quantised(x: Any, zero: Any, dtype: np.dtype[Any]) -> Any:
    """
    Returns floats, which were divided by their scale, as integers of `dtype`: rounded to nearest even, from
    `zero` on, those out of bounds the nearest within, NaN as the least. `zero` is of int32, or None.
    """
    low, high = bounds_of(dtype)
    rounded = tnp.round(x)
    if zero is not None:
        rounded = tnp.add(rounded, tnp.astype(zero, rounded.dtype))
    if dtype.kind in "iu":
        # Conversions stop at the bounds; NaN becomes 0.
        found = tnp.astype(rounded, dtype)
        return found if low == 0 else tnp.where(tnp.isnan(rounded), tnp.full_like(found, low), found)
    clipped = tnp.clip(tnp.where(tnp.isnan(rounded), tnp.full_like(rounded, low), rounded), low, high)
    return converted(tnp.astype(clipped, INT32), dtype, False)


def one_or_row(x: Any) -> Any:
    """Returns one number as a scalar, several as they are."""
    return tnp.reshape(x, ()) if is_single(x) else x


def requantised(total: Any, factor: Any, zero: Any, place: Callable[[Any], Any] = one_or_row) -> Any:
    """
    Returns sums in int32 times a factor as integers of the dtype of `zero`, uint8 without one. `place` gives
    zero points the shape in which they broadcast.
    """
    dtype = UINT8 if zero is None else zero.dtype
    zero = zero_of(total, zero)
    found = tnp.multiply(tnp.astype(total, FLOAT32), factor)
    return quantised(found, None if zero is None else place(zero), dtype)


def dequantised(x: Any, scale: Any, zero: Any) -> Any:
    """Returns numbers less their zero point, which is None where it is 0, times `scale`, in its dtype."""
    whole = stored_array(x)
    if zero is not None:
        whole = tnp.subtract(tnp.astype(whole, zero.dtype), zero)
    return tnp.multiply(tnp.astype(whole, scale.dtype), scale)


def zero_of(like: Any, zero: Any, dtype: np.dtype[Any] = INT32) -> Any:
    """Returns a zero point in a dtype; None where it is left out, or known to be 0."""
    if zero is None:
        return None
    if isinstance(zero, np.ndarray):
        known = cast(NumpyArray, zero).astype(dtype)
        if not known.astype(np.float32).any():
            return None
        zero = known
    return tnp.astype(beside(like, zero), dtype)


def _check_zero(zero: Any, scale: Any) -> None:
    if zero is None or (is_single(zero) and is_single(scale)):
        return
    if tuple(zero.shape) != tuple(scale.shape):
        raise TenonError(f"zero points of shape {zero.shape} for scales of shape {scale.shape}")


@onnx_op("QuantizeLinear", since=10, narrow=("zero_point",), either=("zero_point",))
@onnx_op("QuantizeLinear", since=1, domain="com.microsoft", narrow=("zero_point",), either=("zero_point",))
def quantize_linear(
    x: Any,
    scale: Any,
    zero_point: Any = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> Any:
    dtype = UINT8 if zero_point is None else zero_point.dtype
    if output_dtype:
        wanted = dtype_of_number(output_dtype, "QuantizeLinear")
        if zero_point is not None and wanted != dtype:
            raise TenonError(f"output_dtype is {wanted}, the zero point is {dtype}")
        dtype = wanted
    _check_zero(zero_point, scale)
    computed = dtype_of_number(precision, "QuantizeLinear") if precision else scale.dtype
    place = _place(axis, x.shape, "QuantizeLinear", scale)
    scale = tnp.astype(along(scale, x.shape, place, block_size, "scale"), computed)
    x = tnp.astype(x, computed)
    zero = zero_of(x, zero_point, INT32 if is_integer(dtype) else computed)
    if zero is not None:
        zero = along(zero, x.shape, place, block_size, "zero_point")
    if is_integer(dtype):
        return quantised(tnp.divide(x, scale), zero, dtype)
    divided = tnp.divide(x, scale)
    return converted(divided if zero is None else tnp.add(divided, zero), dtype, bool(saturate))


@onnx_op("DequantizeLinear", since=10, narrow=("x", "scale", "zero_point"), either=("zero_point",))
@onnx_op(
    "DequantizeLinear",
    since=1,
    domain="com.microsoft",
    narrow=("x", "scale", "zero_point"),
    either=("zero_point",),
)
def dequantize_linear(
    x: Any,
    scale: Any,
    zero_point: Any = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Any:
    if zero_point is not None and zero_point.dtype != x.dtype:
        raise TenonError(f"the zero point is {zero_point.dtype}, the input {x.dtype}")
    _check_zero(zero_point, scale)
    scale = stored_array(scale)
    place = _place(axis, x.shape, "DequantizeLinear", scale)
    scale = along(scale, x.shape, place, block_size, "scale")
    if output_dtype:
        scale = tnp.astype(scale, dtype_of_number(output_dtype, "DequantizeLinear"))
    values: Any = stored_array(x)
    zero = zero_of(values, zero_point, INT32 if is_integer(x.dtype) else scale.dtype)
    if zero is not None:
        zero = along(zero, x.shape, place, block_size, "zero_point")
    return dequantised(values, scale, zero)


def dynamically_quantised(x: Any) -> tuple[Any, Any, Any]:
    """Returns floats as uint8 whose bounds are those of the elements and 0, the scale and the zero point."""
    # An array without elements has the bounds of 0 alone.
    flat = tnp.concat([tnp.reshape(x, (-1,)), tnp.zeros((1,), dtype=x.dtype)])
    low, high = tnp.min(flat), tnp.max(flat)
    scale = tnp.divide(tnp.subtract(high, low), 255)
    scale = tnp.where(tnp.equal(scale, 0), tnp.ones_like(scale), scale)
    zero = tnp.round(tnp.clip(tnp.divide(tnp.negative(low), scale), 0, 255))
    zero = tnp.astype(zero, INT32)
    return quantised(tnp.divide(x, scale), zero, UINT8), scale, zero


@onnx_op("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear(x: Any) -> Any:
    found, scale, zero = dynamically_quantised(x)
    return found, scale, tnp.astype(zero, UINT8)
