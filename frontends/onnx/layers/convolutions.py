"""Convolutions, and what else goes over windows of images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....errors import TenonError
from ... import nn
from ... import numpy as tnp
from ...arrays.array import Array
from ..registry import onnx_op


def same_widths(
    extents: Sequence[int], windows: Sequence[int], strides: Sequence[int], is_upper: bool
) -> list[tuple[int, int]]:
    """Returns what is padded for as many windows as elements, divided by the stride."""
    found: list[tuple[int, int]] = []
    for extent, window, stride in zip(extents, windows, strides, strict=True):
        total = max((-(-extent // stride) - 1) * stride + window - extent, 0)
        less, more = total // 2, total - total // 2
        found.append((less, more) if is_upper else (more, less))
    return found


def padding_of(
    auto_pad: str,
    pads: Sequence[int] | None,
    extents: Sequence[int],
    windows: Sequence[int],
    strides: Sequence[int],
) -> list[tuple[int, int]]:
    """Returns how much is padded before and after each spatial axis; `windows` are with their dilation."""
    count = len(windows)
    if auto_pad == "NOTSET":
        widths = list(pads or [0] * (2 * count))
        if len(widths) != 2 * count:
            raise TenonError(f"{len(widths)} pads for {count} spatial axes, expected {2 * count}")
        return list(zip(widths[:count], widths[count:], strict=True))
    if auto_pad == "VALID":
        return [(0, 0)] * count
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        return same_widths(extents, windows, strides, auto_pad == "SAME_UPPER")
    raise TenonError(f"auto_pad is {auto_pad!r}, expected NOTSET, SAME_UPPER, SAME_LOWER or VALID")


def windows_of(
    x: Any,
    kernel: Any,
    auto_pad: str,
    dilations: Sequence[int] | None,
    kernel_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> tuple[Sequence[int], Sequence[int], list[tuple[int, int]]]:
    """
    Returns the strides, the dilations and what is padded for each spatial axis of a convolution.

    Raises:
        TenonError: `kernel_shape` is not that of the kernel, or the padding is none of ONNX.
    """
    count = len(x.shape) - 2
    steps, apart = strides or [1] * count, dilations or [1] * count
    if kernel_shape is not None and tuple(kernel_shape) != tuple(kernel.shape[2:]):
        raise TenonError(f"kernel_shape is {kernel_shape}, the kernel has shape {kernel.shape}")
    windows = [(k - 1) * d + 1 for k, d in zip(kernel.shape[2:], apart, strict=True)]
    return steps, apart, padding_of(auto_pad, pads, x.shape[2:], windows, steps)


@onnx_op("Conv")
def conv(
    x: Array,
    kernel: Array,
    bias: Array | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: list[int] | None = None,
    group: int = 1,
    kernel_shape: list[int] | None = None,
    pads: list[int] | None = None,
    strides: list[int] | None = None,
) -> Array:
    steps, apart, widths = windows_of(x, kernel, auto_pad, dilations, kernel_shape, pads, strides)
    found = nn.conv(x, kernel, strides=steps, padding=widths, dilation=apart, groups=group)
    return found if bias is None else tnp.add(found, _per_channel(bias, len(steps)))


def _per_channel(x: Array, count: int) -> Array:
    return tnp.reshape(x, (x.shape[0], *[1] * count))


@onnx_op("ConvTranspose")
def conv_transpose(
    x: Array,
    kernel: Array,
    bias: Array | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: list[int] | None = None,
    group: int = 1,
    kernel_shape: list[int] | None = None,
    output_padding: list[int] | None = None,
    output_shape: list[int] | None = None,
    pads: list[int] | None = None,
    strides: list[int] | None = None,
) -> Array:
    count = len(x.shape) - 2
    steps = strides or [1] * count
    apart = dilations or [1] * count
    more = output_padding or [0] * count
    windows = [(k - 1) * d + 1 for k, d in zip(kernel.shape[2:], apart, strict=True)]
    whole = [(e - 1) * s + w + m for e, s, w, m in zip(x.shape[2:], steps, windows, more, strict=True)]
    if output_shape is not None:
        wanted = output_shape[-count:]
    elif auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [e * s for e, s in zip(x.shape[2:], steps, strict=True)]
    else:
        wanted = None
    if wanted is None:
        widths = padding_of(auto_pad, pads, x.shape[2:], windows, steps)
    else:
        widths: list[tuple[int, int]] = []
        for all_of, extent in zip(whole, wanted, strict=True):
            total = all_of - extent
            # What a given shape has beyond all that there is lies behind it, as onnxruntime has it.
            beyond = min(total, 0) if output_shape is not None else 0
            cut = total - beyond
            less, rest = cut // 2, cut - cut // 2
            low, high = (less, rest) if auto_pad == "SAME_UPPER" else (rest, less)
            widths.append((low, high + beyond))
    # What is cut off less than nothing is added as zeros behind.
    extra = [max(-high, 0) for _, high in widths]
    front = [max(-low, 0) for low, _ in widths]
    found = nn.conv_transpose(
        x,
        kernel,
        strides=steps,
        padding=[(max(low, 0), max(high, 0)) for low, high in widths],
        output_padding=[a + b for a, b in zip(more, extra, strict=True)],
        dilation=apart,
        groups=group,
    )
    if any(front):
        found = tnp.pad(found, [(0, 0), (0, 0), *[(each, 0) for each in front]])
    return found if bias is None else tnp.add(found, _per_channel(bias, count))


@onnx_op("Col2Im", known=("image_shape", "block_shape"))
def columns_to_image(
    x: Any,
    image_shape: Any,
    block_shape: Any,
    *,
    dilations: list[int] | None = None,
    pads: list[int] | None = None,
    strides: list[int] | None = None,
) -> Array:
    """Adds up blocks that lie in columns, at their places in an image."""
    image, block = (tuple(int(each) for each in shape) for shape in (image_shape, block_shape))
    count = len(image)
    steps, apart = strides or [1] * count, dilations or [1] * count
    widths = padding_of("NOTSET", pads, image, block, steps)
    places = [
        (e + low + high - ((b - 1) * d + 1)) // s + 1
        for e, (low, high), b, d, s in zip(image, widths, block, apart, steps, strict=True)
    ]
    n_block = math.prod(block)
    channels = x.shape[1] // n_block
    source = tnp.reshape(x, (x.shape[0] * channels, n_block, *places))
    kernel = np.eye(n_block).reshape(n_block, 1, *block).astype(x.dtype)
    whole = nn.conv_transpose(source, x.trace.constant(kernel), strides=steps, dilation=apart)
    wanted = [e + low + high for e, (low, high) in zip(image, widths, strict=True)]
    rest = [max(w - e, 0) for w, e in zip(wanted, whole.shape[2:], strict=True)]
    if any(rest):
        whole = tnp.pad(whole, [(0, 0), (0, 0), *[(0, each) for each in rest]])
    cut = tuple(slice(low, low + e) for (low, _), e in zip(widths, image, strict=True))
    return tnp.reshape(whole[(slice(None), slice(None), *cut)], (x.shape[0], channels, *image))
