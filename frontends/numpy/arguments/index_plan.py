"""What stands in brackets, checked against a shape and in a form that programs are made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ....dialects.dims.expressions import DimExpr, Extent
from ...arrays.array import Array
from ...arrays.concrete import ConcreteArray, NumpyArray, as_concrete
from ...arrays.tracing_state import note_values_read
from ...tracing.extents import least
from ...tracing.trace import TracedArray
from ..values import values_of
from .axes import extent_of, integer_of, is_known
from .operands import BOOL, is_integer
from .varying_axes import VaryingAxis

_MASK_HINT = "tenon.numpy.where(mask, x, other), or x.at[mask].set(value) to change the elements there"


@dataclass(frozen=True)
class Box:
    """
    The part of an array that integers and slices pick: `sizes[k]` elements of axis k from `offsets[k]` on,
    every `strides[k]`th, in reversed order along `flipped`.
    """

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    flipped: tuple[int, ...]


@dataclass(frozen=True)
class IndexPlan:
    """
    What an index does: take `box`, replace its axes `indexed` by the indices of arrays, drop its axes
    `dropped`, and put an axis of extent 1 at each of `added`.

    `at` is where the dims of the arrays go among those that are left, `added` ones included. It is the first
    of the axes that are indexed where they stand side by side, else the front.
    """

    box: Box
    indexed: tuple[int, ...]
    dropped: tuple[int, ...]
    rest: tuple[int, ...]
    at: int

    def shape(self, of_indices: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape of the result, for arrays that broadcast to `of_indices`."""
        return (*self.rest[: self.at], *of_indices, *self.rest[self.at :])


IndexArray = Array | NumpyArray
"""Arrays of integers. Those of numpy stay such: a program reads them at each call."""


def plan_index(
    who: str, shape: tuple[int, ...], index: object, integers_as_arrays: bool = False
) -> tuple[IndexPlan, list[IndexArray]]:
    """
    Returns what an index of an array of `shape` does, and the integer arrays that it has. With
    `integers_as_arrays` single integers are among these, so that one plan serves all their values.

    Raises:
        IndexError: there are too many indices, one is out of bounds, or is nothing that numpy takes.
        TracingError: a mask is traced: the shape would depend on its values.
    """
    entries = entries_of(who, shape, index)
    offsets: list[int] = []
    sizes: list[int] = []
    strides: list[int] = []
    flipped: list[int] = []
    indexed: list[int] = []
    dropped: list[int] = []
    rest: list[int] = []
    arrays: list[IndexArray] = []
    places: list[tuple[int, int]] = []
    for position, entry in enumerate(entries):
        if entry is None:
            rest.append(1)
            continue
        axis = len(sizes)
        extent = shape[axis]
        offset, size, stride = 0, extent, 1
        if isinstance(entry, slice):
            offset, size, stride = _steps(who, cast(Any, entry), axis, shape)
            rest.append(size)
        elif isinstance(entry, int) and integers_as_arrays and is_known(extent):
            indexed.append(axis)
            arrays.append(as_concrete(np.int64(_checked(who, entry, axis, shape))))
            places.append((position, len(rest)))
        elif isinstance(entry, int | DimExpr):
            offset, size = _checked(who, entry, axis, shape), 1
            dropped.append(axis)
            places.append((position, len(rest)))
        else:
            check_bounds(who, entry if isinstance(entry, Array) else as_concrete(entry), axis, shape)
            indexed.append(axis)
            arrays.append(entry)
            places.append((position, len(rest)))
        if stride < 0:
            # Where there may be no elements, it begins within the axis all the same.
            first = offset + (size - 1) * stride if size != 0 else 0
            offset, stride = cast(Any, least(first, extent)), -stride
            flipped.append(axis)
        offsets.append(offset)
        sizes.append(size)
        strides.append(stride)
    first, last = (places[0], places[-1]) if arrays else ((0, 0), (0, 0))
    at = first[1] if last[0] - first[0] == len(places) - 1 else 0
    box = Box(tuple(offsets), tuple(sizes), tuple(strides), tuple(flipped))
    plan = IndexPlan(box, tuple(indexed), tuple(dropped), tuple(rest), at)
    return plan, arrays


def entries_of(who: str, shape: tuple[int, ...], index: object) -> list[Any]:
    """Returns one entry for each axis, and None for each new one; masks become arrays of integers."""
    given = parts_of(index)
    entries: list[Any] = []
    used = 0
    for entry in given:
        parts = _entries(who, shape, used, entry)
        used += sum(part is not None and part is not Ellipsis for part in parts)
        entries += parts
    dots = [position for position, entry in enumerate(entries) if entry is Ellipsis]
    if len(dots) > 1:
        raise IndexError(f"{who}: an index can only have a single ellipsis ('...')")
    if used > len(shape):
        raise IndexError(
            f"{who}: too many indices for array: array is {len(shape)}-dimensional, but {used} were indexed "
            f"(shape {shape})"
        )
    place = dots[0] if dots else len(entries)
    entries[place : place + 1] = [slice(None)] * (len(shape) - used)
    return entries


def parts_of(index: object) -> tuple[Any, ...]:
    """Returns what stands in brackets, one part or several."""
    return cast("tuple[Any, ...]", index) if isinstance(index, tuple) else (index,)


def _entries(who: str, shape: tuple[int, ...], axis: int, entry: Any) -> list[Any]:
    if entry is None or entry is Ellipsis or isinstance(entry, slice):
        return [entry]
    if isinstance(entry, ConcreteArray) and not entry.shape and is_integer(entry.dtype):
        return [int(entry)]
    if isinstance(entry, DimExpr):
        return [entry]
    if isinstance(entry, int | np.integer) and not isinstance(entry, bool):
        return [int(cast(Any, entry))]
    given: Any = entry
    if isinstance(given, list | bool | np.ndarray | np.generic):
        entry = _as_index_array(who, cast(object, given))
    if not isinstance(entry, Array):
        kind = type(cast(object, entry)).__name__
        raise IndexError(
            f"{who}: only integers, slices, ellipsis, newaxis and integer or boolean arrays are valid "
            f"indices ({kind} {entry!r})"
        )
    # The values of a mask decide the shape of the result, so a trace holds for these values only.
    if entry.dtype == BOOL:
        note_values_read(cast(object, given))
        return _of_mask(who, shape, axis, entry)
    if not is_integer(entry.dtype):
        raise IndexError(
            f"{who}: arrays used as indices must be of integer (or boolean) type (dtype {entry.dtype}, "
            f"shape {entry.shape})"
        )
    return [cast(Any, given) if isinstance(given, np.ndarray) else entry]


def _as_index_array(who: str, entry: object) -> ConcreteArray:
    values = np.asarray(entry)
    if values.dtype.kind in "OUSMmVc":
        raise IndexError(f"{who}: arrays used as indices must be of integer (or boolean) type ({entry!r})")
    if not values.size and isinstance(entry, list):
        values = values.astype(np.int64)
    return as_concrete(values)


def _of_mask(who: str, shape: tuple[int, ...], axis: int, mask: Array) -> list[Any]:
    """Returns the indices along each axis of the elements where a mask is true."""
    check_mask(who, shape, axis, mask)
    if not mask.shape:
        raise IndexError(f"{who}: a boolean scalar is no index of a traced array (shape {shape})")
    return [as_concrete(index) for index in np.nonzero(values_of(who, mask, _MASK_HINT))]


def check_mask(who: str, shape: tuple[int, ...], axis: int, mask: Array | NumpyArray) -> None:
    """Raises IndexError unless a mask has the extents of `shape` from `axis` on."""
    covered = shape[axis : axis + len(mask.shape)]
    if len(covered) < len(mask.shape):
        raise IndexError(
            f"{who}: too many indices for array: array is {len(shape)}-dimensional, but "
            f"{axis + len(mask.shape)} were indexed (shape {shape}, mask of shape {mask.shape})"
        )
    for dim, (extent, wanted) in enumerate(zip(mask.shape, covered, strict=True)):
        if extent != wanted:
            raise IndexError(
                f"{who}: boolean index did not match indexed array along axis {axis + dim}; size of axis is "
                f"{wanted} but size of corresponding boolean axis is {extent} (shape {shape}, mask "
                f"{mask.shape})"
            )


def _steps(who: str, entry: slice, axis: int, shape: tuple[Any, ...]) -> tuple[Any, Any, int]:
    start, stop = [
        None if bound is None else extent_of(who, _static(who, bound), f"a {name} of a slice")
        for name, bound in (("start", entry.start), ("stop", entry.stop))
    ]
    step = 1 if entry.step is None else integer_of(who, "a step of a slice", _static(who, entry.step))
    if step == 0:
        raise ValueError(f"{who}: slice step cannot be zero")
    if not all(bound is None or is_known(bound) for bound in (start, stop, shape[axis])):
        return VaryingAxis(who, axis, shape).part(start, stop, step)
    start, stop, step = slice(start, stop, step).indices(shape[axis])
    return start, len(range(start, stop, step)), step


def _static(who: str, bound: object) -> object:
    if isinstance(bound, TracedArray):
        values_of(
            f"{who}: a slice",
            bound,
            "tenon.numpy.take with tenon.numpy.arange of a static size and the start added",
        )
    return bound


def _checked(who: str, index: Extent, axis: int, shape: tuple[Any, ...]) -> Any:
    extent = shape[axis]
    if not (is_known(extent) and isinstance(index, int)):
        return VaryingAxis(who, axis, shape).offset(index)
    if not -extent <= index < extent:
        raise IndexError(
            f"{who}: index {index} is out of bounds for axis {axis} with size {extent} (shape {shape})"
        )
    return index % extent


def check_bounds(who: str, indices: Array, axis: int, shape: tuple[int, ...]) -> None:
    """
    Raises IndexError where an array of indices that has values is out of bounds, or there is nothing to
    index.
    """
    if indices.size == 0:
        return
    if isinstance(indices, ConcreteArray):
        for index in (int(indices.values.min()), int(indices.values.max())):
            _checked(who, index, axis, shape)
    elif shape[axis] == 0:
        raise IndexError(f"{who}: axis {axis} has no elements to index (shape {shape})")
    elif not is_known(shape[axis]) and shape[axis] not in indices.shape:
        # There may be no elements, where there are indices all the same.
        VaryingAxis(who, axis, shape).offset(0)
