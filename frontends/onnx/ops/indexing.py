"""Elements at indices, and what is put there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....dialects.dims.expressions import DimExpr
from ....errors import TenonError
from ... import numpy as tnp
from ...arrays.array import Array
from ...numpy.arguments.axes import axis_of
from ...tracing import graph_ops as ops
from ...tracing.extents import greatest, least
from ..registry import onnx_op
from ..values import Value, has_extents, ints, is_known

_INT64 = np.dtype(np.int64)

Lift = Callable[[Value], Any]


def wrapped(indices: Any, extent: Any) -> Any:
    """Returns indices as int64, of which negative ones count from the end."""
    index = tnp.astype(indices, _INT64)
    return tnp.where(tnp.less(index, 0), tnp.add(index, extent), index)


def _check_inside(indices: Any, shape: tuple[Any, ...], axis: int) -> None:
    """Raises TenonError where an index that is known is out of range, of an extent that is."""
    extent = shape[axis]
    if not is_known(indices) or has_extents(indices) or not isinstance(extent, int):
        return
    outside = indices[(indices < -extent) | (indices >= extent)]
    if outside.size:
        raise TenonError(f"index {outside[0]} is out of range for axis {axis} of shape {shape}")


@onnx_op("Gather", either=("indices",))
def gather(x: Array, indices: Any, *, axis: int = 0, lift: Lift) -> Array:
    place = axis_of("Gather", axis, len(x.shape))
    _check_inside(indices, x.shape, place)
    if is_known(indices) and not indices.ndim and not has_extents(indices):
        extent: Any = x.shape[place]
        index = int(indices)
        if isinstance(extent, int) or index >= 0:
            return x[(*[slice(None)] * place, index)]
    return tnp.take(x, lift(indices), axis=place)


@onnx_op("GatherElements", either=("indices",))
def gather_elements(x: Array, indices: Any, *, axis: int = 0, lift: Lift) -> Array:
    place = axis_of("GatherElements", axis, len(x.shape))
    _check_inside(indices, x.shape, place)
    indices = lift(indices)
    own, wanted = list(x.shape), list(indices.shape)
    own[place] = wanted[place] = 0
    if own != wanted:
        # The indices may be of fewer elements along the other axes.
        x = x[tuple(slice(None) if k == place else slice(0, e) for k, e in enumerate(indices.shape))]
    return tnp.take_along_axis(x, wrapped(indices, x.shape[place]), axis=place)


def _of_rows(indices: Any, shape: tuple[Any, ...], first: int, lift: Lift) -> list[Any]:
    """Returns the indices of each axis, from `first` on, that the last axis of `indices` holds."""
    count = range(indices.shape[-1])
    for k in count:
        _check_inside(indices[..., k], shape, first + k)
    indices = lift(indices)
    return [wrapped(indices[..., k], shape[first + k]) for k in count]


@onnx_op("GatherND", either=("indices",))
def gather_rows(x: Any, indices: Any, *, batch_dims: int = 0, lift: Lift) -> Array:
    places = _of_rows(indices, x.shape, batch_dims, lift)
    if not batch_dims:
        return ops.gather(x, places, tuple(range(len(places)))) if places else x
    batch: list[Any] = []
    shape = places[0].shape
    for axis in range(batch_dims):
        own = [1] * len(shape)
        own[axis] = shape[axis]
        batch.append(tnp.broadcast_to(tnp.reshape(tnp.arange(shape[axis]), own), shape))
    return ops.gather(x, [*batch, *places], tuple(range(batch_dims + len(places))))


_SCATTERS = {"none": "set", "add": "add", "mul": "mul", "max": "max", "min": "min"}


def _kind(reduction: str) -> str:
    if reduction not in _SCATTERS:
        raise TenonError(f"reduction is {reduction!r}, expected {', '.join(_SCATTERS)}")
    return _SCATTERS[reduction]


@onnx_op("ScatterND", either=("indices",))
def scatter_rows(x: Any, indices: Any, updates: Any, *, reduction: str = "none", lift: Lift) -> Array:
    places = _of_rows(indices, x.shape, 0, lift)
    return ops.scatter(_kind(reduction), x, places, updates, tuple(range(len(places))))


@onnx_op("ScatterElements", either=("indices",))
def scatter_elements(
    x: Any, indices: Any, updates: Any, *, axis: int = 0, reduction: str = "none", lift: Lift
) -> Array:
    place = axis_of("ScatterElements", axis, len(x.shape))
    _check_inside(indices, x.shape, place)
    indices = lift(indices)
    shape = indices.shape
    places: list[Any] = []
    for k, extent in enumerate(shape):
        if k == place:
            places.append(wrapped(indices, x.shape[place]))
        else:
            own = [1] * len(shape)
            own[k] = extent
            places.append(tnp.broadcast_to(tnp.reshape(tnp.arange(extent), own), shape))
    return ops.scatter(_kind(reduction), x, places, updates, tuple(range(len(shape))))


@onnx_op("Scatter", either=("indices",))
def scatter(x: Any, indices: Any, updates: Any, *, axis: int = 0, lift: Lift) -> Array:
    return scatter_elements(x, indices, updates, axis=axis, lift=lift)


@onnx_op("Slice", since=10, known=("starts", "ends", "axes", "steps"))
def slices(x: Array, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Array:
    first, last = ints(starts), ints(ends)
    along = range(len(first)) if axes is None else ints(axes)
    by = (1,) * len(first) if steps is None else ints(steps)
    return _sliced(x, first, last, tuple(along), by)


@onnx_op("Slice")
def slice_attributes(x: Array, *, starts: list[int], ends: list[int], axes: list[int] | None = None) -> Array:
    along = tuple(range(len(starts))) if axes is None else tuple(axes)
    return _sliced(x, tuple(starts), tuple(ends), along, (1,) * len(starts))


def _sliced(
    x: Array, starts: tuple[Any, ...], ends: tuple[Any, ...], axes: tuple[int, ...], steps: tuple[int, ...]
) -> Array:
    index: list[Any] = [slice(None)] * len(x.shape)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        place = axis_of("Slice", axis, len(x.shape))
        if step == 0:
            raise TenonError(f"the step of axis {axis} is 0")
        index[place] = _slice(x.shape[place], start, end, step)
    return x[tuple(index)]


def _slice(extent: Any, start: Any, end: Any, step: int) -> slice:
    """Returns the slice of Python that takes the same elements, with bounds that are moved into range."""
    if not isinstance(extent, DimExpr) and not isinstance(start, DimExpr) and not isinstance(end, DimExpr):
        low, high, _ = slice(start, end, step).indices(extent)
        if not range(low, high, step):
            return slice(0, 0)
        # What ends before the first element has no end in Python, where -1 is the last one.
        return slice(low, None if high < 0 else high, step)
    if step != 1:
        if step == -1 and start == -1 and isinstance(end, int) and end <= -(1 << 31):
            return slice(None, None, -1)
        raise TenonError(f"a step of {step} along an extent that varies ({extent})")
    low, high = (_open_bound(bound, extent) for bound in (start, end))
    return slice(low, greatest(low, high))


def _open_bound(bound: Any, extent: Any) -> Any:
    if isinstance(bound, int) and bound >= (1 << 31) - 1:
        return extent
    found = bound + extent if bound < 0 else bound
    return least(greatest(found, 0), extent)


@onnx_op("TensorScatter")
def tensor_scatter(x: Any, update: Any, starts: Any = None, *, axis: int = -2, mode: str = "linear") -> Array:
    """Puts `update` into a cache, from an index of each batch on along `axis`; `circular` wraps around."""
    place = axis_of("TensorScatter", axis, len(x.shape))
    batch, count = x.shape[0], x.shape[place]
    if mode not in ("linear", "circular"):
        raise TenonError(f"mode is {mode!r}, expected linear or circular")
    first = tnp.zeros((batch,), dtype=_INT64) if starts is None else tnp.astype(starts, _INT64)
    shape = update.shape
    places: list[Any] = []
    for k, extent in enumerate(shape):
        own = [1] * len(shape)
        own[k] = extent
        index = tnp.reshape(tnp.arange(extent), own)
        if k == place:
            index = tnp.add(index, tnp.reshape(first, (batch, *[1] * (len(shape) - 1))))
            index = tnp.remainder(index, count) if mode == "circular" else index
        places.append(tnp.broadcast_to(index, shape))
    return ops.scatter("set", x, places, update, tuple(range(len(shape))))
