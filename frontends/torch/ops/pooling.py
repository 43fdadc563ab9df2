"""Pooling of the last axes, and its gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ... import nn
from ... import numpy as tnp
from ...tracing import graph_ops as ops
from .binary import div_mode
from .indexing import scatter_add
from .movement import cut_to
from .promotion import INT64, as_dtype, computed_in
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


def _padded(
    x: Traced, value: float, widths: Sequence[int], reach: Sequence[Any], slack: Sequence[int]
) -> Traced:
    """
    Returns `x` with `value` around its last axes, so that windows which end at `reach` lie inside. They end
    at most `slack` behind what is padded: so much is added to an extent that is known at each call only.
    """
    count = len(widths)
    extents = x.shape[len(x.shape) - count :]
    rest = (0,) * (len(x.shape) - count)
    high = [
        max(end - extent - width, 0) if isinstance(extent, int) else width + more
        for end, extent, width, more in zip(reach, extents, widths, slack, strict=True)
    ]
    if not any((*widths, *high)):
        return x
    return ops.pad(x, ops.full(value, x.dtype, ()), (*rest, *widths), (*rest, *high))


def _reach(places: Sequence[Any], windows: Sequence[int], steps: Sequence[int]) -> list[Any]:
    return [(n - 1) * step + window for n, window, step in zip(places, windows, steps, strict=True)]


def _slack(steps: Sequence[int], ceil_mode: bool) -> list[int]:
    """Returns how far the last windows may end behind what is padded."""
    return [step - 1 if ceil_mode else 0 for step in steps]


def _every(places: Any, step: int, start: int) -> Traced:
    """Returns `start` and so many numbers in all, `step` apart."""
    if isinstance(places, int):
        return ops.constant(np.arange(places) * step + start)
    return ops.iota(0, INT64, (places,)) * as_dtype(step, INT64) + as_dtype(start, INT64)


def _combined(parts: Sequence[Traced], combine: Callable[[Traced, Traced], Traced]) -> Traced:
    """Returns what a value for each place of each axis combines to at all places."""
    found = parts[0]
    for part in parts[1:]:
        found = combine(ops.reshape(found, (*found.shape, 1)), part)
    return found


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
        extents = x.shape[len(x.shape) - count :]
        places = wanted[0].shape[len(x.shape) - count :]
        spread = [(window - 1) * far + 1 for window, far in zip(windows, apart, strict=True)]
        reach = _reach(places, spread, steps)
        padded = _padded(x, float("-inf"), widths, reach, _slack(steps, ceil_mode))
        return _greatest(x, padded, extents, places, windows, steps, widths, apart)

    return max_pool


def _greatest(
    x: Traced,
    padded: Traced,
    extents: Sequence[Any],
    places: Sequence[Any],
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
        here = [
            _every(n, step, offset - width)
            for n, step, offset, width in zip(places, steps, offsets, widths, strict=True)
        ]
        is_inside = _combined(
            [
                tnp.logical_and(
                    tnp.greater_equal(at, as_dtype(0, INT64)), tnp.less(at, as_dtype(extent, INT64))
                )
                for at, extent in zip(here, extents, strict=True)
            ],
            tnp.logical_and,
        )
        at = here[0]
        for nearer, extent in zip(here[1:], extents[1:], strict=True):
            at = ops.reshape(at, (*at.shape, 1)) * as_dtype(extent, INT64) + nearer
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
    rest = len(x.shape) - count
    zeros = ops.full(0, x.dtype, (*x.shape[:rest], prod(x.shape[rest:])))
    flat = (*x.shape[:rest], prod(grad.shape[rest:]))
    found = scatter_add(zeros, -1, ops.reshape(indices, flat), ops.reshape(grad, flat))
    return ops.reshape(found, tuple(x.shape))


def _divisors(
    extents: Sequence[Any],
    places: Sequence[Any],
    windows: Sequence[int],
    steps: Sequence[int],
    widths: Sequence[int],
    count_include_pad: bool,
    divisor: int | None,
) -> Traced:
    """Returns by how much the sum of each window is divided."""
    if divisor is not None:
        return as_dtype(divisor, INT64)
    counts: list[Traced] = []
    for extent, n, window, step, width in zip(extents, places, windows, steps, widths, strict=True):
        start, behind = _every(n, step, -width), _every(n, step, window - width)
        if count_include_pad:
            counts.append(tnp.minimum(behind, as_dtype(extent + width, INT64)) - start)
        else:
            start = tnp.maximum(start, as_dtype(0, INT64))
            counts.append(tnp.minimum(behind, as_dtype(extent, INT64)) - start)
    return _combined(counts, tnp.multiply)


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
        rest = len(x.shape) - count
        extents, places = x.shape[rest:], wanted.shape[rest:]
        value = as_dtype(x, computed_in(x.dtype))
        reach = _reach(places, windows, steps)
        padded = _padded(value, 0, widths, reach, _slack(steps, ceil_mode))
        padded = cut_to(padded, (*x.shape[:rest], *reach))
        total = nn.pooled("avg_pool", padded, windows, steps, "add")
        counts = _divisors(extents, places, windows, steps, widths, count_include_pad, divisor_override)
        divisors = ops.broadcast(as_dtype(counts, value.dtype), tuple(total.shape))
        if x.dtype.kind in "iu":
            return div_mode(total, divisors, rounding_mode="trunc")
        return as_dtype(total / divisors, x.dtype)

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
    extents, places = x.shape[-2:], grad.shape[-2:]
    counts = _divisors(extents, places, windows, steps, widths, count_include_pad, divisor_override)
    value = as_dtype(grad, computed_in(x.dtype))
    value = value / as_dtype(counts, value.dtype)
    images = ops.reshape(value, (prod(x.shape[:-2]), 1, *places))
    kernel_of_ones = ops.full(1, value.dtype, (1, 1, *windows))
    spread: Traced = nn.conv_transpose(images, kernel_of_ones, strides=steps)
    # No window reaches what is left out at the end, and of a padded image the last one may end behind it.
    missing = [
        max(width + extent - size, 0) if isinstance(extent, int) else width + step - 1
        for size, width, extent, step in zip(spread.shape[2:], widths, extents, steps, strict=True)
    ]
    if any(missing):
        spread = ops.pad(spread, ops.full(0, spread.dtype, ()), (0,) * 4, (0, 0, *missing))
    found = ops.slice(spread, (0, 0, *widths), (*spread.shape[:2], *extents), (1,) * 4)
    return as_dtype(ops.reshape(found, tuple(x.shape)), x.dtype)
