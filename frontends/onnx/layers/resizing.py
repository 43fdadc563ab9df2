"""Images in other sizes: each element is a sum of a few along each axis, with known weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....errors import TenonError
from ... import numpy as tnp
from ...arrays.array import Array
from ...numpy.arguments.axes import axis_of
from ..registry import onnx_op
from ..values import NumpyArray, check_count, ints


@dataclass(frozen=True, slots=True)
class Axis:
    """How an axis is resized."""

    extent: int
    size: int
    scale: float
    roi: tuple[float, float] = (0.0, 1.0)


def _coordinates(axis: Axis, mode: str) -> NumpyArray:
    """Returns where each element of the result lies among those that there are."""
    check_count("Resize", axis.size)
    places = np.arange(axis.size, dtype=np.float64)
    extent, scale = axis.extent, axis.scale
    width = scale * extent
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and width != 1):
        return (places + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return np.full(axis.size, -0.5)
    if mode == "asymmetric":
        return places / scale
    if mode == "align_corners":
        return places * ((extent - 1) / (width - 1)) if width != 1 else np.zeros(axis.size)
    if mode == "tf_half_pixel_for_nn":
        return (places + 0.5) / scale
    if mode == "half_pixel_symmetric":
        offset = extent / 2 * (1 - axis.size / width)
        return offset + (places + 0.5) / scale - 0.5
    if mode == "tf_crop_and_resize":
        first, last = axis.roi
        if width == 1:
            return np.full(axis.size, (last - first) * (extent - 1) / 2 + first * (extent - 1))
        return places * (last - first) * (extent - 1) / (width - 1) + first * (extent - 1)
    raise TenonError(f"coordinate_transformation_mode is {mode!r}, which is not known")


def _nearest(mode: str) -> Callable[[NumpyArray], NumpyArray]:
    chosen: dict[str, Callable[[NumpyArray], NumpyArray]] = {
        "round_prefer_floor": lambda ratio: ratio > 0.5,
        "round_prefer_ceil": lambda ratio: ratio >= 0.5,
        "floor": lambda ratio: ratio >= 1,
        "ceil": lambda ratio: ratio > 0,
    }
    if mode not in chosen:
        raise TenonError(f"nearest_mode is {mode!r}, expected {', '.join(chosen)}")

    def weights(ratio: NumpyArray) -> NumpyArray:
        above = chosen[mode](ratio).astype(np.float64)
        return np.stack([1 - above, above], -1)

    return weights


def _of_distances(kernel: Callable[[NumpyArray], NumpyArray], reach: int, scale: float) -> Any:
    """Returns weights by the distances of elements, which reach further where images get smaller."""
    factor = min(scale, 1.0)
    first = math.floor(-reach / factor) + 1
    places = np.arange(first, 2 - first)

    def weights(ratio: NumpyArray) -> NumpyArray:
        found = kernel(np.abs((places - ratio[:, None]) * factor))
        return found / found.sum(-1, keepdims=True)

    return weights


def _linear_kernel(distance: NumpyArray) -> NumpyArray:
    return np.clip(1 - distance, 0, 1)


def cubic_kernel(a: float) -> Callable[[NumpyArray], NumpyArray]:
    """Returns the weights of the cubic convolution with a coefficient, by distances."""

    def kernel(distance: NumpyArray) -> NumpyArray:
        near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
        far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
        return np.where(distance < 1, near, np.where(distance < 2, far, 0.0))

    return kernel


def taps_of(
    axis: Axis,
    mode: str,
    transformation: str,
    nearest_mode: str,
    cubic_a: float,
    antialias: bool,
    exclude: bool,
) -> tuple[NumpyArray, NumpyArray, NumpyArray]:
    """Returns which elements each of the result is a sum of, their weights, and which lie outside."""
    at = _coordinates(axis, transformation)
    ceiling = np.ceil(at)
    # In (0, 1]: an element that is met exactly is the upper one of its pair.
    ratio = np.where(at == ceiling, 1.0, at - np.floor(at))
    scale = axis.scale if antialias else 1.0
    if mode == "nearest":
        weights = _nearest(nearest_mode)(ratio)
    elif mode == "linear":
        weights = _of_distances(_linear_kernel, 1, scale)(ratio)
    elif mode == "cubic":
        weights = _of_distances(cubic_kernel(cubic_a), 2, scale)(ratio)
    else:
        raise TenonError(f"mode is {mode!r}, expected nearest, linear or cubic")
    count = weights.shape[1]
    places: NumpyArray = np.arange(count, dtype=np.int64)
    places = (ceiling - count // 2).astype(np.int64)[:, None] + places
    if exclude:
        weights = np.where((places < 0) | (places >= axis.extent), 0.0, weights)
        weights = weights / weights.sum(-1, keepdims=True)
    is_outside = (at < 0) | (at > axis.extent - 1)
    return np.clip(places, 0, axis.extent - 1), weights, is_outside


def _along(x: Any, axis: int, places: NumpyArray, weights: NumpyArray) -> Any:
    """Returns the sums of elements along an axis; taps without weight are left out."""
    total: Any = None
    for tap in range(places.shape[1]):
        weight = weights[:, tap]
        if not weight.any():
            continue
        part: Any = tnp.take(x, x.trace.constant(np.ascontiguousarray(places[:, tap])), axis=axis)
        if not (weight == 1).all():
            shape = [1] * len(x.shape)
            shape[axis] = len(weight)
            part = tnp.multiply(part, x.trace.constant(weight.astype(x.dtype).reshape(shape)))
        total = part if total is None else tnp.add(total, part)
    return total


def _axes(
    x: Any, along: Sequence[int], scales: Any, sizes: Any, roi: NumpyArray | None, policy: str
) -> list[Axis]:
    """Returns how each axis of `along` is resized."""
    extents = [x.shape[axis] for axis in along]
    count = len(along)
    if any(not isinstance(extent, int) for extent in extents):
        raise TenonError(f"an axis whose extent varies is resized (shape {x.shape})")
    rois = (
        [(0.0, 1.0)] * count
        if roi is None or len(roi) != 2 * count
        else list(zip(map(float, roi[:count]), map(float, roi[count:]), strict=True))
    )
    if scales is not None:
        factors = [float(each) for each in scales]
        wanted = [math.floor(extent * factor) for extent, factor in zip(extents, factors, strict=True)]
    else:
        wanted = [int(each) for each in sizes]
        factors = [size / extent for size, extent in zip(wanted, extents, strict=True)]
        if policy != "stretch":
            if policy not in ("not_larger", "not_smaller"):
                raise TenonError(f"keep_aspect_ratio_policy is {policy!r}, which is not known")
            factor = min(factors) if policy == "not_larger" else max(factors)
            wanted = [int(factor * extent + 0.5) for extent in extents]
            factors = [factor] * count
    if any(factor <= 0 for factor in factors):
        raise TenonError(f"scales of {factors}, expected more than 0")
    return [Axis(*each) for each in zip(extents, wanted, factors, rois, strict=True)]


@onnx_op("Resize", since=11, known=("roi", "scales", "sizes"))
def resize(
    x: Array,
    roi: Any = None,
    scales: Any = None,
    sizes: Any = None,
    *,
    antialias: int = 0,
    axes: list[int] | None = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Array:
    rank = len(x.shape)
    along = list(range(rank)) if axes is None else [axis_of("Resize", axis, rank) for axis in axes]
    scales = None if scales is None or not scales.size else scales.reshape(-1)
    wanted = None if sizes is None or not sizes.size else ints(sizes)
    if (scales is None) == (wanted is None):
        raise TenonError("expected either scales or sizes")
    given: Any = wanted if scales is None else scales
    if len(given) != len(along):
        raise TenonError(f"{len(given)} scales or sizes for {len(along)} axes")
    is_crop = coordinate_transformation_mode == "tf_crop_and_resize"
    if keep_aspect_ratio_policy == "stretch" and not is_crop:
        # What stays as it is may be of any extent.
        same = [each == (x.shape[k] if scales is None else 1) for k, each in zip(along, given, strict=True)]
        along = [axis for axis, is_same in zip(along, same, strict=True) if not is_same]
        given = [each for each, is_same in zip(given, same, strict=True) if not is_same]
        scales, wanted = (given, None) if scales is not None else (None, given)
    found: Any = x
    is_rounded = mode != "nearest" and x.dtype.kind in "iu"
    if is_rounded:
        found = tnp.astype(x, np.dtype(np.float32 if x.dtype.itemsize < 4 else np.float64))
    for place, axis in zip(
        along, _axes(x, along, scales, wanted, roi, keep_aspect_ratio_policy), strict=True
    ):
        places, weights, is_outside = taps_of(
            axis,
            mode,
            coordinate_transformation_mode,
            nearest_mode,
            cubic_coeff_a,
            bool(antialias),
            bool(exclude_outside),
        )
        found = _along(found, place, places, weights)
        if is_crop and is_outside.any():
            shape = [1] * rank
            shape[place] = axis.size
            outside = found.trace.constant(is_outside.reshape(shape))
            found = tnp.where(outside, tnp.full_like(found, extrapolation_value), found)
    if is_rounded:
        # Sums of integers are cut off, as onnxruntime does, and those of cubic ones may be out of bounds.
        limits = np.iinfo(x.dtype)
        found = tnp.astype(tnp.clip(found, int(limits.min), int(limits.max)), x.dtype)
    return found


@onnx_op("Resize", since=10, known=("scales",))
def resize_by_scales(x: Array, scales: Any, *, mode: str = "nearest") -> Array:
    return resize(
        x,
        None,
        scales,
        mode=mode,
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )


@onnx_op("Upsample", since=9, known=("scales",))
def upsample(x: Array, scales: Any, *, mode: str = "nearest") -> Array:
    return resize_by_scales(x, scales, mode=mode)


@onnx_op("Upsample", since=7)
def upsample_attribute(x: Array, *, scales: list[float], mode: str = "nearest") -> Array:
    return resize_by_scales(x, np.array(scales), mode=mode)
