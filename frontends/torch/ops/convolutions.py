"""Convolutions, and the gradients of their images and kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir.affine import AffineExpr, AffineMap

from ... import nn
from ... import numpy as tnp
from ...tracing import graph_ops as ops
from .movement import cut_to
from .promotion import as_dtype, computed_in
from .table import NotCoveredError, Traced, Wanted, aten

Sizes = Sequence[int]


def _each(values: Sizes, count: int) -> tuple[int, ...]:
    """Returns a number for each spatial axis; one may be for all of them."""
    found = tuple(values)
    if any(not isinstance(each, int) for each in found):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise NotCoveredError("a stride, a padding or a dilation that is known when it runs")
    return found * count if len(found) == 1 else found


@aten("convolution.default", "_convolution.default")
def convolution(
    x: Traced,
    weight: Traced,
    bias: Traced | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
    *flags: Any,
    wanted: Wanted,
) -> Traced:
    count = len(x.shape) - 2
    steps, widths, apart = (_each(each, count) for each in (stride, padding, dilation))
    within = computed_in(x.dtype)
    image, kernel = as_dtype(x, within), as_dtype(weight, within)
    if transposed:
        found = nn.conv_transpose(
            image,
            kernel,
            strides=steps,
            padding=widths,
            output_padding=_each(output_padding, count),
            dilation=apart,
            groups=groups,
        )
        # An extent that is known at each call may be 0 for `conv_transpose`, but not for torch.
        found = cut_to(found, wanted.shape)
    else:
        found = nn.conv(image, kernel, strides=steps, padding=widths, dilation=apart, groups=groups)
    if bias is not None:
        found = found + ops.reshape(as_dtype(bias, within), (bias.shape[0], *(1,) * count))
    return as_dtype(found, x.dtype)


@aten("convolution_backward.default")
def convolution_backward(
    grad: Traced,
    x: Traced,
    weight: Traced,
    bias_sizes: Sizes | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Traced | None, ...]:
    count = len(x.shape) - 2
    steps, widths, apart = (_each(each, count) for each in (stride, padding, dilation))
    within = computed_in(x.dtype)
    above, image, kernel = (as_dtype(each, within) for each in (grad, x, weight))
    of_image = of_kernel = of_bias = None
    if output_mask[0]:
        if transposed:
            of_image = nn.conv(above, kernel, strides=steps, padding=widths, dilation=apart, groups=groups)
        else:
            of_image = _image_gradient(above, image, kernel, steps, widths, apart, groups)
    if output_mask[1]:
        large, small = (above, image) if transposed else (image, above)
        of_kernel = _kernel_gradient(large, small, kernel.shape, steps, widths, apart, groups)
    if output_mask[2]:
        of_bias = tnp.sum(above, axis=(0, *range(2, 2 + count)))
    return tuple(None if each is None else as_dtype(each, x.dtype) for each in (of_image, of_kernel, of_bias))


def _image_gradient(
    above: Traced,
    image: Traced,
    kernel: Traced,
    steps: Sizes,
    widths: Sizes,
    apart: Sizes,
    groups: int,
) -> Traced:
    """
    Returns the gradient of the image: a transposed convolution, with what no window reached. How much that is
    of an extent that is known at each call is known then: the most there may be is added, and cut off.
    """
    extents = tuple(image.shape[2:])
    spatial = zip(extents, above.shape[2:], kernel.shape[2:], steps, widths, apart, strict=True)
    more = tuple(
        extent - ((places - 1) * step - 2 * width + (taps - 1) * far + 1)
        if isinstance(extent, int)
        else step - 1
        for extent, places, taps, step, width, far in spatial
    )
    found: Traced = nn.conv_transpose(
        above, kernel, strides=steps, padding=widths, output_padding=more, dilation=apart, groups=groups
    )
    return cut_to(found, (*found.shape[:2], *extents))


def _kernel_gradient(
    large: Traced,
    small: Traced,
    shape: Sequence[int],
    steps: Sizes,
    widths: Sizes,
    apart: Sizes,
    groups: int,
) -> Traced:
    """
    Returns the gradient of a kernel: for each tap the product of what the windows have there with what is at
    their places. Dims are group, small and large channel, taps, image, places.
    """
    count = len(steps)
    zero = ops.full(0, large.dtype, ())
    if any(widths):
        large = ops.pad(large, zero, (0, 0, *widths), (0, 0, *widths))
    images, channels = large.shape[:2]
    places = small.shape[2:]
    large = ops.reshape(large, (images, groups, channels // groups, *large.shape[2:]))
    small = ops.reshape(small, (images, groups, small.shape[1] // groups, *places))
    d = [AffineExpr.dimension(k) for k in range(4 + 2 * count)]
    taps, image, at = d[3 : 3 + count], d[3 + count], d[4 + count :]
    windows = [at[k] * steps[k] + taps[k] * apart[k] for k in range(count)]
    maps = [
        AffineMap(len(d), 0, (image, d[0], d[2], *windows)),
        AffineMap(len(d), 0, (image, d[0], d[1], *at)),
        AffineMap(len(d), 0, tuple(d[: 3 + count])),
    ]
    result = (groups, small.shape[2], large.shape[2], *shape[2:])
    found = ops.contract((large, small), maps, large.dtype, result, bounds=(*result, images, *places))
    return ops.reshape(found, shape)
