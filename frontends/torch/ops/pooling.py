"""Pooling of the last axes, and its gradients."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ... import nn
from ... import numpy as tnp
from ...tracing import graph_ops as ops
from .indexing import scatter_add
from .promotion import as_dtype, computed_in
from .table import NotCoveredError, Traced, Wanted, aten

MOST_TAPS = 64
"""The most elements of a window whose greatest is found tap by tap."""


def _each(values: Any, count: int, default: Sequence[int] = ()) -> tuple[int, ...]:
    found = (values,) if isinstance(values, int) else tuple(values) or tuple(default)
    return found * count if len(found) == 1 else found


def static_extents(x: Traced, count: int) -> tuple[int, ...]:
    """Returns the extents of the last axes. Raises NotCoveredError where they are known when it runs."""
    extents = tuple(x.shape[len(x.shape) - count :])
    if any(not isinstance(extent, int) for extent in extents):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise NotCoveredError("windows of images whose size is known when it runs")
    return extents


def _padded(x: Traced, value: float, widths: Sequence[int], reach: Sequence[int]) -> Traced:
    """Returns `x` with `value` around its last axes, so that windows which end at `reach` lie inside."""
    count = len(widths)
    extents = static_extents(x, count)
    rest = (0,) * (len(x.shape) - count)
    high = [max(end - extent - width, 0) for end, extent, width in zip(reach, extents, widths, strict=True)]
    if not any((*widths, *high)):
        return x
    return ops.pad(x, ops.full(value, x.dtype, ()), (*rest, *widths), (*rest, *high))


def _reach(places: Sequence[int], windows: Sequence[int], steps: Sequence[int]) -> list[int]:
    return [(n - 1) * step + window for n, window, step in zip(places, windows, steps, strict=True)]


def _max_pool(count: int) -> Any:
    def max_pool(
        x: Traced,
        kernel: Any,
        stride: Any = (),
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        *,
        wanted: tuple[Wanted, Wanted],
    ) -> tuple[Traced, Traced]:
        windows = _each(kernel, count)
        steps, widths, apart = (
            _each(stride, count, windows),
            _each(padding, count),
            _each(dilation, count),
        )
        if prod(windows) > MOST_TAPS or x.dtype.kind in "iub":
            raise NotCoveredError(f"the greatest of windows of {prod(windows)} elements of {x.dtype}")
        extents = static_extents(x, count)
        places = wanted[0].shape[len(x.shape) - count :]
        spread = [(window - 1) * far + 1 for window, far in zip(windows, apart, strict=True)]
        padded = _padded(x, float("-inf"), widths, _reach(places, spread, steps))
        return _greatest(x, padded, extents, places, windows, steps, widths, apart)

    return max_pool


def _greatest(
    x: Traced,
    padded: Traced,
    extents: Sequence[int],
    places: Sequence[int],
    windows: Sequence[int],
    steps: Sequence[int],
    widths: Sequence[int],
    apart: Sequence[int],
) -> tuple[Traced, Traced]:
    """Returns the greatest elements of windows, and where in the image they are; NaN is the greatest."""
    count, rank = len(places), len(x.shape)
    rest = tuple(x.shape[: rank - count])
    shape = (*rest, *places)
    value: Traced = None
    place: Traced = None
    started: Traced = None
    for taps in product(*map(range, windows)):
        offsets = [tap * far for tap, far in zip(taps, apart, strict=True)]
        sizes = [(n - 1) * step + 1 for n, step in zip(places, steps, strict=True)]
        part = ops.slice(padded, (*(0 for _ in rest), *offsets), (*rest, *sizes), (1,) * rank)
        if any(step != 1 for step in steps):
            part = ops.slice(part, (0,) * rank, shape, (*(1 for _ in rest), *steps))
        grids = np.meshgrid(
            *[
                np.arange(n) * step + offset - width
                for n, step, offset, width in zip(places, steps, offsets, widths, strict=True)
            ],
            indexing="ij",
        )
        inside = np.logical_and.reduce(
            [(grid >= 0) & (grid < extent) for grid, extent in zip(grids, extents, strict=True)]
        )
        linear = np.zeros(places, np.int64)
        for grid, extent in zip(grids, extents, strict=True):
            linear = linear * extent + grid
        at, is_inside = ops.constant(linear), ops.constant(inside)
        here = ops.broadcast(at, shape)
        if value is None:
            value, place = part, here
            started = is_inside
            continue
        better = tnp.logical_or(tnp.greater(part, value), tnp.isnan(part))
        better = tnp.logical_or(better, tnp.logical_not(started))
        better = tnp.broadcast_to(tnp.logical_and(better, is_inside), shape)
        value, place = tnp.where(better, part, value), tnp.where(better, here, place)
        started = tnp.logical_or(started, is_inside)
    return value, place


for _count in (2, 3):
    aten(f"max_pool{_count}d_with_indices.default")(_max_pool(_count))


@aten("max_pool2d_with_indices_backward.default")
def max_pool_backward(
    grad: Traced,
    x: Traced,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: Traced,
) -> Traced:
    return to_places(grad, x, indices, 2)


def to_places(grad: Traced, x: Traced, indices: Traced, count: int) -> Traced:
    """Returns the sums of gradients at their places in images, which have `count` axes."""
    extents = static_extents(x, count)
    rest = tuple(x.shape[: len(x.shape) - count])
    zeros = ops.full(0, x.dtype, (*rest, prod(extents)))
    flat = (*rest, prod(static_extents(grad, count)))
    found = scatter_add(zeros, -1, ops.reshape(indices, flat), ops.reshape(grad, flat))
    return ops.reshape(found, tuple(x.shape))


def _divisors(
    extents: Sequence[int],
    places: Sequence[int],
    windows: Sequence[int],
    steps: Sequence[int],
    widths: Sequence[int],
    count_include_pad: bool,
    divisor: int | None,
) -> np.ndarray[Any, Any]:
    """Returns by how much the sum of each window is divided."""
    if divisor is not None:
        return np.full(places, divisor)
    counts = np.ones((), np.int64)
    for extent, n, window, step, width in zip(extents, places, windows, steps, widths, strict=True):
        start = np.arange(n) * step - width
        end = np.minimum(start + window, extent + width)
        inside = end - start if count_include_pad else np.minimum(end, extent) - np.maximum(start, 0)
        counts = counts[..., None] * inside
    return counts


def _avg_pool(count: int) -> Any:
    def avg_pool(
        x: Traced,
        kernel: Any,
        stride: Any = (),
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        *,
        wanted: Wanted,
    ) -> Traced:
        windows = _each(kernel, count)
        steps, widths = _each(stride, count, windows), _each(padding, count)
        extents = static_extents(x, count)
        places = wanted.shape[len(x.shape) - count :]
        value = as_dtype(x, computed_in(x.dtype))
        padded = _padded(value, 0, widths, _reach(places, windows, steps))
        reach = _reach(places, windows, steps)
        sizes = (*x.shape[: len(x.shape) - count], *reach)
        if tuple(padded.shape) != sizes:
            padded = ops.slice(padded, (0,) * len(sizes), sizes, (1,) * len(sizes))
        mean = nn.avg_pool(padded, windows, strides=steps)
        counts = _divisors(extents, places, windows, steps, widths, count_include_pad, divisor_override)
        factor = as_dtype(ops.constant(prod(windows) / counts), value.dtype)
        return as_dtype(mean * factor, x.dtype)

    return avg_pool


for _count in (1, 2, 3):
    aten(f"avg_pool{_count}d.default")(_avg_pool(_count))


@aten("avg_pool2d_backward.default")
def avg_pool_backward(
    grad: Traced,
    x: Traced,
    kernel: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Traced:
    windows = _each(kernel, 2)
    steps, widths = _each(stride, 2, windows), _each(padding, 2)
    extents, places = static_extents(x, 2), static_extents(grad, 2)
    counts = _divisors(extents, places, windows, steps, widths, count_include_pad, divisor_override)
    value = as_dtype(grad, computed_in(x.dtype))
    value = value / as_dtype(ops.constant(counts), value.dtype)
    rest = tuple(x.shape[:-2])
    images = ops.reshape(value, (prod(rest), 1, *places))
    kernel_of_ones = ops.full(1, value.dtype, (1, 1, *windows))
    spread: Traced = nn.conv_transpose(images, kernel_of_ones, strides=steps)
    wide = [
        max(size, width + extent)
        for size, width, extent in zip(spread.shape[2:], widths, extents, strict=True)
    ]
    high = [size - extent for size, extent in zip(wide, spread.shape[2:], strict=True)]
    if any(high):
        spread = ops.pad(spread, ops.full(0, spread.dtype, ()), (0,) * 4, (0, 0, *high))
    found = ops.slice(spread, (0, 0, *widths), (*spread.shape[:2], *extents), (1,) * 4)
    return as_dtype(ops.reshape(found, tuple(x.shape)), x.dtype)
