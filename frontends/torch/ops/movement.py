"""Ops that put elements elsewhere, and compute nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import numpy as tnp
from ...tracing import graph_ops as ops
from ...tracing.extents import greatest, is_at_least, least
from ...tracing.trace import TracedArray
from .promotion import as_dtype, result_dtype
from .reductions import axes_of
from .table import NotCoveredError, Traced, Wanted, aten


@aten(
    "view.default",
    "_unsafe_view.default",
    "reshape.default",
    "_reshape_alias.default",
    "squeeze.default",
    "squeeze.dim",
    "squeeze.dims",
    "unsqueeze.default",
    "view_copy.default",
    "squeeze_copy.dim",
    "unsqueeze_copy.default",
    "prims::collapse_view.default",
)
def reshaped(
    x: Traced, *arguments: Any, wanted: Wanted, whole: tuple[Sequence[Any], Sequence[Any]] | None
) -> Traced:
    if whole is None:
        return x if tuple(x.shape) == wanted.shape else ops.reshape(x, wanted.shape)
    return cut_where_guarded(ops.reshape(cut_where_guarded(x, whole[0]), whole[1]), wanted.shape)


def cut_where_guarded(x: Traced, shape: Sequence[Any]) -> Traced:
    """Returns what torch sees to it that it has this shape, with it."""
    if tuple(x.shape) == tuple(shape):
        return x
    return part_of(x, (0,) * len(shape), shape, (1,) * len(shape), True)


def cut_to(x: Traced, shape: Sequence[Any]) -> Traced:
    """Returns the first elements of each axis: as many as `shape` says, which may be all."""
    if tuple(x.shape) == tuple(shape):
        return x
    return ops.slice(x, (0,) * len(shape), shape, (1,) * len(shape))


def part_of(
    x: Traced, offsets: Sequence[Any], sizes: Sequence[Any], strides: Sequence[int], is_guarded: bool
) -> Traced:
    """
    Returns a slice. Along axes where the bounds of dims do not say that all of it is there, elements are read
    by their indices, if programs are called only where torch found so (`is_guarded`).
    """
    open_axes: list[int] = []
    for axis, (extent, offset, size, stride) in enumerate(zip(x.shape, offsets, sizes, strides, strict=True)):
        if not is_at_least(extent, offset + (size - 1) * stride + 1):
            open_axes.append(axis)
    if not open_axes or not is_guarded:
        return ops.slice(x, offsets, sizes, strides)
    for axis in open_axes:
        indices = ops.iota(0, np.dtype(np.int64), (sizes[axis],)) * strides[axis] + offsets[axis]
        x = tnp.moveaxis(ops.gather(x, [indices], [axis]), 0, axis)
    kept = [axis in open_axes for axis in range(len(x.shape))]
    return ops.slice(
        x,
        [0 if is_read else each for is_read, each in zip(kept, offsets, strict=True)],
        sizes,
        [1 if is_read else each for is_read, each in zip(kept, strides, strict=True)],
    )


@aten("expand.default", "expand_copy.default")
def expanded(x: Traced, size: Any, *, implicit: bool = False, wanted: Wanted) -> Traced:
    return ops.broadcast(x, wanted.shape)


@aten("prims::broadcast_in_dim.default")
def broadcast_in_dim(x: Traced, shape: Any, axes: Sequence[int], *, wanted: Wanted) -> Traced:
    extents = dict(zip(axes, x.shape, strict=True))
    placed = tuple(extents.get(axis, 1) for axis in range(len(wanted.shape)))
    return ops.broadcast(ops.reshape(x, placed), wanted.shape)


@aten("permute.default", "permute_copy.default")
def permuted(x: Traced, dims: Sequence[int]) -> Traced:
    order = tuple(axis % len(x.shape) for axis in dims)
    return x if order == tuple(range(len(order))) else ops.permute(x, order)


@aten("t.default")
def t(x: Traced) -> Traced:
    return ops.permute(x, (1, 0)) if len(x.shape) == 2 else x


@aten("transpose.int")
def transposed(x: Traced, first: int, second: int) -> Traced:
    return tnp.swapaxes(x, first, second) if x.shape else x


@aten("flip.default", "prims::rev.default")
def flipped(x: Traced, dims: Sequence[int]) -> Traced:
    axes = axes_of(x, dims) if dims else ()
    return ops.flip(x, axes) if axes else x


def bounds_of(start: Any, end: Any, extent: Any) -> tuple[Any, Any]:
    """Returns the ends of a slice, moved into the axis."""
    first = 0 if start is None else start
    last = extent if end is None or (isinstance(end, int) and end >= 2**63 - 1) else end
    if isinstance(first, int) and first < 0:
        first = extent + first
    if isinstance(last, int) and last < 0:
        last = extent + last
    first = greatest(0, least(first, extent))
    return first, greatest(first, least(last, extent))


@aten("slice.Tensor", "slice_copy.Tensor")
def sliced(
    x: Traced,
    dim: int = 0,
    start: Any = None,
    end: Any = None,
    step: int = 1,
    *,
    wanted: Wanted,
    is_guarded: bool,
) -> Traced:
    axis = dim % len(x.shape)
    first, _ = bounds_of(start, end, x.shape[axis])
    offsets = tuple(first if each == axis else 0 for each in range(len(x.shape)))
    steps = tuple(step if each == axis else 1 for each in range(len(x.shape)))
    if tuple(x.shape) == wanted.shape and step == 1:
        return x
    return part_of(x, offsets, wanted.shape, steps, is_guarded)


@aten("select.int", "select_copy.int")
def selected(x: Traced, dim: int, index: Any, *, wanted: Wanted) -> Traced:
    axis = dim % len(x.shape)
    if isinstance(index, TracedArray):
        raise NotCoveredError("an index that is known when it runs")
    place = x.shape[axis] + index if isinstance(index, int) and index < 0 else index
    offsets = tuple(place if each == axis else 0 for each in range(len(x.shape)))
    sizes = tuple(1 if each == axis else extent for each, extent in enumerate(x.shape))
    return ops.reshape(ops.slice(x, offsets, sizes, (1,) * len(sizes)), wanted.shape)


@aten("cat.default")
def cat(tensors: Sequence[Traced], dim: int = 0) -> Traced:
    # Tensors of shape (0,) are left out whatever the rank of the others is.
    kept = [each for each in tensors if tuple(each.shape) != (0,)] or list(tensors[:1])
    dtype = result_dtype(*tensors)
    values = [as_dtype(each, dtype) for each in kept]
    return values[0] if len(values) == 1 else ops.concat(values, dim % len(values[0].shape))


@aten("stack.default")
def stack(tensors: Sequence[Traced], dim: int = 0) -> Traced:
    axis = dim % (len(tensors[0].shape) + 1)
    return cat([tnp.expand_dims(each, axis) for each in tensors], axis)


@aten("split_with_sizes.default", "split_with_sizes_copy.default", "split.sizes")
def split_with_sizes(x: Traced, sizes: Sequence[Any], dim: int = 0) -> tuple[Traced, ...]:
    axis = dim % len(x.shape)
    found: list[Traced] = []
    start: Any = 0
    for size in sizes:
        offsets = tuple(start if each == axis else 0 for each in range(len(x.shape)))
        shape = tuple(size if each == axis else extent for each, extent in enumerate(x.shape))
        found.append(ops.slice(x, offsets, shape, (1,) * len(shape)))
        start = start + size
    return tuple(found)


@aten("split.Tensor", "split_copy.Tensor")
def split(x: Traced, size: Any, dim: int = 0, *, wanted: tuple[Wanted, ...]) -> tuple[Traced, ...]:
    return split_with_sizes(x, [each.shape[dim % len(x.shape)] for each in wanted], dim)


@aten("unbind.int", "unbind_copy.int")
def unbind(x: Traced, dim: int = 0) -> tuple[Traced, ...]:
    return tuple(tnp.unstack(x, axis=dim))


@aten("repeat.default")
def repeated(x: Traced, repeats: Sequence[Any], *, wanted: Wanted) -> Traced:
    shape = (1,) * (len(repeats) - len(x.shape)) + tuple(x.shape)
    spread = [extent for times, each in zip(repeats, shape, strict=True) for extent in (times, each)]
    placed = [extent for each in shape for extent in (1, each)]
    return ops.reshape(ops.broadcast(ops.reshape(x, placed), spread), wanted.shape)


@aten("constant_pad_nd.default")
def constant_pad(x: Traced, pad: Sequence[Any], value: Any = 0, *, wanted: Wanted) -> Traced:
    rank = len(x.shape)
    low: list[Any] = [0] * rank
    high: list[Any] = [0] * rank
    for number in range(len(pad) // 2):
        axis = rank - 1 - number
        low[axis], high[axis] = pad[2 * number], pad[2 * number + 1]
    widths_given: tuple[Any, ...] = (*low, *high)
    if any(not isinstance(each, int) for each in widths_given):
        raise NotCoveredError("widths that are known when it runs")
    cut_low, cut_high = [max(-each, 0) for each in low], [max(-each, 0) for each in high]
    if any((*cut_low, *cut_high)):
        sizes = [
            extent - before - after for extent, before, after in zip(x.shape, cut_low, cut_high, strict=True)
        ]
        x = ops.slice(x, cut_low, sizes, (1,) * rank)
    widths = [max(each, 0) for each in low], [max(each, 0) for each in high]
    return ops.pad(x, as_dtype(value, x.dtype), *widths) if any((*widths[0], *widths[1])) else x


@aten("diagonal.default", "diagonal_copy.default")
def diagonal(x: Traced, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Traced:
    return tnp.diagonal(x, offset, dim1, dim2)


@aten("roll.default")
def rolled(x: Traced, shifts: Sequence[int], dims: Sequence[int] = ()) -> Traced:
    if not dims:
        return tnp.roll(x, shifts[0])
    return tnp.roll(x, tuple(shifts), axis=tuple(dims))


@aten("unfold.default", "unfold_copy.default")
def unfolded(x: Traced, dimension: int, size: int, step: int, *, wanted: Wanted) -> Traced:
    if not x.shape:
        return ops.reshape(x, wanted.shape)
    axis = dimension % len(x.shape)
    parts: list[Traced] = []
    if size > 64:
        raise NotCoveredError(f"windows of {size} elements")
    for place in range(size):
        offsets = tuple(place if each == axis else 0 for each in range(len(x.shape)))
        steps = tuple(step if each == axis else 1 for each in range(len(x.shape)))
        parts.append(ops.slice(x, offsets, wanted.shape[:-1], steps))
    return tnp.stack(parts, axis=-1)
