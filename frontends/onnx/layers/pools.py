"""What the elements of each window of images come to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....errors import TenonError
from ... import nn
from ... import numpy as tnp
from ...arrays.array import Array
from ...numpy.dtypes import least_of
from ...tracing import graph_ops as ops
from ..registry import onnx_op
from ..values import NumpyArray, check_count, ints
from .convolutions import padding_of

Widths = list[tuple[int, int]]


class _Windows:
    """Where the windows of a pool lie, as its attributes say."""

    def __init__(
        self,
        x: Any,
        kernel_shape: Sequence[int],
        strides: Sequence[int] | None,
        pads: Sequence[int] | None,
        dilations: Sequence[int] | None,
        auto_pad: str,
        ceil_mode: int,
    ) -> None:
        count = len(kernel_shape)
        self.sizes = tuple(kernel_shape)
        self.steps = tuple(strides or (1,) * count)
        self.apart = tuple(dilations or (1,) * count)
        given = {"kernel_shape": self.sizes, "strides": self.steps, "dilations": self.apart}
        for name, numbers in given.items():
            if min(numbers, default=1) < 1:
                raise TenonError(f"{name} is {list(numbers)}, expected positive numbers")
        self.whole = tuple((k - 1) * d + 1 for k, d in zip(self.sizes, self.apart, strict=True))
        self.extents = tuple(x.shape[2:])
        self.widths = padding_of(auto_pad, pads, self.extents, self.whole, self.steps)
        for extent, (low, high), size in zip(self.extents, self.widths, self.sizes, strict=True):
            check_count("a pool", size * (extent + low + high))
        self.more = [self._more(axis) if ceil_mode else 0 for axis in range(count)]
        """How much lies behind the padding in the last window, where that is not whole."""

    def _more(self, axis: int) -> int:
        low, high = self.widths[axis]
        extent, step, window = self.extents[axis], self.steps[axis], self.whole[axis]
        count = -(-(extent + low + high - window) // step) + 1
        if (count - 1) * step >= extent + low:
            # A window that begins behind the elements is none.
            count -= 1
        return max((count - 1) * step + window - (extent + low + high), 0)

    def padded(self, x: Any, value: Any) -> Any:
        """Returns `x` with all around it that windows reach."""
        if not any(low or high for low, high in self.widths) and not any(self.more):
            return x
        lows = (0, 0, *(low for low, _ in self.widths))
        highs = (0, 0, *(high + more for (_, high), more in zip(self.widths, self.more, strict=True)))
        return ops.pad(x, ops.full(value, x.dtype, ()), lows, highs)

    def counts(self, axis: int, counts_padding: bool) -> NumpyArray:
        """Returns how many elements each window has along an axis, with the padding or without."""
        low, high = self.widths[axis]
        extent, step, window = self.extents[axis], self.steps[axis], self.whole[axis]
        n_windows = (extent + low + high + self.more[axis] - window) // step + 1
        starts: NumpyArray = np.arange(n_windows, dtype=np.int64) * step
        places = starts[:, None] + np.arange(self.sizes[axis]) * self.apart[axis]
        first, end = (0, low + extent + high) if counts_padding else (low, low + extent)
        return ((places >= first) & (places < end)).sum(1)


def _per_axis(values: Any, axis: int, rank: int, dtype: np.dtype[Any], x: Any) -> Any:
    shape = [1] * rank
    shape[2 + axis] = len(values)
    return x.trace.constant(np.asarray(values).astype(dtype).reshape(shape))


@onnx_op("AveragePool", since=7)
def average_pool(
    x: Any,
    *,
    kernel_shape: list[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: list[int] | None = None,
    pads: list[int] | None = None,
    strides: list[int] | None = None,
) -> Array:
    windows = _Windows(x, kernel_shape, strides, pads, dilations, auto_pad, ceil_mode)
    padded = windows.padded(x, 0)
    total: Any = nn.pooled("AveragePool", padded, windows.sizes, windows.steps, "add", windows.apart)
    if padded is x:
        return tnp.divide(total, math.prod(windows.sizes))
    for axis in range(len(windows.sizes)):
        counts = windows.counts(axis, bool(count_include_pad))
        total = tnp.divide(total, _per_axis(counts, axis, len(x.shape), x.dtype, x))
    return total


@onnx_op("MaxPool")
def max_pool(
    x: Any,
    *,
    kernel_shape: list[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: list[int] | None = None,
    pads: list[int] | None = None,
    storage_order: int = 0,
    strides: list[int] | None = None,
    n_outputs: int = 1,
) -> Any:
    windows = _Windows(x, kernel_shape, strides, pads, dilations, auto_pad, ceil_mode)
    padded = windows.padded(x, least_of(x.dtype))
    found = nn.pooled("MaxPool", padded, windows.sizes, windows.steps, "max", windows.apart)
    if n_outputs < 2:
        return found
    return found, _indices(x, padded, windows, bool(storage_order))


def _indices(x: Any, padded: Any, windows: _Windows, columns_first: bool) -> Any:
    """Returns where the first greatest element of each window lies in the flattened images."""
    count = len(windows.sizes)
    taken = padded
    for axis in range(count):
        n_windows = (taken.shape[2 + 2 * axis] - windows.whole[axis]) // windows.steps[axis] + 1
        places = np.arange(n_windows)[:, None] * windows.steps[axis]
        places = places + np.arange(windows.sizes[axis]) * windows.apart[axis]
        taken = tnp.take(taken, x.trace.constant(places), axis=2 + 2 * axis)
    outer, inner = range(2, 2 + 2 * count, 2), range(3, 3 + 2 * count, 2)
    taken = tnp.transpose(taken, (0, 1, *outer, *inner))
    shape = taken.shape[: 2 + count]
    best = tnp.argmax(tnp.reshape(taken, (*shape, math.prod(windows.sizes))), axis=-1)
    extents = windows.extents
    factors = [math.prod(extents[:k] if columns_first else extents[k + 1 :]) for k in range(count)]
    total: Any = tnp.zeros(shape, dtype=np.dtype(np.int64))
    for axis in reversed(range(count)):
        inside = tnp.remainder(best, windows.sizes[axis])
        best = tnp.floor_divide(best, windows.sizes[axis])
        starts = np.arange(shape[2 + axis]) * windows.steps[axis] - windows.widths[axis][0]
        place = tnp.add(
            tnp.multiply(inside, windows.apart[axis]),
            _per_axis(starts, axis, len(shape), np.dtype(np.int64), x),
        )
        total = tnp.add(total, tnp.multiply(place, factors[axis]))
    images = tnp.reshape(tnp.arange(shape[0] * shape[1]), (*shape[:2], *[1] * count))
    return tnp.add(total, tnp.multiply(images, math.prod(extents)))


@onnx_op("LpPool", since=2)
def lp_pool(
    x: Any,
    *,
    kernel_shape: list[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: list[int] | None = None,
    p: int = 2,
    pads: list[int] | None = None,
    strides: list[int] | None = None,
) -> Array:
    windows = _Windows(x, kernel_shape, strides, pads, dilations, auto_pad, ceil_mode)
    powers: Any = tnp.pow(tnp.abs(windows.padded(x, 0)), p)
    total = nn.pooled("LpPool", powers, windows.sizes, windows.steps, "add", windows.apart)
    return tnp.pow(total, 1 / p)


def _spatial(x: Any) -> tuple[int, ...]:
    return tuple(range(2, len(x.shape)))


@onnx_op("GlobalAveragePool")
def global_average_pool(x: Array) -> Array:
    return tnp.mean(x, axis=_spatial(x), keepdims=True)


@onnx_op("GlobalMaxPool")
def global_max_pool(x: Array) -> Array:
    return tnp.max(x, axis=_spatial(x), keepdims=True)


@onnx_op("GlobalLpPool", since=2)
def global_lp_pool(x: Array, *, p: int = 2) -> Array:
    return tnp.pow(tnp.sum(tnp.pow(tnp.abs(x), p), axis=_spatial(x), keepdims=True), 1 / p)


@onnx_op("MaxUnpool", since=9, known=("output_shape",))
def max_unpool(
    x: Any,
    indices: Any,
    output_shape: Any = None,
    *,
    kernel_shape: list[int],
    pads: list[int] | None = None,
    strides: list[int] | None = None,
) -> Array:
    """Puts elements where the greatest of their windows were: indices are those of the flattened images."""
    count = len(kernel_shape)
    steps = strides or [1] * count
    widths = padding_of("NOTSET", pads, x.shape[2:], kernel_shape, steps)
    own = tuple(
        (e - 1) * s + k - low - high
        for e, s, k, (low, high) in zip(x.shape[2:], steps, kernel_shape, widths, strict=True)
    )
    shape = (*x.shape[:2], *own)
    size = math.prod(shape)
    flat: Any = tnp.zeros((size,), dtype=x.dtype)
    index: Any = tnp.reshape(tnp.astype(indices, np.dtype(np.int64)), (x.size,))
    if output_shape is not None:
        wanted = ints(output_shape)
        index = _moved(index, shape, wanted)
        shape, size = wanted, math.prod(wanted)
        flat = tnp.zeros((size,), dtype=x.dtype)
    source: Any = tnp.reshape(x, (x.size,))
    found = ops.scatter("set", flat, [index], source, (0,))
    return tnp.reshape(found, shape)


def _moved(index: Any, shape: tuple[int, ...], wanted: tuple[int, ...]) -> Any:
    """Returns indices of flattened images of `shape` as those of larger ones, at the same places."""
    total: Any = tnp.zeros_like(index)
    for axis in reversed(range(len(shape))):
        place = tnp.remainder(index, shape[axis])
        index = tnp.floor_divide(index, shape[axis])
        total = tnp.add(total, tnp.multiply(place, math.prod(wanted[axis + 1 :])))
    return total
