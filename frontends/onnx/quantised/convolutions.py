"""
Convolutions of quantised images, in int32. Images are padded with their zero point, so that all windows have
as many elements: what the zero point adds to a sum is the same everywhere, and is made of the kernel alone.
"""

from __future__ import annotations

from typing import Any

from ....errors import TenonError
from ... import nn
from ... import numpy as tnp
from ..layers.convolutions import windows_of
from ..registry import onnx_op
from .linear import INT32, is_single, one_or_row, requantised, zero_of
from .operands import INT8, along_first, check_integers, difference, signed, unsigned

_ZEROS = ("x_zero", "kernel_zero")


@onnx_op("ConvInteger", since=10, either=_ZEROS)
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
    """
    Returns the convolution of differences from the zero points in int32: 0 is padded. These are numpy arrays
    where they are known, and None for 0.

    Raises:
        TenonError: the operands are no integers of 8 or 16 bits, `kernel_shape` is not that of the kernel, or
            there is more than one zero point for the image.
    """
    check_integers(x, kernel)
    if x_zero is not None and not is_single(x_zero):
        raise TenonError(f"the zero point of the image has shape {x_zero.shape}, expected one")
    steps, apart, spatial = windows_of(x, kernel, auto_pad, dilations, kernel_shape, pads, strides)
    widths = [(0, 0), (0, 0), *spatial]
    weights, kernel_zero = signed(kernel, kernel_zero)
    zero, kernel_zero = zero_of(x, x_zero), zero_of(x, kernel_zero)
    is_narrow = weights.dtype == INT8 and kernel_zero is None and x.dtype.itemsize == 1
    if is_narrow:
        x, zero = unsigned(x, zero)
    else:
        x = difference(x, None if zero is None else tnp.reshape(zero, ()))
        weights = difference(
            weights, None if kernel_zero is None else along_first(kernel_zero, len(kernel.shape))
        )
        zero = None
    if any(before or after for before, after in widths):
        value: Any = 0 if zero is None else tnp.astype(tnp.reshape(zero, ()), x.dtype)
        x = tnp.pad(x, widths, constant_values=value)
    total = nn.conv(x, weights, strides=steps, dilation=apart, groups=group, preferred_element_type=INT32)
    if zero is None:
        return total
    sums = tnp.sum(weights, axis=tuple(range(1, len(kernel.shape))), dtype=INT32)
    return tnp.subtract(total, along_first(tnp.multiply(sums, tnp.reshape(zero, ())), len(x.shape) - 1))


@onnx_op("QLinearConv", since=10, either=(*_ZEROS, "y_zero"))
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
    total = conv_integer(
        x,
        kernel,
        x_zero,
        kernel_zero,
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )
    rank = len(x.shape) - 1
    if bias is not None:
        total = tnp.add(total, along_first(bias, rank))
    factor = tnp.multiply(one_or_row(x_scale), one_or_row(kernel_scale))
    factor = along_first(tnp.divide(factor, one_or_row(y_scale)), rank)
    return requantised(total, factor, y_zero)
