"""
The functions of `tenon.nn`: convolutions, pooling and what classifiers need besides `tenon.numpy`.

Arrays of images have the axes (batch, channels, spatial...), kernels (output channels, input channels of a
group, spatial...), with one to three spatial axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, prod, sqrt
from typing import Any

import numpy as np
from xdsl.ir.affine import AffineExpr, AffineMap

from ..dialects import graph
from .arrays.array import Array
from .calls.dispatch import array_function
from .numpy.arguments.axes import axis_of, integer_of
from .numpy.arguments.operands import (
    FLOAT64,
    INT64,
    as_float,
    common,
    is_float,
    is_integer,
    no_loop,
    numbers,
    operands,
    reshaped,
    scalar_like,
)
from .numpy.dtypes import dtype_of, least_of
from .numpy.elementwise import relu
from .numpy.products.contraction import factors
from .tracing import graph_ops as ops
from .tracing.trace import TracedArray

__all__ = [
    "avg_pool",
    "conv",
    "conv_transpose",
    "gelu",
    "log_softmax",
    "max_pool",
    "one_hot",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
]

Sizes = int | Sequence[int]
Padding = str | int | Sequence[int] | Sequence[Sequence[int]]


def _spatial(who: str, what: str, value: Sizes, count: int, least: int) -> tuple[int, ...]:
    """Returns one integer from `least` up for each spatial axis."""
    values = tuple(value) if isinstance(value, tuple | list) else (value,) * count
    if len(values) != count:
        raise ValueError(f"{who}: {len(values)} {what} for {count} spatial axes ({what} {value})")
    found = tuple(integer_of(who, what, each) for each in values)
    for each in found:
        if each < least:
            raise ValueError(f"{who}: {what} must be {least} or more ({value})")
    return found


def _widths(
    who: str,
    padding: Padding,
    extents: Sequence[int],
    windows: Sequence[int],
    strides: Sequence[int],
) -> tuple[tuple[int, int], ...]:
    """
    Returns how much is padded before and after each spatial axis; `windows` are extents with their dilation.
    """
    if padding == "valid":
        return ((0, 0),) * len(extents)
    if padding == "same":
        steps = zip(extents, windows, strides, strict=True)
        totals = [
            max((-(-extent // stride) - 1) * stride + window - extent, 0) for extent, window, stride in steps
        ]
        return tuple((total // 2, total - total // 2) for total in totals)
    if isinstance(padding, str):
        raise ValueError(f"{who}: padding {padding!r} is not 'valid', 'same' or widths")
    values = tuple(padding) if isinstance(padding, tuple | list) else (padding,) * len(extents)
    if len(values) != len(extents):
        raise ValueError(f"{who}: {len(values)} paddings for {len(extents)} spatial axes (padding {padding})")
    pairs: list[Any] = [tuple(each) if isinstance(each, tuple | list) else (each, each) for each in values]
    found: list[tuple[int, int]] = []
    for pair in pairs:
        if len(pair) != 2:
            raise ValueError(f"{who}: a padding must be an integer or a pair (padding {padding})")
        low, high = _spatial(who, "padding", pair, 2, 0)
        found.append((low, high))
    return tuple(found)


def _padded(x: TracedArray, widths: Sequence[tuple[int, int]], value: float) -> TracedArray:
    if not any(low or high for low, high in widths):
        return x
    rest = (0,) * (len(x.shape) - len(widths))
    low, high = ((*rest, *each) for each in zip(*widths, strict=True))
    return ops.pad(x, ops.full(value, x.dtype, ()), low, high)


def _extents(who: str, x: TracedArray, windows: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Returns how many windows there are along each spatial axis of what is padded already."""
    spatial = x.shape[len(x.shape) - len(windows) :]
    for axis, (extent, window) in enumerate(zip(spatial, windows, strict=True)):
        if window > extent:
            raise ValueError(
                f"{who}: the window of {window} elements is larger than the padded extent {extent} "
                f"of spatial axis {axis} (padded shape {x.shape})"
            )
    return tuple((e - w) // s + 1 for e, w, s in zip(spatial, windows, strides, strict=True))


def _windowed(
    dims: int, at: int, count: int, strides: Sequence[int], dilation: Sequence[int]
) -> list[AffineExpr]:
    """
    Returns the index along each spatial axis: dim `at + k` is the window's place, the last `count` dims are
    inside.
    """
    inside = dims - count
    return [
        AffineExpr.dimension(at + k) * strides[k] + AffineExpr.dimension(inside + k) * dilation[k]
        for k in range(count)
    ]


def _images(who: str, x: TracedArray, kernel: TracedArray) -> int:
    """
    Returns the number of spatial axes. Raises ValueError where it is not one to three, or the ranks differ.
    """
    count = len(x.shape) - 2
    if not 1 <= count <= 3 or len(kernel.shape) != len(x.shape):
        raise ValueError(
            f"{who}: x and the kernel must have one rank, 3 to 5 (shapes {x.shape} and {kernel.shape})"
        )
    if 0 in kernel.shape:
        raise ValueError(f"{who}: the kernel has no elements (shape {kernel.shape})")
    return count


@array_function(static=("strides", "padding", "dilation", "groups", "preferred_element_type"))
def conv(
    x: Array,
    kernel: Array,
    /,
    *,
    strides: Sizes = 1,
    padding: Padding = "valid",
    dilation: Sizes = 1,
    groups: int = 1,
    preferred_element_type: object = None,
) -> Array:
    """
    The sums of products of a kernel with the windows of images (the kernel is not flipped).

    `padding` is `valid` for none, `same` for as many windows as elements (divided by the stride), an integer,
    or an integer or a pair for each spatial axis. `dilation` is how far apart the elements of a window are.
    `groups` parts the channels: each group of output channels sees its group of input channels only.
    `preferred_element_type` is that of `tenon.numpy.matmul`: uint8 by int8 in int32 is exact.

    Raises:
        ValueError: the shapes do not go together, a window is larger than the padded image, or a number is
            out of range.
        TypeError: the common dtype is bool, or the preferred dtype does not hold that of an array.
    """
    (source, weights), dtype = factors("conv", preferred_element_type, x, kernel)
    if dtype.kind == "b":
        raise no_loop("conv", dtype)
    count = _images("conv", source, weights)
    steps = _spatial("conv", "strides", strides, count, 1)
    apart = _spatial("conv", "dilation", dilation, count, 1)
    windows = [(k - 1) * d + 1 for k, d in zip(weights.shape[2:], apart, strict=True)]
    parts = integer_of("conv", "groups", groups)
    _check_channels("conv", source, weights, parts)
    padded = _padded(source, _widths("conv", padding, source.shape[2:], windows, steps), 0)
    return _correlated("conv", padded, weights, windows, steps, apart, parts, dtype)


def _check_channels(who: str, x: TracedArray, kernel: TracedArray, groups: int) -> None:
    out, inner = kernel.shape[:2]
    if groups < 1 or x.shape[1] != inner * groups or out % groups:
        raise ValueError(
            f"{who}: {x.shape[1]} channels of x, {out} output channels and {inner} input channels of the "
            f"kernel do not go together (groups {groups}, shapes {x.shape} and {kernel.shape})"
        )


def _correlated(
    who: str,
    x: TracedArray,
    kernel: TracedArray,
    windows: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    dtype: np.dtype[Any],
) -> TracedArray:
    """
    Returns the convolution of what is padded already, in `dtype`: dims are image, group, output channel,
    places, channel, inside.
    """
    count = len(windows)
    places = _extents(who, x, windows, strides)
    images, channels = x.shape[:2]
    out, inner = kernel.shape[:2]
    x = reshaped(x, (images, groups, channels // groups, *x.shape[2:]))
    kernel = reshaped(kernel, (groups, out // groups, inner, *kernel.shape[2:]))
    dims = 4 + 2 * count
    d = [AffineExpr.dimension(k) for k in range(dims)]
    channel, inside = d[3 + count], d[4 + count :]
    maps = [
        (d[0], d[1], channel, *_windowed(dims, 3, count, strides, dilation)),
        (d[1], d[2], channel, *inside),
        tuple(d[: 3 + count]),
    ]
    shape = (images, groups, out // groups, *places)
    bounds = (*shape, inner, *kernel.shape[3:])
    result = ops.contract(
        (x, kernel), [AffineMap(dims, 0, each) for each in maps], dtype, shape, bounds=bounds
    )
    return reshaped(result, (images, out, *places))


@array_function(static=("strides", "padding", "output_padding", "dilation", "groups"))
def conv_transpose(
    x: Array,
    kernel: Array,
    /,
    *,
    strides: Sizes = 1,
    padding: Padding = 0,
    output_padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Array:
    """
    The transpose of `conv` as a linear map: each element of an image adds the kernel times itself to a
    window. The kernel has the axes (input channels, output channels of a group, spatial...).

    `padding` is what the corresponding `conv` pads, and is cut off here: an integer, or an integer or a pair
    for each spatial axis. `output_padding` adds elements at the end, as several sizes give one under a
    stride.

    Raises as `conv`.
    """
    source, weights = common("conv_transpose", x, kernel)
    if source.dtype.kind == "b":
        raise no_loop("conv_transpose", source.dtype)
    count = _images("conv_transpose", source, weights)
    steps = _spatial("conv_transpose", "strides", strides, count, 1)
    apart = _spatial("conv_transpose", "dilation", dilation, count, 1)
    more = _spatial("conv_transpose", "output_padding", output_padding, count, 0)
    if isinstance(padding, str):
        raise ValueError(f"conv_transpose: padding must be widths, not {padding!r}")
    windows = [(k - 1) * d + 1 for k, d in zip(weights.shape[2:], apart, strict=True)]
    cut = _widths("conv_transpose", padding, source.shape[2:], windows, steps)
    parts = integer_of("conv_transpose", "groups", groups)
    inner, out = weights.shape[:2]
    if parts < 1 or source.shape[1] != inner or inner % parts:
        raise ValueError(
            f"conv_transpose: {source.shape[1]} channels of x and {inner} input channels of the kernel do "
            f"not go together (groups {parts}, shapes {source.shape} and {weights.shape})"
        )
    rest = weights.shape[2:]
    weights = reshaped(weights, (parts, inner // parts, out, *rest))
    weights = ops.permute(weights, (0, 2, 1, *range(3, 3 + count)))
    weights = reshaped(weights, (parts * out, inner // parts, *rest))
    if set(apart) == {1} and not any(window % step for window, step in zip(rest, steps, strict=True)):
        return _cut(_spread(source, weights, steps, more, parts), cut)
    weights = ops.flip(weights, tuple(range(2, 2 + count)))
    low = (0, 0, *(w - 1 for w in windows))
    high = (0, 0, *(w - 1 + m for w, m in zip(windows, more, strict=True)))
    zero = ops.full(0, source.dtype, ())
    source = ops.pad(source, zero, low, high, (0, 0, *(step - 1 for step in steps)))
    source = _cut(source, cut)
    return _correlated("conv_transpose", source, weights, windows, (1,) * count, apart, parts, source.dtype)


def _spread(
    x: TracedArray, kernel: TracedArray, steps: Sequence[int], more: Sequence[int], groups: int
) -> TracedArray:
    """
    Returns a transposed convolution whose windows are a whole number of steps: each place of a step is an
    output channel of a convolution with what the kernel has for it, so that no zeros are put between images.
    """
    count = len(steps)
    out, inner = kernel.shape[:2]
    taps = tuple(window // step for window, step in zip(kernel.shape[2:], steps, strict=True))
    # From (out, inner, tap, place, ...) to (out, place, ..., inner, tap, ...).
    pairs = [extent for pair in zip(taps, steps, strict=True) for extent in pair]
    kernel = reshaped(kernel, (out, inner, *pairs))
    axes = range(2, 2 + 2 * count)
    kernel = ops.permute(kernel, (0, *axes[1::2], 1, *axes[::2]))
    kernel = reshaped(kernel, (out * prod(steps), inner, *taps))
    kernel = ops.flip(kernel, tuple(2 + k for k in range(count) if taps[k] > 1))
    x = _padded(x, [(tap - 1, tap - 1) for tap in taps], 0)
    result = _correlated("conv_transpose", x, kernel, taps, (1,) * count, (1,) * count, groups, x.dtype)
    images, _, *places = result.shape
    result = reshaped(result, (images, out, *steps, *places))
    beside = [axis for k in range(count) for axis in (2 + count + k, 2 + k)]
    result = ops.permute(result, (0, 1, *beside))
    whole = [place * step for place, step in zip(places, steps, strict=True)]
    return _padded(reshaped(result, (images, out, *whole)), [(0, each) for each in more], 0)


def _cut(x: TracedArray, widths: Sequence[tuple[int, int]]) -> TracedArray:
    """Returns `x` without the elements at the ends of its spatial axes."""
    if not any(low or high for low, high in widths):
        return x
    offsets = (0, 0, *(low for low, _ in widths))
    ends = (0, 0, *(high for _, high in widths))
    sizes = tuple(extent - low - high for extent, low, high in zip(x.shape, offsets, ends, strict=True))
    # Of an extent that is known at each call only nobody knows yet.
    if any(isinstance(size, int) and size < 1 for size in sizes[2:]):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(
            f"conv_transpose: the padding leaves nothing (padding {tuple(widths)}, of shape {x.shape})"
        )
    return ops.slice(x, offsets, sizes, (1,) * len(sizes))


def pooled(
    who: str,
    x: TracedArray,
    sizes: Sequence[int],
    strides: Sequence[int],
    kind: str,
    dilation: Sequence[int] | None = None,
) -> TracedArray:
    """
    Returns what the elements of each window of padded images combine to: by default those that lie side by
    side.

    Raises:
        ValueError: a window is larger than the images.
    """
    count = len(sizes)
    apart = (1,) * count if dilation is None else tuple(dilation)
    places = _extents(who, x, [(size - 1) * d + 1 for size, d in zip(sizes, apart, strict=True)], strides)
    rank = len(x.shape)
    dims = rank + count
    d = [AffineExpr.dimension(k) for k in range(dims)]
    lead = rank - count
    maps = [
        AffineMap(dims, 0, (*d[:lead], *_windowed(dims, lead, count, strides, apart))),
        AffineMap(dims, 0, tuple(d[:rank])),
    ]
    shape = (*x.shape[:lead], *places)
    return ops.contract((x,), maps, x.dtype, shape, bounds=(*shape, *sizes), accumulate=kind)


def _pool_arguments(
    who: str, x: TracedArray, window: Sizes, strides: Sizes | None, padding: Padding
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[int, int], ...]]:
    count = len(window) if isinstance(window, tuple | list) else len(x.shape) - 2
    if not 1 <= count <= 3 or count > len(x.shape):
        raise ValueError(f"{who}: windows have one to three axes (window {window}, shape {x.shape})")
    sizes = _spatial(who, "window", window, count, 1)
    steps = sizes if strides is None else _spatial(who, "strides", strides, count, 1)
    return sizes, steps, _widths(who, padding, x.shape[len(x.shape) - count :], sizes, steps)


@array_function(static=("window", "strides", "padding"))
def max_pool(
    x: Array, window: Sizes, /, *, strides: Sizes | None = None, padding: Padding = "valid"
) -> Array:
    """
    The greatest element of each window over the last axes: as many as `window` has extents; of an integer,
    all but the first two. Windows are `strides` apart, their own extents if that is None. What is padded is
    less than all; NaN wins. Raises as `conv`.
    """
    (source,) = numbers("max_pool", x)
    sizes, steps, widths = _pool_arguments("max_pool", source, window, strides, padding)
    return pooled("max_pool", _padded(source, widths, least_of(source.dtype)), sizes, steps, "max")


@array_function(static=("window", "strides", "padding"))
def avg_pool(
    x: Array, window: Sizes, /, *, strides: Sizes | None = None, padding: Padding = "valid"
) -> Array:
    """
    The mean of the elements of each window, of which padded ones are none; else as `max_pool`. Integers give
    float64.
    """
    (source,) = numbers("avg_pool", x)
    source = source if is_float(source.dtype) else ops.cast(source, FLOAT64)
    sizes, steps, widths = _pool_arguments("avg_pool", source, window, strides, padding)
    total = pooled("avg_pool", _padded(source, widths, 0), sizes, steps, "add")
    count = len(sizes)
    for axis, (size, step, (low, _)) in enumerate(
        zip(sizes, steps, widths, strict=True), len(total.shape) - count
    ):
        starts = np.arange(total.shape[axis]) * step - low
        inside = np.minimum(starts + size, source.shape[axis]) - np.maximum(starts, 0)
        numbers_inside = ops.constant(inside, source.dtype)
        numbers_inside = reshaped(numbers_inside, (len(inside), *(1,) * (len(total.shape) - axis - 1)))
        total = ops.div(total, ops.broadcast(numbers_inside, total.shape))
    return total


@array_function(static=("approximate",))
def gelu(x: Array, /, *, approximate: bool = False) -> Array:
    """
    The element times the probability that a normally distributed number is less. With `approximate`, as
    jax.nn.gelu does by default, that is taken to be 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))).
    """
    source = as_float("gelu", x)
    half = ops.mul(source, scalar_like(source, 0.5))
    if approximate:
        cube = ops.mul(ops.mul(ops.mul(source, source), source), scalar_like(source, 0.044715))
        inner = ops.unary(graph.TanhOp, ops.mul(ops.add(source, cube), scalar_like(source, sqrt(2 / pi))))
    else:
        inner = ops.erf(ops.mul(source, scalar_like(source, 0.5**0.5)))
    return ops.mul(half, ops.add(inner, scalar_like(source, 1)))


def _sigmoid(x: TracedArray) -> TracedArray:
    return ops.recip(ops.add(ops.exp(ops.neg(x)), scalar_like(x, 1)))


@array_function
def sigmoid(x: Array, /) -> Array:
    """1 / (1 + exp(-x))."""
    return _sigmoid(as_float("sigmoid", x))


@array_function
def silu(x: Array, /) -> Array:
    """The element times its sigmoid."""
    source = as_float("silu", x)
    return ops.mul(source, _sigmoid(source))


@array_function
def softplus(x: Array, /) -> Array:
    """log(1 + exp(x)), without overflow on the way."""
    source = as_float("softplus", x)
    return ops.logaddexp(source, scalar_like(source, 0))


@array_function(static=("axis",))
def softmax(x: Array, /, *, axis: int = -1) -> Array:
    """The exponentials along `axis` divided by their sum. Raises AxisError where there is no such axis."""
    source = as_float("softmax", x)
    axes = (axis_of("softmax", axis, len(source.shape)),)
    greatest = ops.broadcast(ops.reduce("max", source, axes, True), source.shape)
    powers = ops.exp(ops.sub(source, greatest))
    return ops.div(powers, ops.broadcast(ops.reduce("add", powers, axes, True), source.shape))


@array_function(static=("axis",))
def log_softmax(x: Array, /, *, axis: int = -1) -> Array:
    """The logarithms of what `softmax` gives, without loss on the way."""
    source = as_float("log_softmax", x)
    axes = (axis_of("log_softmax", axis, len(source.shape)),)
    return ops.sub(source, ops.broadcast(ops.logsumexp(source, axes, True), source.shape))


@array_function(static=("num_classes", "axis", "dtype"))
def one_hot(x: Array, num_classes: int, /, *, axis: int = -1, dtype: Any = FLOAT64) -> Array:
    """
    Vectors of zeros with a 1 at the index that each element is, along a new `axis` of `num_classes` elements;
    of indices out of range, zeros alone.

    Raises:
        TypeError: the elements are no integers.
        ValueError: `num_classes` is negative.
        AxisError: the result has no such axis.
    """
    (source,) = operands("one_hot", x)
    if not is_integer(source.dtype):
        raise no_loop("one_hot", source.dtype, hint="indices are integers")
    count = integer_of("one_hot", "num_classes", num_classes)
    if count < 0:
        raise ValueError(f"one_hot: num_classes must not be negative ({count})")
    place = axis_of("one_hot", axis, len(source.shape) + 1)
    shape = (*source.shape[:place], count, *source.shape[place:])
    index = reshaped(ops.cast(source, INT64), (*source.shape[:place], 1, *source.shape[place:]))
    return ops.cast(
        ops.eq(ops.broadcast(index, shape), ops.iota(place, INT64, shape)), dtype_of("one_hot", dtype)
    )
