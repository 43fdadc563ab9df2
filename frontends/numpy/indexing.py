"""
Elements at indices: what stands in brackets, `take`, `take_along_axis`.

Negative indices count from the end. Indices that have values are checked; those of traced arrays are moved
into range instead: below to the first element, above to the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..arrays.array import Array
from ..arrays.concrete import ConcreteArray, as_concrete, with_weakness
from ..calls.dispatch import array_function
from ..tracing import graph_ops as ops
from ..tracing.leaves import lift
from ..tracing.trace import TracedArray, current_trace
from ..tracing.traced_slice import TracedSlice, refuse_slice
from .arguments.axes import axis_of, broadcast_shapes, is_known
from .arguments.index_plan import Box, IndexPlan, check_bounds, parts_of, plan_index
from .arguments.operands import INT64, extent_like, is_integer, operands, reshaped, scalar_like, together
from .arguments.windows import has_traced_ends, plan_slices, slice_or_array

__all__ = ["get_item", "take", "take_along_axis"]

ArrayLike = Array | npt.NDArray[Any]


def get_item(x: Array, index: Any, /) -> Array:
    """
    Returns `x[index]`: integers, slices with any step, `...`, None, arrays of integers and masks, as numpy.

    A mask needs values: the shape depends on them.

    Raises:
        IndexError: there are too many indices, one is out of bounds, or none that numpy takes.
        TracingError: a mask is traced.
    """
    if isinstance(index, TracedSlice):
        return _gathered(x, index)
    if isinstance(x, TracedSlice) or has_traced_ends(index):
        return _windowed(x, index)
    if isinstance(x, ConcreteArray) and current_trace() is None:
        found = _by_numpy(x, index)
        if found is not None:
            return found
    plan, arrays = plan_index("getitem", x.shape, index)
    return _picked(x, arrays, plan)


def _gathered(x: Array, indices: TracedSlice) -> Array:
    """Returns `x[indices]` of integers of which there are as many as a slice with traced ends holds."""
    if isinstance(x, TracedSlice):
        refuse_slice(x, "getitem", "an array of indices does not go with traced ends", "a loop")
    whole = get_item(x, indices.base)
    return slice_or_array(cast(TracedArray, whole), (*indices.windows, *[None] * (x.ndim - 1)))


def _windowed(x: Array, index: object) -> Array:
    """Returns `x[index]` where an end of a slice is traced, or `x` is such a slice."""
    trace = current_trace()
    source = x if isinstance(x, TracedSlice) or trace is None else lift(trace, x, "getitem")
    assert isinstance(source, TracedSlice | TracedArray), "an index of a trace that is over"
    plan = plan_slices("getitem", source, index)
    whole = source.base if isinstance(source, TracedSlice) else source
    return slice_or_array(cast(TracedArray, get_item(whole, plan.index)), plan.windows)


def _by_numpy(x: ConcreteArray, index: object) -> Array | None:
    """
    Returns what numpy picks without gathering: parts, which it shows as they lie, and what masks say; else
    None.
    """
    has_indices, has_mask = False, False
    parts: list[Any] = []
    for entry in parts_of(index):
        if isinstance(entry, TracedArray):
            return None
        part: Any = entry
        if isinstance(entry, ConcreteArray):
            part = entry.values
        elif isinstance(entry, list):
            part = np.asarray(cast(Any, entry))
        if isinstance(part, bool | np.bool_):
            has_mask = True
        elif isinstance(part, np.ndarray):
            values = cast("npt.NDArray[Any]", part)
            has_mask = has_mask or values.dtype.kind == "b"
            has_indices = has_indices or (values.dtype.kind != "b" and values.ndim > 0)
        parts.append(part)
    if has_indices and not has_mask:
        return None
    try:
        found = as_concrete(np.asarray(x.values[tuple(parts)]))
    except IndexError:
        plan_index("getitem", x.shape, index)
        raise
    return with_weakness(found, x.weak)


@array_function(static=("plan",))
def _picked(x: Array, arrays: Sequence[ArrayLike], plan: IndexPlan) -> Array:
    (source,) = operands("getitem", x)
    part = box_of(source, plan.box)
    kept = [axis for axis in range(len(part.shape)) if axis not in plan.dropped]
    part = reshaped(part, tuple(part.shape[axis] for axis in kept))
    if not arrays:
        return reshaped(part, plan.rest)
    axes = [kept.index(axis) for axis in plan.indexed]
    indices = together(
        "getitem", [wrapped(each, part.shape[axis]) for each, axis in zip(arrays, axes, strict=True)]
    )
    found = ops.gather(part, indices, axes)
    shape = indices[0].shape
    found = reshaped(found, (*shape, *plan.rest))
    count = len(shape)
    if plan.at and count:
        before, after = range(count, count + plan.at), range(count + plan.at, len(found.shape))
        found = ops.permute(found, (*before, *range(count), *after))
    return found


def box_of(x: TracedArray, box: Box) -> TracedArray:
    """Returns the part of `x` that a box says."""
    if box.sizes != x.shape or any(stride != 1 for stride in box.strides):
        x = ops.slice(x, box.offsets, box.sizes, box.strides)
    return ops.flip(x, box.flipped) if box.flipped else x


def wrapped(indices: ArrayLike, extent: int) -> TracedArray:
    """Returns indices with those below 0 counted from the end, in a dtype that holds them."""
    (x,) = operands("indices", indices)
    if x.dtype.kind == "u":
        return x
    if not is_known(extent) or np.iinfo(x.dtype).max < extent:
        x = ops.cast(x, INT64)
    return ops.select(ops.lt(x, scalar_like(x, 0)), ops.add(x, extent_like(x, extent)), x)


def _as_given(value: object) -> ArrayLike:
    """Returns an array as it is given, and anything else as an array with values."""
    is_array = isinstance(value, Array | np.ndarray)
    return cast(ArrayLike, value) if is_array else as_concrete(np.asarray(cast(Any, value)))


def _index_array(who: str, indices: object) -> ArrayLike:
    """Returns indices as an array. Raises IndexError where they are not of integers."""
    found = _as_given(indices)
    if not is_integer(found.dtype):
        raise IndexError(f"{who}: indices must be of integers (dtype {found.dtype}, shape {found.shape})")
    return found


def _check_values(who: str, indices: ArrayLike, axis: int, shape: tuple[int, ...]) -> None:
    check_bounds(who, indices if isinstance(indices, Array) else as_concrete(indices), axis, shape)


def take(x: ArrayLike, indices: ArrayLike | Sequence[int] | int, /, axis: int | None = None) -> Array:
    """
    Returns the elements at `indices` along `axis`, whose dim their shape replaces; None takes from the
    elements in row-major order.

    Raises:
        AxisError: there is no such axis.
        IndexError: `indices` are not of integers, or those that have values are out of bounds.
    """
    source = _as_given(x)
    found = _index_array("take", indices)
    shape = (source.size,) if axis is None else source.shape
    place = 0 if axis is None else axis_of("take", axis, len(shape))
    _check_values("take", found, place, shape)
    return _taken(source, found, None if axis is None else place)


@array_function(static=("axis",))
def _taken(x: ArrayLike, indices: ArrayLike, axis: int | None) -> Array:
    (source,) = operands("take", x)
    if axis is None:
        source, axis = reshaped(source, (source.size,)), 0
    index = wrapped(indices, source.shape[axis])
    found = ops.gather(source, (index,), (axis,))
    count = len(index.shape)
    if not axis or not count:
        return found
    before, after = range(count, count + axis), range(count + axis, len(found.shape))
    return ops.permute(found, (*before, *range(count), *after))


def take_along_axis(x: ArrayLike, indices: ArrayLike, /, axis: int = -1) -> Array:
    """
    Returns the elements of `x` at `indices` along `axis`, and along the others where the index itself stands;
    these broadcast.

    Raises:
        AxisError: there is no such axis.
        ValueError: the ranks differ, or the shapes do not go together.
        IndexError: `indices` are not of integers, or those that have values are out of bounds.
    """
    source = _as_given(x)
    found = _index_array("take_along_axis", indices)
    if len(found.shape) != len(source.shape):
        raise ValueError(
            f"take_along_axis: indices and x must have as many dimensions (shapes {found.shape} and "
            f"{source.shape})"
        )
    place = axis_of("take_along_axis", axis, len(source.shape))
    _check_values("take_along_axis", found, place, source.shape)
    return _taken_along(source, found, place)


@array_function(static=("axis",))
def _taken_along(x: ArrayLike, indices: ArrayLike, axis: int) -> Array:
    (source,) = operands("take_along_axis", x)
    return gathered_along(source, wrapped(indices, source.shape[axis]), axis)


def gathered_along(x: TracedArray, indices: TracedArray, axis: int) -> TracedArray:
    """
    Returns the elements of `x` at `indices`, which are not negative, along `axis`; the other axes broadcast.
    """
    rank = len(x.shape)
    others = [
        tuple(extent for dim, extent in enumerate(shape) if dim != axis) for shape in (x.shape, indices.shape)
    ]
    common = broadcast_shapes("take_along_axis", others)
    shape = (*common[:axis], indices.shape[axis], *common[axis:])
    index = ops.broadcast(ops.cast(indices, INT64), shape)
    places = [
        index
        if dim == axis
        else ops.broadcast(scalar_like(index, 0), shape)
        if x.shape[dim] == 1
        else ops.iota(dim, INT64, shape)
        for dim in range(rank)
    ]
    return ops.gather(x, places, tuple(range(rank)))
