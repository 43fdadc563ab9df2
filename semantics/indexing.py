"""`graph.gather`, `graph.scatter`, `graph.dynamic_slice` and `graph.dynamic_update` on numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from ..dialects.graph import ScatterKind
from . import numerics
from .errors import InterpreterError
from .numpy_types import F32, F64, Array

_Indices = npt.NDArray[np.int64]


def clamped(index: Array, last: int) -> _Indices:
    """Returns integers of any type as indices from 0 to `last`: those below are 0, those above `last`."""
    if index.dtype.kind == "u":
        return np.minimum(index.astype(np.uint64), np.uint64(last)).astype(np.int64)
    return np.clip(index.astype(np.int64), 0, last)


def gather(who: str, source: Array, indices: Sequence[Array], axes: Sequence[int]) -> Array:
    """
    Returns the elements of `source` at `indices` of `axes`, moved into range, for all of the other axes.

    Raises InterpreterError, naming `who`, if elements are taken from an axis that has none.
    """
    moved = np.moveaxis(source, axes, range(len(axes)))
    rest = moved.shape[len(axes) :]
    if 0 in moved.shape:
        if indices[0].size and 0 not in rest:
            raise InterpreterError(f"{who}: gathers of axes {list(axes)} of {list(source.shape)} at run time")
        return np.empty((*indices[0].shape, *rest), source.dtype)
    at = tuple(clamped(index, extent - 1) for index, extent in zip(indices, moved.shape, strict=False))
    return moved[at]


_COMBINE: dict[ScatterKind, Callable[[Array, Array], Array]] = {
    ScatterKind.ADD: numerics.add,
    ScatterKind.MUL: numerics.multiply,
    ScatterKind.MAX: numerics.maximum,
    ScatterKind.MIN: numerics.minimum,
}
_SEQUENTIAL = {ScatterKind.ADD: np.add, ScatterKind.MUL: np.multiply}


def scatter(
    kind: ScatterKind, source: Array, indices: Sequence[Array], updates: Array, axes: Sequence[int]
) -> Array:
    """
    Returns `source` with `updates` set or combined at `indices` of `axes`, one after the other; those whose
    index is out of range are dropped.
    """
    moved = np.moveaxis(source, axes, range(len(axes)))
    outer, rest = moved.shape[: len(axes)], moved.shape[len(axes) :]
    result = np.array(moved, order="C").reshape(prod(outer), *rest)
    linear, inside = _linear(indices, outer)
    values = np.asarray(updates).reshape(indices[0].size, *rest)[inside]
    if kind is ScatterKind.SET:
        _, from_the_end = np.unique(linear[::-1], return_index=True)
        last = len(linear) - 1 - from_the_end
        result[linear[last]] = values[last]
    elif kind in _SEQUENTIAL and (source.dtype.kind in "iu" or source.dtype in (F32, F64)):
        _SEQUENTIAL[kind].at(result, linear, values)
    else:
        combine = _COMBINE[kind]
        for at, value in zip(linear, values, strict=True):
            result[at] = combine(np.asarray(result[at]), np.asarray(value))
    return np.moveaxis(result.reshape(*outer, *rest), range(len(axes)), axes)


def _linear(indices: Sequence[Array], shape: Sequence[int]) -> tuple[_Indices, npt.NDArray[np.bool_]]:
    """Returns the row-major numbers of indices in `shape`, less those out of range, and which are in it."""
    inside = np.ones(indices[0].size, np.bool_)
    linear = np.zeros(indices[0].size, np.int64)
    for index, extent in zip(indices, shape, strict=True):
        flat = np.ravel(index)
        inside &= (flat >= 0) & (flat.astype(np.uint64) < np.uint64(extent))
        linear = linear * extent + clamped(flat, max(extent - 1, 0))
    return linear[inside], inside


def box_at(shape: Sequence[int], starts: Sequence[Array], sizes: Sequence[int]) -> tuple[slice, ...]:
    """Returns where a box of `sizes` lies in an array of `shape`, its starts moved so that it fits."""
    box: list[slice] = []
    for extent, start, size in zip(shape, starts, sizes, strict=True):
        first = int(clamped(np.asarray(start), extent - size))
        box.append(slice(first, first + size))
    return tuple(box)


def dynamic_slice(who: str, source: Array, starts: Sequence[Array], sizes: Sequence[int]) -> Array:
    """
    Returns a box of `sizes` elements of `source`, which begins at `starts` as far as it fits there.

    Raises InterpreterError, naming `who`, if it fits nowhere.
    """
    _check_fits(who, source, sizes)
    return source[box_at(source.shape, starts, sizes)]


def dynamic_update(
    who: str, source: Array, starts: Sequence[Array], update: Array, strides: Sequence[int]
) -> Array:
    """
    Returns `source` with a box of it, of every `strides[k]`th element of axis k, replaced by `update`, which
    begins at `starts` as far as it fits there.

    Raises InterpreterError, naming `who`, if it fits nowhere.
    """
    spans = [
        (size - 1) * stride + 1 if size else 0 for size, stride in zip(update.shape, strides, strict=True)
    ]
    _check_fits(who, source, spans)
    result = np.array(source)
    boxes = zip(box_at(source.shape, starts, spans), strides, strict=True)
    result[tuple(slice(box.start, box.stop, stride) for box, stride in boxes)] = update
    return result


def _check_fits(who: str, source: Array, sizes: Sequence[int]) -> None:
    if any(size > extent for size, extent in zip(sizes, source.shape, strict=True)):
        raise InterpreterError(
            f"{who}: {list(sizes)} elements do not fit in {list(source.shape)} at run time"
        )
