"""Elements of images at places between them: interpolated from their neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....errors import TenonError
from ... import numpy as tnp
from ...arrays.array import Array
from ...tracing import graph_ops as ops
from ..graphs import Context
from ..registry import onnx_op
from ..values import is_known

_INT64 = np.dtype(np.int64)

_MODES = {
    "bilinear": "linear",
    "linear": "linear",
    "nearest": "nearest",
    "bicubic": "cubic",
    "cubic": "cubic",
}


def _reflected(x: Any, low: float, high: float) -> Any:
    """Returns places moved into a range by reflection at its ends, as often as it takes."""
    width = high - low
    if width == 0:
        return tnp.full_like(x, low)
    inside = tnp.remainder(tnp.subtract(x, low), 2 * width)
    return tnp.add(tnp.minimum(inside, tnp.subtract(2 * width, inside)), low)


def _rows(x: Any, batch: Any, places: Sequence[Any]) -> Any:
    """Returns the channels of images, last, at whole places that lie inside."""
    indices: list[Any] = [batch, *[tnp.astype(place, _INT64) for place in places]]
    return ops.gather(x, indices, (0, *range(2, 2 + len(places))))


class Images:
    """Images whose elements are looked up at places of a shape, also outside: as the padding says."""

    def __init__(self, x: Any, shape: Sequence[int], padding: str, align: bool) -> None:
        self.x = x
        self.padding = padding
        self.extents = x.shape[2:]
        self.ends = [(0.0, e - 1.0) if align else (-0.5, e - 0.5) for e in self.extents]
        count = x.shape[0]
        batch = tnp.reshape(tnp.arange(count), (count, *[1] * (len(shape) - 1)))
        self.batch = tnp.broadcast_to(batch, tuple(shape))

    def moved(self, place: Any, axis: int) -> Any:
        """Returns places as the padding moves them."""
        if self.padding == "border":
            return tnp.clip(place, 0.0, self.extents[axis] - 1.0)
        return _reflected(place, *self.ends[axis]) if self.padding == "reflection" else place

    def at(self, places: Sequence[Any]) -> Any:
        """Returns the channels, last, at whole places: what lies outside is as the padding says."""
        moved = [self.moved(place, axis) for axis, place in enumerate(places)]
        inside = [
            tnp.clip(place, 0.0, extent - 1.0) for place, extent in zip(moved, self.extents, strict=True)
        ]
        # The batch comes first in the indices, so that channels come last.
        found = _rows(self.x, self.batch, inside)
        for place, clipped in zip(moved, inside, strict=True):
            is_inside = tnp.expand_dims(tnp.equal(place, clipped), -1)
            found = tnp.where(is_inside, found, tnp.zeros_like(found))
        return found


def _cubic_weights(ratio: Any, a: float = -0.75) -> list[Any]:
    def near(x: Any) -> Any:
        inner = tnp.subtract(tnp.multiply(x, a + 2), a + 3)
        return tnp.add(tnp.multiply(tnp.multiply(inner, x), x), 1)

    def far(x: Any) -> Any:
        inner = tnp.add(tnp.multiply(tnp.subtract(tnp.multiply(x, a), 5 * a), x), 8 * a)
        return tnp.subtract(tnp.multiply(inner, x), 4 * a)

    rest = tnp.subtract(1, ratio)
    return [far(tnp.add(ratio, 1)), near(ratio), near(rest), far(tnp.add(rest, 1))]


@onnx_op("GridSample", since=16)
def grid_sample(
    x: Any, grid: Any, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros"
) -> Array:
    """Elements at the places that `grid` has, from -1 to 1 along each axis, the last axis first."""
    if mode not in _MODES or padding_mode not in ("zeros", "border", "reflection"):
        raise TenonError(f"mode {mode!r} with padding_mode {padding_mode!r} is not known")
    is_float = x.dtype.kind not in "iub"
    if not is_float and _MODES[mode] != "nearest":
        raise TenonError(f"mode {mode!r} of {x.dtype} is not supported: weights are no integers")
    count = len(x.shape) - 2
    align = bool(align_corners)
    images = Images(x, grid.shape[:-1], padding_mode, align)
    wide = tnp.astype(grid, x.dtype) if is_float else grid
    places: list[Any] = []
    for axis, extent in enumerate(images.extents):
        place = tnp.add(wide[..., count - 1 - axis], 1)
        factor = (extent - 1) / 2 if align else extent / 2
        place = tnp.multiply(place, factor)
        place = place if align else tnp.subtract(place, 0.5)
        if _MODES[mode] == "nearest":
            place = tnp.round(place)
        # Of a cubic only what it reads is moved, as in onnxruntime and torch: it goes on beyond the border.
        places.append(place if _MODES[mode] == "cubic" else images.moved(place, axis))
    if _MODES[mode] == "nearest":
        found = images.at([tnp.round(place) for place in places])
    else:
        found = interpolated(images, places, _MODES[mode])
    return tnp.moveaxis(found, -1, 1)


def interpolated(images: Images, places: Sequence[Any], mode: str) -> Any:
    """Returns the channels, last, at places between elements; `mode` is `linear` or `cubic`."""
    first = 0 if mode == "linear" else -1
    taps: list[list[tuple[Any, Any]]] = []
    for place in places:
        floor = tnp.floor(place)
        ratio = tnp.subtract(place, floor)
        weights = [tnp.subtract(1, ratio), ratio] if mode == "linear" else _cubic_weights(ratio)
        taps.append([(tnp.add(floor, first + k), weight) for k, weight in enumerate(weights)])
    total: Any = None
    for chosen in itertools.product(*taps):
        weight: Any = chosen[0][1]
        for _, other in chosen[1:]:
            weight = tnp.multiply(weight, other)
        part = tnp.multiply(images.at([place for place, _ in chosen]), tnp.expand_dims(weight, -1))
        total = part if total is None else tnp.add(total, part)
    return total


@onnx_op("RoiAlign", since=16, either=("rois",))
def roi_align(
    x: Any,
    rois: Any,
    batch_indices: Any,
    *,
    coordinate_transformation_mode: str = "half_pixel",
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
    context: Context,
) -> Array:
    """
    The mean, or the greatest, of samples in each cell of boxes of images. Where `sampling_ratio` is 0 their
    number depends on the sizes of the boxes, which must be known then.
    """
    if mode not in ("avg", "max"):
        raise TenonError(f"mode is {mode!r}, expected avg or max")
    half = coordinate_transformation_mode == "half_pixel"
    size = (output_height, output_width)
    if sampling_ratio > 0:
        boxes = context.lift(rois)
        return _aligned(
            x, boxes, batch_indices, size, (sampling_ratio, sampling_ratio), spatial_scale, half, mode
        )
    if not is_known(rois):
        raise context.needs("input 'rois'", [rois])
    found: list[Any] = []
    for number, box in enumerate(rois):
        sides = np.array([box[3] - box[1], box[2] - box[0]]) * spatial_scale
        sides = sides if half else np.maximum(sides, 1)
        counts = [max(int(np.ceil(side / n)), 1) for side, n in zip(sides, size, strict=True)]
        one = context.lift(np.ascontiguousarray(box[None]))
        index = batch_indices[number : number + 1]
        found.append(_aligned(x, one, index, size, (counts[0], counts[1]), spatial_scale, half, mode))
    return tnp.concat(found, axis=0)


@onnx_op("RoiAlign", since=10, either=("rois",))
def roi_align_without_offset(
    x: Any,
    rois: Any,
    batch_indices: Any,
    *,
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
    context: Context,
) -> Array:
    return roi_align(
        x,
        rois,
        batch_indices,
        coordinate_transformation_mode="output_half_pixel",
        mode=mode,
        output_height=output_height,
        output_width=output_width,
        sampling_ratio=sampling_ratio,
        spatial_scale=spatial_scale,
        context=context,
    )


def _aligned(
    x: Any,
    rois: Any,
    batch_indices: Any,
    size: tuple[int, int],
    counts: tuple[int, int],
    scale: float,
    half: bool,
    mode: str,
) -> Any:
    n_rois = rois.shape[0]
    boxes = tnp.subtract(tnp.multiply(tnp.astype(rois, x.dtype), scale), 0.5 if half else 0.0)
    axes: list[tuple[Any, Any, Any, Any]] = []
    for axis in range(2):
        first, last = boxes[:, 1 - axis], boxes[:, 3 - axis]
        side = tnp.subtract(last, first)
        side = side if half else tnp.maximum(side, 1.0)
        steps = (np.arange(size[axis] * counts[axis]) + 0.5) / (size[axis] * counts[axis])
        along = x.trace.constant(steps.astype(x.dtype))
        place = tnp.add(tnp.expand_dims(first, 1), tnp.multiply(tnp.expand_dims(side, 1), along))
        axes.append(_corners(place, x.shape[2 + axis]))
    shape = (n_rois, axes[0][0].shape[1], axes[1][0].shape[1])
    batch = tnp.broadcast_to(tnp.reshape(tnp.astype(batch_indices, _INT64), (n_rois, 1, 1)), shape)
    parts: list[Any] = []
    for upper, right in itertools.product((0, 1), (0, 1)):
        rows = tnp.broadcast_to(tnp.expand_dims(axes[0][upper], 2), shape)
        columns = tnp.broadcast_to(tnp.expand_dims(axes[1][right], 1), shape)
        weight = tnp.multiply(tnp.expand_dims(axes[0][2 + upper], 2), tnp.expand_dims(axes[1][2 + right], 1))
        parts.append(tnp.multiply(_rows(x, batch, [rows, columns]), tnp.expand_dims(weight, -1)))
    cells = (n_rois, size[0], counts[0], size[1], counts[1], x.shape[1])
    found: Any = parts[0]
    for part in parts[1:]:
        found = tnp.add(found, part) if mode == "avg" else tnp.maximum(found, part)
    found = tnp.reshape(found, cells)
    found = (tnp.mean if mode == "avg" else tnp.max)(found, axis=(2, 4))
    return tnp.moveaxis(found, -1, 1)


def _corners(place: Any, extent: int) -> tuple[Any, Any, Any, Any]:
    """Returns the elements around places along an axis, and their weights: none of what lies far outside."""
    is_inside = tnp.logical_and(tnp.greater_equal(place, -1.0), tnp.less_equal(place, float(extent)))
    inside = tnp.clip(place, 0.0, extent - 1.0)
    low = tnp.floor(inside)
    ratio = tnp.subtract(inside, low)
    high = tnp.minimum(tnp.add(low, 1), extent - 1.0)
    none = tnp.zeros_like(ratio)
    return (
        low,
        high,
        tnp.where(is_inside, tnp.subtract(1, ratio), none),
        tnp.where(is_inside, ratio, none),
    )


@onnx_op("MaxRoiPool")
def max_roi_pool(
    x: Any, rois: Any, *, pooled_shape: list[int], spatial_scale: float = 1.0, context: Context
) -> Array:
    """
    The greatest element of each cell of boxes of images. A box is an image's number and two corners, x first,
    rounded to elements; cells overlap where a box is no multiple of their number, and empty ones give 0.
    """
    if len(x.shape) != 4 or len(rois.shape) != 2 or rois.shape[1] != 5:
        raise TenonError(f"shapes {x.shape} and {rois.shape}, expected images and rows of 5 numbers")
    if len(pooled_shape) != 2 or min(pooled_shape) < 1:
        raise TenonError(f"pooled_shape is {pooled_shape}, expected two positive numbers")
    images = tnp.astype(rois[:, 0], np.dtype(np.int64))
    scaled = tnp.multiply(rois[:, 1:], spatial_scale)
    # Halves are rounded away from 0, as C does.
    ends = tnp.copysign(tnp.floor(tnp.add(tnp.abs(scaled), 0.5)), scaled)
    found, none = tnp.take(x, images, axis=0), np.array(-np.inf, x.dtype)
    for axis, (count, low) in enumerate(zip(pooled_shape, (1, 0), strict=True)):
        start, end = ends[:, low], ends[:, low + 2]
        size = tnp.divide(tnp.maximum(tnp.add(tnp.subtract(end, start), 1), 1), count)
        cells = tnp.astype(tnp.arange(count), x.dtype)
        first = tnp.floor(tnp.multiply(tnp.expand_dims(size, 1), cells))
        behind = tnp.ceil(tnp.multiply(tnp.expand_dims(size, 1), tnp.add(cells, 1)))
        first, behind = (
            tnp.expand_dims(tnp.add(each, tnp.expand_dims(start, 1)), 2) for each in (first, behind)
        )
        at = tnp.astype(tnp.arange(x.shape[2 + axis]), x.dtype)
        inside = tnp.logical_and(tnp.greater_equal(at, first), tnp.less(at, behind))
        # From (box, channel, ..., extent) to (box, channel, ..., cell); rows go to the end, then columns.
        found = tnp.expand_dims(tnp.moveaxis(found, 2, -1), -2)
        inside = tnp.reshape(inside, (rois.shape[0], 1, 1, count, x.shape[2 + axis]))
        found = tnp.max(tnp.where(inside, found, context.lift(none)), axis=-1)
    return tnp.where(tnp.equal(found, context.lift(none)), tnp.zeros_like(found), found)
