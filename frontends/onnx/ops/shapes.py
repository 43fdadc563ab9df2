"""Ops that move elements and change shapes, and what gives shapes as values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....errors import TenonError
from ... import numpy as tnp
from ...arrays.array import Array
from ...numpy.arguments.axes import axis_of
from ...tracing import graph_ops as ops
from ..registry import onnx_op
from ..storage import stored, stored_array
from ..values import extents, ints


@onnx_op("Identity", raw=True)
def identity(x: Any) -> Any:
    return x


@onnx_op("Shape", raw=True)
def shape(x: Any, *, start: int = 0, end: int | None = None) -> Any:
    """The extents, which are known where they are numbers, and are named dims where they vary."""
    return extents(tuple(x.shape)[start:end])


@onnx_op("Size", raw=True)
def size(x: Any) -> Any:
    return extents([math.prod(x.shape)]).reshape(())


def target_shape(shape: tuple[Any, ...], wanted: tuple[Any, ...], allowzero: bool) -> tuple[Any, ...]:
    """
    Returns the shape that Reshape asks for: 0 is the extent that was there, and -1 what is left.

    Raises:
        TenonError: an extent of 0 stands behind the axes that there are, or there are two of -1.
    """
    found: list[Any] = []
    for axis, extent in enumerate(wanted):
        if isinstance(extent, int) and extent == 0 and not allowzero:
            if axis >= len(shape):
                raise TenonError(f"axis {axis} keeps an extent, of shape {shape} (wanted {wanted})")
            extent = shape[axis]
        found.append(extent)
    unknown = [axis for axis, extent in enumerate(found) if isinstance(extent, int) and extent == -1]
    if len(unknown) > 1:
        raise TenonError(f"two extents are left open (wanted {wanted})")
    if unknown and any(isinstance(extent, int) and extent == 0 for extent in found):
        found[unknown[0]] = 0
    return tuple(found)


@onnx_op("Reshape", since=5, known=("shape",), narrow=("x",))
def reshape(x: Any, shape: Any, *, allowzero: int = 0) -> Any:
    wanted = target_shape(tuple(x.shape), ints(shape), bool(allowzero))
    return stored(tnp.reshape(stored_array(x), wanted), x.dtype)


@onnx_op("Flatten", narrow=("x",))
def flatten(x: Any, *, axis: int = 1) -> Any:
    """A matrix: the axes before `axis` are one, and so are those from it on."""
    rank = len(x.shape)
    if not -rank <= axis <= rank:
        raise TenonError(f"axis {axis} is out of range for rank {rank}")
    place = axis + rank if axis < 0 else axis
    rows, columns = math.prod(x.shape[:place]), math.prod(x.shape[place:])
    return stored(tnp.reshape(stored_array(x), (rows, columns)), x.dtype)


@onnx_op("Transpose", narrow=("x",))
def transpose(x: Any, *, perm: list[int] | None = None) -> Any:
    return stored(tnp.transpose(stored_array(x), None if perm is None else tuple(perm)), x.dtype)


@onnx_op("Squeeze", since=13, known=("axes",), narrow=("x",))
def squeeze(x: Any, axes: Any = None) -> Any:
    """Drops axes of extent 1: those that are named, else all."""
    source = stored_array(x)
    if axes is None:
        return stored(tnp.squeeze(source, tuple(k for k, e in enumerate(x.shape) if _is_one(e))), x.dtype)
    return stored(tnp.squeeze(source, ints(axes)), x.dtype)


def _is_one(extent: Any) -> bool:
    return isinstance(extent, int) and extent == 1


@onnx_op("Squeeze", narrow=("x",))
def squeeze_attribute(x: Any, *, axes: list[int] | None = None) -> Any:
    return squeeze(x, None if axes is None else np.array(axes, np.int64))


@onnx_op("Unsqueeze", since=13, known=("axes",), narrow=("x",))
def unsqueeze(x: Any, axes: Any) -> Any:
    return stored(tnp.expand_dims(stored_array(x), ints(axes)), x.dtype)


@onnx_op("Unsqueeze", narrow=("x",))
def unsqueeze_attribute(x: Any, *, axes: list[int]) -> Any:
    return unsqueeze(x, np.array(axes, np.int64))


@onnx_op("Expand", since=8, known=("shape",))
def expand(x: Array, shape: Any) -> Array:
    """Repeats `x` to the shape that it and `shape` broadcast to, which may be smaller along an axis."""
    wanted = ints(shape)
    rank = max(len(wanted), len(x.shape))
    own, wanted = ((1,) * (rank - len(each)) + tuple(each) for each in (x.shape, wanted))
    found = tuple(a if _is_one(b) else b for a, b in zip(own, wanted, strict=True))
    return tnp.broadcast_to(x, found)


@onnx_op("Concat", since=4)
def concat(x: Array, *rest: Array, axis: int) -> Array:
    return tnp.concat([x, *rest], axis=axis)


@onnx_op("Tile", since=6, known=("repeats",))
def tile(x: Array, repeats: Any) -> Array:
    counts = ints(repeats)
    if len(counts) != len(x.shape):
        raise TenonError(f"{len(counts)} repeats for rank {len(x.shape)}")
    return tnp.tile(x, counts)


def part_sizes(extent: Any, n_parts: int) -> list[Any]:
    """Returns the extents of parts that are equal but for the last, which may be smaller."""
    each = -(-extent // n_parts)
    sizes = [each] * (n_parts - 1)
    return [*sizes, extent - each * (n_parts - 1)]


def _split(x: Array, sizes: list[Any], axis: int) -> tuple[Array, ...]:
    place = axis_of("Split", axis, len(x.shape))
    if sum(sizes) != x.shape[place] or any(size < 0 for size in sizes if isinstance(size, int)):
        raise TenonError(f"parts of {sizes} elements, axis {axis} has {x.shape[place]}")
    found: list[Array] = []
    offset: Any = 0
    for size in sizes:
        index: list[Any] = [slice(None)] * len(x.shape)
        index[place] = slice(offset, offset + size)
        found.append(x[tuple(index)])
        offset = offset + size
    return tuple(found)


@onnx_op("Split", since=13, known=("split",))
def split(
    x: Array, split: Any = None, *, axis: int = 0, num_outputs: int | None = None, n_outputs: int
) -> tuple[Array, ...]:
    sizes = part_sizes(x.shape[axis], num_outputs or n_outputs) if split is None else list(ints(split))
    return _split(x, sizes, axis)


@onnx_op("Split", since=2)
def split_attribute(
    x: Array, *, axis: int = 0, split: list[int] | None = None, n_outputs: int
) -> tuple[Array, ...]:
    return _split(x, split or part_sizes(x.shape[axis], n_outputs), axis)


@onnx_op("DepthToSpace")
def depth_to_space(x: Array, *, blocksize: int, mode: str = "DCR") -> Array:
    """Channels become blocks of elements: in the order of depth, column, row or the other way round."""
    n, c, h, w = x.shape
    b = blocksize
    if mode == "DCR":
        parts = tnp.transpose(tnp.reshape(x, (n, b, b, c // (b * b), h, w)), (0, 3, 4, 1, 5, 2))
    elif mode == "CRD":
        parts = tnp.transpose(tnp.reshape(x, (n, c // (b * b), b, b, h, w)), (0, 1, 4, 2, 5, 3))
    else:
        raise TenonError(f"mode is {mode!r}, expected DCR or CRD")
    return tnp.reshape(parts, (n, c // (b * b), h * b, w * b))


@onnx_op("SpaceToDepth")
def space_to_depth(x: Array, *, blocksize: int, mode: str = "DCR") -> Array:
    n, c, h, w = x.shape
    b = blocksize
    parts = tnp.reshape(x, (n, c, h // b, b, w // b, b))
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return tnp.reshape(tnp.transpose(parts, order), (n, c * b * b, h // b, w // b))


_PAD_MODES = {"constant": "constant", "edge": "edge", "reflect": "reflect", "wrap": "wrap"}


@onnx_op("Pad", since=11, known=("pads", "axes"))
def pad(
    x: Array, pads: Any, value: Array | None = None, axes: Any = None, *, mode: str = "constant"
) -> Array:
    return _padded(x, ints(pads), value, None if axes is None else ints(axes), mode)


@onnx_op("Pad", since=2)
def pad_attributes(x: Array, *, pads: list[int], value: float = 0.0, mode: str = "constant") -> Array:
    return _padded(x, tuple(pads), tnp.full((), value, dtype=x.dtype), None, mode)


def _padded(
    x: Array, pads: tuple[Any, ...], value: Array | None, axes: tuple[int, ...] | None, mode: str
) -> Array:
    """Negative widths cut elements off, before others are added."""
    rank = len(x.shape)
    along = range(rank) if axes is None else [axis_of("Pad", axis, rank) for axis in axes]
    count = len(along)
    if len(pads) != 2 * count:
        raise TenonError(f"{len(pads)} widths for {count} axes, expected {2 * count}")
    low, high = [0] * rank, [0] * rank
    for number, axis in enumerate(along):
        low[axis], high[axis] = pads[number], pads[count + number]
    if mode not in _PAD_MODES:
        raise TenonError(f"mode is {mode!r}, expected {', '.join(_PAD_MODES)}")
    cut = tuple(
        slice(max(-before, 0), extent - max(-after, 0))
        for before, after, extent in zip(low, high, x.shape, strict=True)
    )
    source = x[cut] if min([*low, *high, 0]) < 0 else x
    widths = [(max(before, 0), max(after, 0)) for before, after in zip(low, high, strict=True)]
    if mode != "constant":
        return tnp.pad(source, widths, mode)
    fill = tnp.zeros((), dtype=x.dtype) if value is None else tnp.reshape(value, ())
    lows, highs = zip(*widths, strict=True) if widths else ((), ())
    source_array: Any = source
    fill_array: Any = fill
    return ops.pad(source_array, fill_array, lows, highs)


@onnx_op("Trilu", known=("k",))
def triangle(x: Array, k: Any = None, *, upper: int = 1) -> Array:
    number = 0 if k is None else ints(k)[0]
    return tnp.triu(x, k=number) if upper else tnp.tril(x, k=number)


@onnx_op("ReverseSequence")
def reverse_sequence(x: Array, lengths: Array, *, batch_axis: int = 1, time_axis: int = 0) -> Array:
    """Turns the first elements of each row around: as many as `lengths` says."""
    count = x.shape[time_axis]
    shape = [1] * len(x.shape)
    shape[time_axis] = count
    places = tnp.reshape(tnp.arange(count), shape)
    shape = [1] * len(x.shape)
    shape[batch_axis] = x.shape[batch_axis]
    limits = tnp.reshape(lengths, shape)
    index = tnp.where(tnp.less(places, limits), tnp.subtract(tnp.subtract(limits, 1), places), places)
    return tnp.take_along_axis(x, tnp.broadcast_to(index, x.shape), axis=time_axis)


@onnx_op("CenterCropPad", known=("shape",))
def center_crop_pad(x: Array, shape: Any, *, axes: list[int] | None = None) -> Array:
    """Cuts elements off around the middle, or adds zeros there, up to the extents in `shape`."""
    rank = len(x.shape)
    along = range(rank) if axes is None else [axis_of("CenterCropPad", axis, rank) for axis in axes]
    low, high = [0] * rank, [0] * rank
    for axis, wanted in zip(along, ints(shape), strict=True):
        more = wanted - x.shape[axis]
        low[axis] = more // 2 if more >= 0 else -(-more // 2)
        high[axis] = more - low[axis]
    return _padded(x, (*low, *high), None, None, "constant")
