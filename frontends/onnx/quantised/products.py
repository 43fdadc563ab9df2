"""
Products of quantised matrices and images, in int32. Zero points of matrices are taken off the sums, not off
the elements, so that weights stay as narrow as they are.
"""

from __future__ import annotations

from typing import Any

from ....errors import TenonError
from ... import nn
from ... import numpy as tnp
from ..layers.convolutions import padding_of
from ..registry import onnx_op
from .linear import (
    FLOAT32,
    INT32,
    UINT8,
    dynamically_quantised,
    is_single,
    quantised,
    zero_of,
)

_ZEROS = ("a_zero", "b_zero")


def _rows(x: Any) -> Any:
    """Returns scales or zero points of rows as a column, one for all as a scalar."""
    if x is None:
        return None
    if is_single(x):
        return tnp.reshape(x, ())
    return tnp.expand_dims(x, -1) if len(x.shape) == 1 else x


def _columns(x: Any) -> Any:
    """Returns scales or zero points of columns as a row, one for all as a scalar."""
    return x if x is None or not is_single(x) else tnp.reshape(x, ())


def _check_integers(*arrays: Any) -> None:
    for each in arrays:
        if each.dtype.name not in ("int8", "uint8", "int16", "uint16"):
            raise TenonError(f"products of {each.dtype} are not supported, expected integers of 8 bits")


def integer_product(a: Any, b: Any, a_zero: Any, b_zero: Any) -> Any:
    """Returns the product of matrices less their zero points, which are of int32, or None for 0."""
    _check_integers(a, b)
    a_zero, b_zero = _rows(a_zero), _columns(b_zero)
    if len(a.shape) < 2 or len(b.shape) < 2:
        a, b = (
            tnp.astype(x, INT32) if zero is None else tnp.subtract(tnp.astype(x, INT32), zero)
            for x, zero in ((a, a_zero), (b, b_zero))
        )
        return tnp.matmul(a, b)
    found = tnp.matmul(a, b, preferred_element_type=INT32)
    if a_zero is not None:
        totals = tnp.sum(b, axis=-2, keepdims=True, dtype=INT32)
        found = tnp.subtract(found, tnp.multiply(a_zero, totals))
    if b_zero is not None:
        totals = tnp.sum(a, axis=-1, keepdims=True, dtype=INT32)
        if a_zero is not None:
            totals = tnp.subtract(totals, tnp.multiply(a_zero, a.shape[-1]))
        found = tnp.subtract(found, tnp.multiply(totals, b_zero))
    return found


@onnx_op("MatMulInteger", since=10, either=_ZEROS)
def matmul_integer(a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> Any:
    return integer_product(a, b, zero_of(a, a_zero), zero_of(a, b_zero))


def _as_float(x: Any) -> Any:
    return tnp.astype(x, FLOAT32)


@onnx_op("QLinearMatMul", since=10, either=(*_ZEROS, "y_zero"))
def qlinear_matmul(
    a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, y_scale: Any, y_zero: Any
) -> Any:
    total = integer_product(a, b, zero_of(a, a_zero), zero_of(a, b_zero))
    factor = tnp.multiply(_rows(_as_float(a_scale)), _columns(_as_float(b_scale)))
    factor = tnp.divide(factor, _rows(_as_float(y_scale)))
    return _requantised(total, factor, y_zero, _rows(zero_of(a, y_zero)))


def _requantised(total: Any, factor: Any, zero: Any, zero_int: Any) -> Any:
    """Returns sums in int32 times a factor as integers of the dtype of the zero point `zero`."""
    dtype = UINT8 if zero is None else zero.dtype
    return quantised(tnp.multiply(_as_float(total), factor), zero_int, dtype)


@onnx_op("QGemm", domain="com.microsoft", either=(*_ZEROS, "y_zero"))
def qgemm(
    a: Any,
    a_scale: Any,
    a_zero: Any,
    b: Any,
    b_scale: Any,
    b_zero: Any,
    c: Any = None,
    y_scale: Any = None,
    y_zero: Any = None,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Any:
    """Without a scale of the result it is floats."""
    left = tnp.matrix_transpose(a) if transA else a
    right = tnp.matrix_transpose(b) if transB else b
    total = integer_product(left, right, zero_of(a, a_zero), zero_of(a, b_zero))
    if c is not None:
        total = tnp.add(total, c)
    factor = tnp.multiply(tnp.multiply(_columns(a_scale), _columns(b_scale)), alpha)
    if y_scale is None:
        return tnp.multiply(_as_float(total), factor)
    factor = tnp.divide(factor, _columns(y_scale))
    return _requantised(total, factor, y_zero, _columns(zero_of(a, y_zero)))


@onnx_op("DynamicQuantizeMatMul", domain="com.microsoft", either=("b_zero",))
def dynamic_quantize_matmul(a: Any, b: Any, b_scale: Any, b_zero: Any = None, bias: Any = None) -> Any:
    codes, scale, zero = dynamically_quantised(a)
    total = integer_product(codes, b, zero, zero_of(a, b_zero))
    found = tnp.multiply(_as_float(total), tnp.multiply(scale, _columns(b_scale)))
    return found if bias is None else tnp.add(found, bias)


@onnx_op("MatMulIntegerToFloat", domain="com.microsoft", either=_ZEROS)
def matmul_integer_to_float(
    a: Any, b: Any, a_scale: Any, b_scale: Any, a_zero: Any = None, b_zero: Any = None, bias: Any = None
) -> Any:
    total = integer_product(a, b, zero_of(a, a_zero), zero_of(a, b_zero))
    found = tnp.multiply(_as_float(total), tnp.multiply(_columns(a_scale), _columns(b_scale)))
    return found if bias is None else tnp.add(found, bias)


def _integer_conv(
    x: Any,
    kernel: Any,
    x_zero: Any,
    kernel_zero: Any,
    auto_pad: str,
    dilations: list[int] | None,
    group: int,
    kernel_shape: list[int] | None,
    pads: list[int] | None,
    strides: list[int] | None,
) -> Any:
    """Returns the convolution of differences from the zero points in int32: 0 is padded."""
    _check_integers(x, kernel)
    count = len(x.shape) - 2
    steps, apart = strides or [1] * count, dilations or [1] * count
    if kernel_shape is not None and tuple(kernel_shape) != tuple(kernel.shape[2:]):
        raise TenonError(f"kernel_shape is {kernel_shape}, the kernel has shape {kernel.shape}")
    windows = [(k - 1) * d + 1 for k, d in zip(kernel.shape[2:], apart, strict=True)]
    widths = padding_of(auto_pad, pads, x.shape[2:], windows, steps)
    source, weights = tnp.astype(x, INT32), tnp.astype(kernel, INT32)
    if kernel_zero is not None:
        shape = () if is_single(kernel_zero) else (-1, *[1] * (count + 1))
        weights = tnp.subtract(weights, tnp.reshape(kernel_zero, shape))
    if x_zero is not None:
        source = tnp.subtract(source, tnp.reshape(x_zero, ()))
    return nn.conv(source, weights, strides=steps, padding=widths, dilation=apart, groups=group)


@onnx_op("ConvInteger", since=10, either=("x_zero", "kernel_zero"))
def conv_integer(
    x: Any,
    kernel: Any,
    x_zero: Any = None,
    kernel_zero: Any = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: list[int] | None = None,
    group: int = 1,
    kernel_shape: list[int] | None = None,
    pads: list[int] | None = None,
    strides: list[int] | None = None,
) -> Any:
    zeros = zero_of(x, x_zero), zero_of(x, kernel_zero)
    return _integer_conv(x, kernel, *zeros, auto_pad, dilations, group, kernel_shape, pads, strides)


@onnx_op("QLinearConv", since=10, either=("x_zero", "kernel_zero", "y_zero"))
def qlinear_conv(
    x: Any,
    x_scale: Any,
    x_zero: Any,
    kernel: Any,
    kernel_scale: Any,
    kernel_zero: Any,
    y_scale: Any,
    y_zero: Any,
    bias: Any = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: list[int] | None = None,
    group: int = 1,
    kernel_shape: list[int] | None = None,
    pads: list[int] | None = None,
    strides: list[int] | None = None,
) -> Any:
    zeros = zero_of(x, x_zero), zero_of(x, kernel_zero)
    total = _integer_conv(x, kernel, *zeros, auto_pad, dilations, group, kernel_shape, pads, strides)
    channels = (-1, *[1] * (len(x.shape) - 2))
    if bias is not None:
        total = tnp.add(total, tnp.reshape(bias, channels))
    factor = tnp.multiply(_columns(x_scale), _columns(kernel_scale))
    factor = tnp.divide(factor, _columns(y_scale))
    factor = factor if is_single(factor) else tnp.reshape(factor, channels)
    return _requantised(total, factor, y_zero, _columns(zero_of(x, y_zero)))
