"""
Ops on values that are known when a model is imported, in numpy: integers that shapes are computed from, among
them extents that vary. What stands here needs no program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....dialects.dims.expressions import DimExpr
from ....errors import TracingError
from ..registry import numpy_op
from ..storage import CARRIERS
from ..tensors import dtype_of_number
from ..values import NumpyArray, has_extents, ints, tidied

_INT64 = np.dtype(np.int64)


def _is_index(*values: NumpyArray | None) -> bool:
    """Returns whether values are integers or booleans, or extents: only these are computed here."""
    return all(value is None or value.dtype.kind == "O" or value.dtype.kind in "iub" for value in values)


def _as(values: Any, dtype: np.dtype[Any]) -> NumpyArray:
    return tidied(np.asarray(values, object)) if dtype.kind == "O" else np.asarray(values, dtype)


def _register_arithmetic(name: str, function: Callable[[Any, Any], Any]) -> None:
    @numpy_op(name, since=7)
    def computed(x: NumpyArray, y: NumpyArray) -> Any:  # pyright: ignore[reportUnusedFunction]
        if not has_extents(x) and not has_extents(y):
            return NotImplemented
        return _as(function(np.asarray(x, object), np.asarray(y, object)), np.dtype(object))


for _name, _function in {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}.items():
    _register_arithmetic(_name, _function)


@numpy_op("Div", since=7)
def divide(x: NumpyArray, y: NumpyArray) -> Any:
    """Extents are not negative, so that rounding down is rounding towards zero."""
    if not has_extents(x) and not has_extents(y):
        return NotImplemented
    if any(isinstance(each, int) and each <= 0 for each in y.reshape(-1)):
        return NotImplemented
    return _as(np.asarray(x, object) // np.asarray(y, object), np.dtype(object))


@numpy_op("Mod")
def modulo(x: NumpyArray, y: NumpyArray, *, fmod: int = 0) -> Any:
    if not has_extents(x) and not has_extents(y):
        return NotImplemented
    return _as(np.asarray(x, object) % np.asarray(y, object), np.dtype(object))


@numpy_op("Cast")
def cast(x: NumpyArray, *, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    dtype = dtype_of_number(to, "Cast")
    if has_extents(x):
        return x if dtype == _INT64 else NotImplemented
    if dtype in CARRIERS or not _is_index(x) or dtype.kind not in "iub":
        return NotImplemented
    return x.astype(dtype)


@numpy_op("Gather")
def gather(x: NumpyArray, indices: NumpyArray, *, axis: int = 0) -> Any:
    if not _is_index(x) or has_extents(indices):
        return NotImplemented
    return _as(np.take(x, indices.astype(_INT64), axis=axis), x.dtype)


@numpy_op("Concat", since=4)
def concat(x: NumpyArray, *rest: NumpyArray, axis: int) -> Any:
    if not _is_index(x, *rest):
        return NotImplemented
    values = [x, *rest]
    if any(map(has_extents, values)):
        return tidied(np.concatenate([np.asarray(each, object) for each in values], axis))
    return np.concatenate(values, axis)


@numpy_op("Slice", since=10)
def slices(
    x: NumpyArray,
    starts: NumpyArray,
    ends: NumpyArray,
    axes: NumpyArray | None = None,
    steps: NumpyArray | None = None,
) -> Any:
    if not _is_index(x) or any(map(has_extents, (starts, ends, steps))):
        return NotImplemented
    index: list[Any] = [slice(None)] * x.ndim
    along = range(len(starts)) if axes is None else ints(axes)
    by = (1,) * len(starts) if steps is None else ints(steps)
    for axis, start, end, step in zip(along, ints(starts), ints(ends), by, strict=True):
        # An end far below the first element is none.
        below = step < 0 and end < -x.shape[axis]
        index[axis] = slice(start, None if below else end, step)
    return _as(x[tuple(index)], x.dtype)


@numpy_op("Squeeze", since=13)
def squeeze(x: NumpyArray, axes: NumpyArray | None = None) -> Any:
    if not _is_index(x):
        return NotImplemented
    return _as(np.squeeze(x, None if axes is None else ints(axes)), x.dtype)


@numpy_op("Unsqueeze", since=13)
def unsqueeze(x: NumpyArray, axes: NumpyArray) -> Any:
    return np.expand_dims(x, ints(axes)) if _is_index(x) else NotImplemented


@numpy_op("Reshape", since=5)
def reshape(x: NumpyArray, shape: NumpyArray, *, allowzero: int = 0) -> Any:
    if not has_extents(x) or has_extents(shape) or 0 in shape:
        return NotImplemented
    return x.reshape(ints(shape))


@numpy_op("Where", since=9)
def where(condition: NumpyArray, x: NumpyArray, y: NumpyArray) -> Any:
    if not has_extents(x) and not has_extents(y):
        return NotImplemented
    return _as(np.where(condition, np.asarray(x, object), np.asarray(y, object)), np.dtype(object))


@numpy_op("Equal", since=7)
def equal(x: NumpyArray, y: NumpyArray) -> Any:
    """Extents are not negative: one that varies is never -1."""
    if not has_extents(x) and not has_extents(y):
        return NotImplemented
    pairs = np.broadcast(np.asarray(x, object), np.asarray(y, object))
    return np.array([_same(*pair) for pair in pairs], np.bool_).reshape(pairs.shape)


def _same(x: Any, y: Any) -> bool:
    difference = x - y
    if not _varies(difference):
        return difference == 0
    if difference > 0 or difference < 0:
        return False
    raise TracingError(f"whether {x} == {y} is known at each call only")


def _varies(extent: Any) -> bool:
    return isinstance(extent, DimExpr)


def _register_extremum(name: str, function: Callable[[Any, Any], Any]) -> None:
    @numpy_op(name, since=8)
    def extremum(x: NumpyArray, *rest: NumpyArray) -> Any:  # pyright: ignore[reportUnusedFunction]
        if not any(map(has_extents, (x, *rest))):
            return NotImplemented
        found: Any = np.asarray(x, object)
        for each in rest:
            found = function(found, np.asarray(each, object))
        return _as(found, np.dtype(object))


_register_extremum("Max", np.frompyfunc(lambda x, y: x if x >= y else y, 2, 1))
_register_extremum("Min", np.frompyfunc(lambda x, y: x if x <= y else y, 2, 1))


@numpy_op("ReduceProd")
def product(
    x: NumpyArray,
    axes_input: NumpyArray | None = None,
    *,
    axes: list[int] | None = None,
    keepdims: int = 1,
    noop_with_empty_axes: int = 0,
) -> Any:
    if not has_extents(x) or axes_input is not None or noop_with_empty_axes:
        return NotImplemented
    along = None if axes is None else tuple(axes)
    return _as(np.multiply.reduce(x, along, keepdims=bool(keepdims)), np.dtype(object))
