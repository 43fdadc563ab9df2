"""Functions that move elements and compute none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np

from ..arrays.array import Array
from ..calls.dispatch import array_function
from ..tracing import graph_ops as ops
from ..tracing.extents import is_at_least, least
from ..tracing.trace import TracedArray
from .arguments.axes import (
    axes_of,
    axis_of,
    broadcast_shapes,
    checked_shape,
    extent_of,
    extents_of,
    integer_of,
    is_known,
)
from .arguments.operands import INT64, common, extent_like, operands, part_of, reshaped, scalar_like, together
from .arguments.varying_axes import VaryingAxis
from .values import values_of

__all__ = [
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "broadcast_arrays",
    "broadcast_to",
    "column_stack",
    "concat",
    "dstack",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "hstack",
    "moveaxis",
    "permute_dims",
    "ravel",
    "repeat",
    "reshape",
    "roll",
    "rot90",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "tile",
    "transpose",
    "unstack",
    "vstack",
]

Axes = int | Sequence[int] | None


@array_function
def broadcast_arrays(*arrays: Array) -> Sequence[Array]:
    """Returns the arrays, each with its own dtype, repeated to the shape that they broadcast to."""
    return (
        together("broadcast_arrays", [operands("broadcast_arrays", x)[0] for x in arrays]) if arrays else []
    )


@array_function(static=("shape",))
def broadcast_to(x: Array, /, shape: int | Sequence[int]) -> Array:
    """
    Returns `x` repeated to `shape`: along dims that it lacks at the front, and those where its extent is 1.

    Raises ValueError where the shapes do not go together that way.
    """
    (x,) = operands("broadcast_to", x)
    wanted = extents_of("broadcast_to", shape)
    if len(x.shape) > len(wanted) or broadcast_shapes("broadcast_to", [x.shape, wanted]) != wanted:
        raise ValueError(f"broadcast_to: cannot broadcast shape {x.shape} to {wanted}")
    return ops.broadcast(x, wanted)


@array_function(static=("axis",))
def concat(arrays: Sequence[Array], /, axis: int | None = 0) -> Array:
    """
    Joins arrays along an axis that they have; None joins their elements in row-major order. dtypes are
    promoted.

    Raises:
        AxisError: there is no such axis.
        ValueError: there are no arrays, or their shapes differ in another axis.
    """
    return joined("concat", arrays, axis)


def joined(who: str, arrays: Sequence[Array], axis: int | None) -> TracedArray:
    """Returns what `concat` does, with `who` in its errors."""
    if len(arrays) == 0:
        raise ValueError(f"{who}: need at least one array")
    parts = common(who, *arrays)
    if axis is None:
        parts, axis = [reshaped(x, (x.size,)) for x in parts], 0
    first = parts[0].shape
    if not first:
        raise ValueError(f"{who}: zero-dimensional arrays cannot be joined")
    axis = axis_of(who, axis, len(first))
    for position, x in enumerate(parts[1:], 1):
        if len(x.shape) != len(first):
            raise ValueError(
                f"{who}: all arrays must have the same number of dimensions "
                f"(array 0 has {first}, array {position} has {x.shape})"
            )
        for dim, (extent, wanted) in enumerate(zip(x.shape, first, strict=True)):
            if extent != wanted and dim != axis:
                raise ValueError(
                    f"{who}: extents must agree except along axis {axis} (axis {dim} is {wanted} in array 0 "
                    f"of shape {first} and {extent} in array {position} of shape {x.shape})"
                )
    extents = [x.shape[axis] for x in parts]
    checked_shape(who, (*first[:axis], sum(extents), *first[axis + 1 :]))
    return parts[0] if len(parts) == 1 else ops.concat(parts, axis)


@array_function(static=("axis",))
def expand_dims(x: Array, /, axis: int | Sequence[int] = 0) -> Array:
    """
    Returns `x` with a dim of extent 1 at each `axis` of the result. Raises AxisError where there is none.
    """
    (x,) = operands("expand_dims", x)
    if cast(Any, axis) is None:
        raise TypeError("expand_dims: axis is None, expected an integer, or several")
    count = len(axis) if isinstance(axis, tuple | list) else 1
    added = axes_of("expand_dims", axis, len(x.shape) + count)
    extents = iter(x.shape)
    return reshaped(x, tuple(1 if dim in added else next(extents) for dim in range(len(x.shape) + count)))


@array_function(static=("axis",))
def flip(x: Array, /, axis: Axes = None) -> Array:
    """Returns `x` with the order of its elements reversed along `axis`, along all axes for None."""
    (x,) = operands("flip", x)
    axes = axes_of("flip", axis, len(x.shape))
    return ops.flip(x, axes) if axes else x


@array_function
def fliplr(x: Array, /) -> Array:
    """Returns `x` with axis 1 reversed. Raises ValueError below rank 2."""
    (x,) = operands("fliplr", x)
    check_rank("fliplr", x, 2)
    return ops.flip(x, (1,))


@array_function
def flipud(x: Array, /) -> Array:
    """Returns `x` with axis 0 reversed. Raises ValueError at rank 0."""
    (x,) = operands("flipud", x)
    check_rank("flipud", x, 1)
    return ops.flip(x, (0,))


def check_rank(who: str, x: Array, least: int) -> None:
    """Raises ValueError where `x` has fewer dimensions than `least`."""
    if len(x.shape) < least:
        raise ValueError(f"{who}: the array must have {least} dimensions or more (shape {x.shape})")


@array_function(static=("source", "destination"))
def moveaxis(x: Array, source: int | Sequence[int], destination: int | Sequence[int], /) -> Array:
    """
    Returns `x` with axes `source` at `destination`, and the others in their order.

    Raises:
        AxisError: an axis is out of range.
        ValueError: one is given twice, or there are not as many of one as of the other.
    """
    (x,) = operands("moveaxis", x)
    rank = len(x.shape)
    taken = axes_of("moveaxis", source, rank, "source")
    places = axes_of("moveaxis", destination, rank, "destination")
    if len(taken) != len(places):
        raise ValueError(
            f"moveaxis: source and destination must have as many axes ({len(taken)} and {len(places)})"
        )
    return ops.permute(x, _moved(rank, taken, places))


def _moved(rank: int, taken: tuple[int, ...], places: tuple[int, ...]) -> tuple[int, ...]:
    order = [axis for axis in range(rank) if axis not in taken]
    for place, axis in sorted(zip(places, taken, strict=True)):
        order.insert(place, axis)
    return tuple(order)


@array_function(static=("axes",))
def permute_dims(x: Array, /, axes: Sequence[int]) -> Array:
    """
    Returns `x` with its axis `axes[k]` as axis k.

    Raises:
        AxisError: an axis is out of range.
        ValueError: `axes` has not every axis once.
    """
    return _permuted("permute_dims", operands("permute_dims", x)[0], axes)


@array_function(static=("axes",))
def transpose(x: Array, /, axes: Sequence[int] | None = None) -> Array:
    """Returns `x` with its axes in the order `axes`, reversed for None. Raises as `permute_dims`."""
    return _permuted("transpose", operands("transpose", x)[0], axes)


def _permuted(who: str, x: TracedArray, axes: Sequence[int] | None) -> TracedArray:
    order = axes_of(who, axes, len(x.shape), "axes")
    order = order[::-1] if axes is None else order
    if len(order) != len(x.shape):
        raise ValueError(f"{who}: axes don't match array (axes {axes}, shape {x.shape})")
    return x if order == tuple(range(len(order))) else ops.permute(x, order)


@array_function(static=("axis1", "axis2"))
def swapaxes(x: Array, axis1: int, axis2: int, /) -> Array:
    """Returns `x` with two of its axes exchanged. Raises AxisError where there is none."""
    (x,) = operands("swapaxes", x)
    order = list(range(len(x.shape)))
    first = axis_of("swapaxes", axis1, len(order), "axis1")
    second = axis_of("swapaxes", axis2, len(order), "axis2")
    order[first], order[second] = second, first
    return ops.permute(x, tuple(order)) if first != second else x


def repeat(x: Array, repeats: int | Sequence[int] | Array, /, axis: int | None = None) -> Array:
    """
    Returns `x` with each element along `axis` `repeats` times, or `repeats[k]` times the element at k; for
    None the elements in row-major order.

    Raises:
        AxisError: there is no such axis.
        ValueError: a count is negative, or there are not as many as elements along the axis.
        TypeError: a count is no integer.
        TracingError: `repeats` is a traced array: the shape depends on it.
    """
    if isinstance(repeats, Array | np.ndarray):
        values = values_of("repeat", repeats, "a static argument, or an array from outside of the function")
        if values.dtype.kind not in "iu" or values.ndim > 1:
            raise TypeError(
                f"repeat: repeats must be integers of at most one dimension (dtype {values.dtype}, "
                f"shape {values.shape})"
            )
        return _repeated(x, values.tolist(), axis)
    return _repeated(x, repeats, axis)


@array_function(static=("repeats", "axis"))
def _repeated(x: Array, repeats: int | Sequence[int], axis: int | None) -> Array:
    (x,) = operands("repeat", x)
    if axis is None:
        x, axis = reshaped(x, (x.size,)), 0
    axis = axis_of("repeat", axis, len(x.shape))
    extent = x.shape[axis]
    given = repeats if isinstance(repeats, tuple | list) else (repeats,)
    counts = tuple(integer_of("repeat", "repeats", count) for count in given)
    for count in counts:
        if count < 0:
            raise ValueError(f"repeat: repeats may not be negative ({count})")
    if len(counts) != 1 and len(counts) != extent:
        raise ValueError(
            f"repeat: {len(counts)} repeats for {extent} elements (axis {axis}, shape {x.shape}, "
            f"repeats {counts})"
        )
    if len(set(counts)) == 1:
        return _each_repeated(x, axis, counts[0])
    if not any(counts):
        return part_of(x, axis, 0, 0)
    parts = [
        _each_repeated(part_of(x, axis, position, 1), axis, count)
        for position, count in enumerate(counts)
        if count
    ]
    return parts[0] if len(parts) == 1 else ops.concat(parts, axis)


def _each_repeated(x: TracedArray, axis: int, count: int) -> TracedArray:
    before, extent, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    shape = checked_shape("repeat", (*before, extent * count, *after))
    spread = ops.broadcast(reshaped(x, (*before, extent, 1, *after)), (*before, extent, count, *after))
    return reshaped(spread, shape)


@array_function(static=("shape", "copy"))
def reshape(x: Array, /, shape: int | Sequence[int], *, copy: bool | None = None) -> Array:
    """
    Returns the elements of `x` in row-major order under another shape; one extent may be -1: what is left.

    Arrays never change, so that it makes no difference whether `copy` is true; false is an error, as no view
    of `x` is promised.

    Raises ValueError where the shape has another number of elements, or `copy` is false.
    """
    (x,) = operands("reshape", x)
    if copy is False:
        raise ValueError("reshape: unable to avoid creating a copy while reshaping (copy=False)")
    return reshaped(x, _inferred(x, shape))


def _inferred(x: TracedArray, shape: int | Sequence[int]) -> tuple[int, ...]:
    values = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    extents = tuple(extent_of("reshape", value) for value in values)
    unknown = extents.count(-1)
    if unknown > 1:
        raise ValueError(f"reshape: can only specify one unknown dimension (shape {extents})")
    if unknown:
        known = math.prod(extent for extent in extents if extent != -1)
        if (is_known(known) and known <= 0) or x.size % known != 0:
            raise ValueError(f"reshape: cannot reshape array of size {x.size} into shape {extents}")
        extents = tuple(x.size // known if extent == -1 else extent for extent in extents)
    extents = extents_of("reshape", extents)
    if math.prod(extents) != x.size:
        raise ValueError(
            f"reshape: cannot reshape array of size {x.size} into shape {extents} (from {x.shape})"
        )
    return extents


@array_function
def ravel(x: Array, /) -> Array:
    """Returns the elements of `x` in row-major order, as one dim."""
    (x,) = operands("ravel", x)
    return reshaped(x, (x.size,))


@array_function(static=("shift", "axis"))
def roll(x: Array, /, shift: int | Sequence[int], axis: Axes = None) -> Array:
    """
    Returns `x` with its elements moved by `shift` along `axis`; those moved over the end come in at the
    front. For None the elements are moved in row-major order.

    Raises:
        AxisError: there is no such axis.
        ValueError: there are not as many shifts as axes.
    """
    (x,) = operands("roll", x)
    if axis is None:
        flat = _rolled(reshaped(x, (x.size,)), 0, sum(_shifts(shift)))
        return reshaped(flat, x.shape)
    axes = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    places = [axis_of("roll", each, len(x.shape)) for each in axes]
    shifts = _shifts(shift)
    if len(shifts) != len(places) and 1 not in (len(shifts), len(places)):
        raise ValueError(f"roll: {len(shifts)} shifts for {len(places)} axes (shift {shift}, axis {axis})")
    count = max(len(shifts), len(places)) if shifts and places else 0
    for k in range(count):
        x = _rolled(x, places[k % len(places)], shifts[k % len(shifts)])
    return x


def _shifts(shift: int | Sequence[int]) -> tuple[int, ...]:
    values = tuple(shift) if isinstance(shift, tuple | list) else (shift,)
    return tuple(integer_of("roll", "a shift", value) for value in values)


def _rolled(x: TracedArray, axis: int, shift: int) -> TracedArray:
    extent = x.shape[axis]
    if is_known(extent):
        amount = shift % extent if extent else 0
    elif is_at_least(extent, abs(shift)):
        amount = shift if shift >= 0 else extent + shift
    else:
        return _rolled_often(x, axis, shift)
    if amount == 0:
        return x
    return ops.concat([part_of(x, axis, extent - amount, amount), part_of(x, axis, 0, extent - amount)], axis)


def _rolled_often(x: TracedArray, axis: int, shift: int) -> TracedArray:
    """Returns what `_rolled` does, of an axis that may have less elements than it is moved by."""
    place = ops.iota(0, INT64, (x.shape[axis],))
    place = ops.mod(ops.sub(place, scalar_like(place, shift)), extent_like(place, x.shape[axis]))
    found = ops.gather(x, (place,), (axis,))
    return ops.permute(found, (*range(1, axis + 1), 0, *range(axis + 1, len(x.shape))))


@array_function(static=("k", "axes"))
def rot90(x: Array, /, k: int = 1, axes: Sequence[int] = (0, 1)) -> Array:
    """Returns `x` turned by `k` quarters in the plane of `axes`, from the first towards the second."""
    (x,) = operands("rot90", x)
    check_rank("rot90", x, 2)
    first, second = axes_of("rot90", tuple(axes), len(x.shape), "axes")
    quarters = k % 4
    if quarters == 0:
        return x
    if quarters == 2:
        return ops.flip(x, (first, second))
    order = list(range(len(x.shape)))
    order[first], order[second] = second, first
    if quarters == 1:
        return ops.permute(ops.flip(x, (second,)), tuple(order))
    return ops.flip(ops.permute(x, tuple(order)), (second,))


@array_function(static=("indices_or_sections", "axis"))
def split(x: Array, indices_or_sections: int | Sequence[int], /, axis: int = 0) -> Sequence[Array]:
    """
    Returns `x` in parts along `axis`: as many of one size as an integer says, or parted at the indices.

    Raises:
        AxisError: there is no such axis.
        ValueError: the axis cannot be parted evenly.
    """
    (x,) = operands("split", x)
    axis = axis_of("split", axis, len(x.shape))
    if not isinstance(indices_or_sections, tuple | list):
        sections = integer_of("split", "the number of sections", indices_or_sections)
        if sections < 1 or x.shape[axis] % sections != 0:
            raise ValueError(
                f"split: array split does not result in an equal division "
                f"({x.shape[axis]} elements along axis {axis} into {sections} sections)"
            )
        size = x.shape[axis] // sections
        return [part_of(x, axis, k * size, size) for k in range(sections)]
    return _parts_at("split", x, axis, indices_or_sections)


@array_function(static=("indices_or_sections", "axis"))
def array_split(x: Array, indices_or_sections: int | Sequence[int], /, axis: int = 0) -> Sequence[Array]:
    """
    Returns what `split` does, but into sections of which the first ones are larger by 1 where they must be.
    """
    (x,) = operands("array_split", x)
    axis = axis_of("array_split", axis, len(x.shape))
    if isinstance(indices_or_sections, tuple | list):
        return _parts_at("array_split", x, axis, indices_or_sections)
    sections = integer_of("array_split", "the number of sections", indices_or_sections)
    if sections < 1:
        raise ValueError(f"array_split: number of sections must be larger than 0 ({sections})")
    size = x.shape[axis] // sections
    larger = x.shape[axis] - sections * size
    ends = [*[k * size + least(k, larger) for k in range(sections)], x.shape[axis]]
    return [part_of(x, axis, start, stop - start) for start, stop in pairwise(ends)]


def _parts_at(who: str, x: TracedArray, axis: int, indices: Sequence[int]) -> list[TracedArray]:
    given = [extent_of(who, index, "an index") for index in indices]
    if is_known(x.shape[axis]) and all(map(is_known, given)):
        ends = [(slice(*pair).indices(x.shape[axis])) for pair in pairwise([0, *given, None])]
        return [part_of(x, axis, start, max(stop - start, 0)) for start, stop, _ in ends]
    of_axis = VaryingAxis(who, axis, x.shape)
    return [part_of(x, axis, *of_axis.part(*pair, 1)[:2]) for pair in pairwise([0, *given, None])]


@array_function(static=("axis",))
def squeeze(x: Array, /, axis: Axes = None) -> Array:
    """
    Returns `x` without the dims `axis`, which must have an extent of 1; without all such dims for None.

    Raises:
        AxisError: there is no such axis.
        ValueError: one has another extent.
    """
    (x,) = operands("squeeze", x)
    if axis is None:
        return reshaped(x, tuple(extent for extent in x.shape if extent != 1))
    axes = axes_of("squeeze", axis, len(x.shape))
    for each in axes:
        if x.shape[each] != 1:
            raise ValueError(
                f"squeeze: cannot select an axis to squeeze out which has size not equal to one "
                f"(axis {each} of shape {x.shape})"
            )
    return reshaped(x, tuple(extent for dim, extent in enumerate(x.shape) if dim not in axes))


@array_function(static=("axis",))
def stack(arrays: Sequence[Array], /, axis: int = 0) -> Array:
    """
    Joins arrays of one shape along a new axis. dtypes are promoted.

    Raises:
        AxisError: the result has no such axis.
        ValueError: there are no arrays, or their shapes differ.
    """
    if len(arrays) == 0:
        raise ValueError("stack: need at least one array to stack")
    parts = common("stack", *arrays)
    shape = parts[0].shape
    for position, x in enumerate(parts):
        if x.shape != shape:
            raise ValueError(
                f"stack: all arrays must have the same shape (array 0 has {shape}, array {position} has "
                f"{x.shape})"
            )
    axis = axis_of("stack", axis, len(shape) + 1)
    parts = [reshaped(x, (*shape[:axis], 1, *shape[axis:])) for x in parts]
    return parts[0] if len(parts) == 1 else ops.concat(parts, axis)


@array_function
def vstack(arrays: Sequence[Array], /) -> Array:
    """Joins arrays along axis 0; those of rank 0 and 1 are rows."""
    parts = [operands("vstack", x)[0] for x in arrays]
    return joined("vstack", [reshaped(x, (1, x.size)) if len(x.shape) < 2 else x for x in parts], 0)


@array_function
def hstack(arrays: Sequence[Array], /) -> Array:
    """Joins arrays along axis 1, those of rank 0 and 1 along axis 0."""
    parts = [operands("hstack", x)[0] for x in arrays]
    parts = [reshaped(x, (1,)) if not x.shape else x for x in parts]
    return joined("hstack", parts, 0 if parts and len(parts[0].shape) == 1 else 1)


@array_function
def column_stack(arrays: Sequence[Array], /) -> Array:
    """Joins arrays along axis 1; those of rank 0 and 1 are columns."""
    parts = [operands("column_stack", x)[0] for x in arrays]
    return joined("column_stack", [reshaped(x, (x.size, 1)) if len(x.shape) < 2 else x for x in parts], 1)


@array_function
def dstack(arrays: Sequence[Array], /) -> Array:
    """
    Joins arrays along axis 2; one of rank 1 is a row of elements along axis 2, one of rank 2 has them of 1.
    """
    parts = [operands("dstack", x)[0] for x in arrays]
    return joined("dstack", [_with_depth(x) for x in parts], 2)


def _with_depth(x: TracedArray) -> TracedArray:
    if len(x.shape) < 2:
        return reshaped(x, (1, x.size, 1))
    return reshaped(x, (*x.shape, 1)) if len(x.shape) == 2 else x


@array_function(static=("repetitions",))
def tile(x: Array, repetitions: int | Sequence[int], /) -> Array:
    """
    Returns `x` laid side by side `repetitions[k]` times along axis k; the shorter of shape and repetitions
    gets ones at the front.

    Raises ValueError where a count is negative.
    """
    (x,) = operands("tile", x)
    counts = extents_of("tile", repetitions)
    rank = max(len(counts), len(x.shape))
    counts = (1,) * (rank - len(counts)) + counts
    shape = (1,) * (rank - len(x.shape)) + x.shape
    result = checked_shape("tile", tuple(a * b for a, b in zip(counts, shape, strict=True)))
    split = tuple(part for extent in shape for part in (1, extent))
    spread = tuple(part for pair in zip(counts, shape, strict=True) for part in pair)
    return reshaped(ops.broadcast(reshaped(x, split), spread), result)


@array_function(static=("axis",))
def unstack(x: Array, /, axis: int = 0) -> tuple[Array, ...]:
    """
    Returns the parts of `x` at each index of `axis`, without that dim. Raises AxisError where there is none.
    """
    (x,) = operands("unstack", x)
    if not x.shape:
        raise ValueError("unstack: the array must have 1 dimension or more (shape ())")
    axis = axis_of("unstack", axis, len(x.shape))
    rest = x.shape[:axis] + x.shape[axis + 1 :]
    return tuple(reshaped(part_of(x, axis, k, 1), rest) for k in range(x.shape[axis]))


@array_function
def atleast_1d(x: Array, /) -> Array:
    """Returns `x`, as one dim if it has none."""
    (x,) = operands("atleast_1d", x)
    return x if x.shape else reshaped(x, (1,))


@array_function
def atleast_2d(x: Array, /) -> Array:
    """Returns `x` with dims of extent 1 at the front up to rank 2."""
    (x,) = operands("atleast_2d", x)
    return reshaped(x, (1,) * (2 - len(x.shape)) + x.shape)
