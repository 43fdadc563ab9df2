"""Steps of random programs whose indices are values, or that order elements; see random_programs.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

Array = np.ndarray[Any, np.dtype[Any]]

MAX_ELEMENTS = 400


def _clamped(index: Array, last: int) -> Array:
    return np.clip(index.astype(np.int64), 0, last)


def _gather(w: Any) -> None:
    value = w.pick(lambda v: v.array.ndim > 0 and v.array.size > 0)
    index = w.pick(lambda v: v.type in ("i32", "ui32") and v.exact)
    if value is None or index is None:
        return
    axis = w.draw(st.integers(0, value.array.ndim - 1))
    array = np.take(value.array, _clamped(index.array, value.array.shape[axis] - 1), axis)
    array = np.moveaxis(array, range(axis, axis + index.array.ndim), range(index.array.ndim))
    if array.size > MAX_ELEMENTS:
        return
    types = f"{value.text}[{index.text}]"
    words = f"%{value.name}[%{index.name}] axes [{axis}]"
    w.add("gather", array, value.type, value.exact, lambda v: f"{words} : {types} -> {v.text}")


def _scatter(w: Any) -> None:
    value = w.pick(lambda v: v.array.ndim == 1 and v.type != "i1")
    index = w.pick(lambda v: v.type in ("i32", "ui32") and v.exact)
    if value is None or index is None:
        return
    updates = w.pick(lambda v: v.type == value.type and v.array.shape == index.array.shape)
    if updates is None:
        return
    kind, combine = w.draw(st.sampled_from([("set", None), ("max", np.maximum), ("min", np.minimum)]))
    array = value.array.copy()
    for at, update in zip(index.array.astype(np.int64).flat, updates.array.flat, strict=True):
        if 0 <= at < len(array):
            array[at] = update if combine is None else combine(array[at], update)
    words = f"%{value.name}[%{index.name}], %{updates.name} axes [0]"
    types = f"{value.text}[{index.text}], {updates.text}"
    w.add(f"scatter {kind}", array, value.type, value.exact and updates.exact, lambda v: f"{words} : {types}")


def _box(w: Any, value: Any) -> tuple[str, str, list[int], tuple[slice, ...]] | None:
    """Returns starts and their types as text, sizes, and where the box lies."""
    start = w.pick(lambda v: v.type in ("i32", "ui32") and v.exact and v.array.ndim == 0)
    if start is None:
        return None
    shape = value.array.shape
    sizes = [w.draw(st.integers(0, extent)) for extent in shape]
    first = [int(_clamped(start.array, extent - size)) for extent, size in zip(shape, sizes, strict=True)]
    place = tuple(slice(at, at + size) for at, size in zip(first, sizes, strict=True))
    starts = ", ".join([f"%{start.name}"] * len(shape))
    return starts, ", ".join([start.text] * len(shape)), sizes, place


def _dynamic_slice(w: Any) -> None:
    value = w.pick(lambda v: True)
    box = None if value is None else _box(w, value)
    if box is None:
        return
    starts, types, sizes, place = box
    words = f"%{value.name}[{starts}] sizes {sizes} : {value.text}[{types}]"
    w.add("dynamic_slice", value.array[place], value.type, value.exact, lambda v: words)


def _dynamic_update(w: Any) -> None:
    value = w.pick(lambda v: True)
    if value is None:
        return
    update = w.pick(
        lambda v: (
            v.type == value.type
            and v.array.ndim == value.array.ndim
            and all(a <= b for a, b in zip(v.array.shape, value.array.shape, strict=True))
        )
    )
    start = w.pick(lambda v: v.type in ("i32", "ui32") and v.exact and v.array.ndim == 0)
    if update is None or start is None:
        return
    array = value.array.copy()
    extents = list(zip(array.shape, update.array.shape, strict=True))
    first = [int(_clamped(start.array, extent - size)) for extent, size in extents]
    array[tuple(slice(at, at + size) for at, (_, size) in zip(first, extents, strict=True))] = update.array
    starts = ", ".join([f"%{start.name}"] * array.ndim)
    types = ", ".join([start.text] * array.ndim)
    words = f"%{value.name}[{starts}], %{update.name} : {value.text}[{types}], {update.text}"
    w.add("dynamic_update", array, value.type, value.exact and update.exact, lambda v: words)


def _sort(w: Any) -> None:
    value = w.pick(lambda v: v.exact and v.array.ndim > 0)
    if value is None:
        return
    axis = w.draw(st.integers(0, value.array.ndim - 1))
    words = f"%{value.name} axis {axis} : {value.text}"
    w.add("sort", np.sort(value.array, axis, kind="stable"), value.type, True, lambda v: words)


def _cumulate(w: Any) -> None:
    value = w.pick(lambda v: v.exact and v.array.ndim > 0 and v.type != "i1")
    if value is None:
        return
    axis = w.draw(st.integers(0, value.array.ndim - 1))
    kind, ufunc = w.draw(st.sampled_from([("max", np.maximum), ("min", np.minimum)]))
    if value.type in ("i32", "ui32") and w.draw(st.booleans()):
        kind, ufunc = "add", np.add
    array = ufunc.accumulate(value.array, axis, dtype=value.array.dtype)
    words = f"%{value.name} axis {axis} : {value.text}"
    w.add(f"cumulate {kind}", array, value.type, True, lambda v: words)


STEPS = (_gather, _gather, _scatter, _dynamic_slice, _dynamic_update, _sort, _cumulate)
"""Each adds one op, if there are values that it takes."""
