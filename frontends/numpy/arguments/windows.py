"""Windows on the axes of arrays: what slices with traced ends are, and arrays brought to the same windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from ...arrays.array import Array
from ...tracing import graph_ops as ops
from ...tracing.slice_ends import End, array_of, bounds_of, clipped, end_of, number, of_extent
from ...tracing.trace import TracedArray
from ...tracing.traced_slice import TracedSlice, Window, refuse_slice, slice_text
from .axes import integer_of, is_known
from .index_plan import entries_of, parts_of
from .operands import INT64, is_integer, part_of

Windows = tuple[Window | None, ...]


@dataclass(frozen=True)
class SlicePlan:
    """What brackets with traced ends are: `index` of the whole axes, and the windows of what that gives."""

    index: tuple[Any, ...]
    windows: Windows


def has_traced_ends(index: object) -> bool:
    """Returns whether a slice with a traced end stands in brackets."""
    for part in parts_of(index):
        if isinstance(part, slice):
            entry = cast(Any, part)
            if isinstance(entry.start, TracedArray) or isinstance(entry.stop, TracedArray):
                return True
    return False


def plan_slices(who: str, x: TracedArray | TracedSlice, index: object) -> SlicePlan:
    """
    Returns what brackets with traced ends, or those of a slice that has such, ask for.

    Raises:
        IndexError: there are too many indices, or an end is no integer.
        TracingError: there is a step, an array of indices, or a part of what is a part already.
    """
    base, windows = (x.base, x.windows) if isinstance(x, TracedSlice) else (x, (None,) * len(x.shape))
    found: list[Any] = []
    left: list[Window | None] = []
    axis = 0
    for each in entries_of(who, base.shape, index):
        entry: Any = each
        if entry is None:
            found.append(None)
            left.append(None)
            continue
        window, extent = windows[axis], base.shape[axis]
        axis += 1
        if isinstance(entry, Array) and entry.shape:
            _refuse(who, x, base, windows, "an array of indices does not go with traced ends")
        if not isinstance(entry, slice):
            found.append(entry if window is None else _element(who, entry, window))
        elif window is None and not has_traced_ends(cast(object, entry)):
            found.append(entry)
            left.append(None)
        else:
            chosen = _window_of(who, base, cast(Any, entry), extent, window)
            if chosen is None:
                _refuse(who, x, base, windows, "a slice with traced ends has step 1 and is not cut again")
            found.append(slice(None))
            left.append(chosen)
    return SlicePlan(tuple(found), tuple(left))


def _refuse(who: str, x: object, base: TracedArray, windows: Windows, why: str) -> None:
    shown = x if isinstance(x, TracedSlice) else TracedSlice(base, windows)
    refuse_slice(shown, who, why, "slices of step 1 of the array itself, or tenon.numpy.take")


def _element(who: str, entry: Any, window: Window) -> TracedArray:
    """Returns where an element of a window is in its axis; those below 0 count from its end."""
    if isinstance(entry, int):
        index = number(entry) if entry >= 0 else window.length + number(entry)
        return array_of(window.place_of(index))
    index = end_of(entry) if isinstance(entry, TracedArray) else of_extent(entry)
    low, _ = bounds_of(index)
    if low is None or low < 0:
        value, zero = array_of(index), ops.full(0, INT64, ())
        from_end = ops.add(value, array_of(window.length))
        index = end_of(ops.select(ops.lt(value, zero), from_end, value))
    return array_of(window.place_of(index))


def _window_of(
    who: str, base: TracedArray, entry: slice[Any, Any, Any], extent: Any, window: Window | None
) -> Window | None:
    """Returns the window that a slice is, None for what there is no window for."""
    step = 1 if entry.step is None else integer_of(who, "a step of a slice", entry.step)
    if window is not None:
        if entry.start is not None or entry.stop is not None or step not in (1, -1):
            return None
        return Window(window.first, window.stop, window.backwards ^ (step == -1))
    if step != 1:
        return None
    first = number(0) if entry.start is None else clipped(_end(who, entry.start, base), extent)
    stop = of_extent(extent) if entry.stop is None else clipped(_end(who, entry.stop, base), extent)
    return Window(first, stop)


def _end(who: str, bound: Any, base: TracedArray) -> End:
    if isinstance(bound, TracedArray):
        if bound.shape or not is_integer(bound.dtype):
            raise IndexError(
                f"{who}: an end of a slice is {bound.dtype} of shape {bound.shape}, expected an integer"
            )
        bound.check_usable()
        return end_of(bound)
    return of_extent(bound) if not isinstance(bound, Array) else number(int(cast(Any, bound)))


def in_window(shape: Sequence[int], axis: int, window: Window) -> TracedArray | None:
    """Returns where along an axis of `shape` a window is; None where that is all."""
    index = ops.iota(axis, INT64, tuple(shape))
    found: TracedArray | None = None
    if window.first != number(0):
        found = ops.ge(index, ops.broadcast(array_of(window.first), shape))
    if window.stop != of_extent(shape[axis]):
        before = ops.lt(index, ops.broadcast(_held(window.stop, shape[axis]), shape))
        found = before if found is None else ops.and_(found, before)
    return found


def _held(stop: End, extent: Any) -> TracedArray:
    """
    Returns where a window ends, which is in the axis, as a number of which kernels see that too: they read
    what is in the window without moving indices into range.
    """
    return ops.min(array_of(stop), array_of(of_extent(extent)))


def mask_of(shape: Sequence[int], windows: Windows) -> TracedArray | None:
    """Returns where the windows on all axes are; None where that is all."""
    total: TracedArray | None = None
    for axis, window in enumerate(windows):
        found = None if window is None else in_window(shape, axis, window)
        if found is not None:
            total = found if total is None else ops.and_(total, found)
    return total


def masked(x: TracedArray, windows: Windows, other: Any) -> TracedArray:
    """Returns an array with `other` outside of its windows."""
    mask = mask_of(x.shape, windows)
    return x if mask is None else ops.select(mask, x, ops.full(other, x.dtype, x.shape))


def parts(x: Array) -> tuple[TracedArray, Windows]:
    """Returns a traced array or slice as the whole and its windows."""
    if isinstance(x, TracedSlice):
        x.check_usable()
        return x.base, x.windows
    assert isinstance(x, TracedArray), "an array outside of the trace"
    return x, (None,) * len(x.shape)


def slice_or_array(x: TracedArray, windows: Windows) -> Array:
    """Returns the part of an array in its windows: an array where their lengths are numbers."""
    windows = tuple(
        None if window is not None and _is_all(window, extent) else window
        for window, extent in zip(windows, x.shape, strict=True)
    )
    if all(window is None or window.length.known is not None for window in windows):
        return _boxed(x, windows)
    return TracedSlice(x, windows)


def _is_all(window: Window, extent: int) -> bool:
    return window == Window(number(0), of_extent(extent))


def _boxed(x: TracedArray, windows: Windows) -> TracedArray:
    if all(window is None for window in windows):
        return x
    starts = [ops.full(0, INT64, ()) if window is None else array_of(window.first) for window in windows]
    sizes = [
        extent if window is None else cast(int, window.length.known)
        for extent, window in zip(x.shape, windows, strict=True)
    ]
    found = ops.dynamic_slice(x, starts, sizes)
    turned = [axis for axis, window in enumerate(windows) if window is not None and window.backwards]
    return ops.flip(found, turned) if turned else found


def together_along(
    who: str, those: Sequence[tuple[TracedArray, int, Window | None]]
) -> tuple[list[TracedArray], Window | None]:
    """
    Returns arrays with what is in their windows along an axis each in the same places, and the window that
    this is, which counts from the front. None stands for the whole axis.

    Raises TracingError where the lengths are not known to be equal.
    """
    windows = [window for _, _, window in those if window is not None]
    if not windows:
        return [x for x, _, _ in those], None
    # Reversed slices are read backwards here, once: what is computed with them counts from the front.
    forward = [replace(window, backwards=False) for window in windows]
    wanted = next((window for window in windows if not window.backwards), forward[0])
    extent: Any = None
    for x, axis, window in those:
        found = x.shape[axis]
        if window in (wanted, replace(wanted, backwards=True)) and (
            extent is None or (is_known(found) and not extent < found)
        ):
            extent = found
    moved_arrays: list[TracedArray] = []
    for x, axis, window in those:
        place = Window(number(0), of_extent(x.shape[axis])) if window is None else window
        moved_arrays.append(_moved(who, x, axis, place, wanted, extent))
    return moved_arrays, wanted


def _moved(who: str, x: TracedArray, axis: int, window: Window, wanted: Window, extent: Any) -> TracedArray:
    """
    Returns an array whose elements in `window` along an axis stand in `wanted`, with `extent` elements there.
    """
    if window.length != wanted.length:
        refuse_slice(
            _shown(x, axis, window),
            who,
            "slices whose lengths are not known to be equal do not go together: the other is "
            f"{slice_text(_shown(x, axis, wanted))}",
            "ends that are written alike, as in a[:i] and b[:i], or tenon.numpy.where with a mask",
        )
    if x.shape[axis] == 0:
        return ops.full(0, x.dtype, (*x.shape[:axis], extent, *x.shape[axis + 1 :]))
    is_turned = window.backwards  # `wanted` counts from the front.
    offset = window.first - wanted.first
    if not is_turned and offset == number(0):
        known = is_known(x.shape[axis]) and is_known(extent)
        if x.shape[axis] == extent or (known and x.shape[axis] > extent):
            return part_of(x, axis, 0, extent)
    index = ops.iota(0, INT64, (extent,))
    if is_turned:
        before_stop = array_of(wanted.first - number(1))
        last = ops.add(_held(window.stop, x.shape[axis]), before_stop)
        index = ops.sub(ops.broadcast(last, (extent,)), index)
    elif offset != number(0):
        index = ops.add(index, ops.broadcast(array_of(offset), (extent,)))
    found = ops.gather(x, (index,), (axis,))
    order = (*range(1, axis + 1), 0, *range(axis + 1, len(x.shape)))
    return ops.permute(found, order) if axis else found


def _shown(x: TracedArray, axis: int, window: Window) -> TracedSlice:
    return TracedSlice(x, tuple(window if at == axis else None for at in range(len(x.shape))))


def aligned(who: str, arrays: Sequence[Array]) -> tuple[list[TracedArray], Windows]:
    """
    Returns arrays, which broadcast, with their windows in the same places, and the windows of what is
    computed with them.

    Raises TracingError where the lengths along an axis are not known to be equal.
    """
    pairs = [parts(x) for x in arrays]
    rank = max(len(windows) for _, windows in pairs)
    bases = [base for base, _ in pairs]
    result: list[Window | None] = [None] * rank
    for back in range(1, rank + 1):
        those = [
            (at, len(windows) - back, windows[-back])
            for at, (base, windows) in enumerate(pairs)
            if len(windows) >= back and (windows[-back] is not None or base.shape[-back] != 1)
        ]
        found, result[-back] = together_along(who, [(bases[at], axis, window) for at, axis, window in those])
        for (at, _, _), base in zip(those, found, strict=True):
            bases[at] = base
    return bases, tuple(result)


def count_of(x: TracedSlice, axes: Sequence[int]) -> TracedArray:
    """Returns how many elements there are along axes of a slice."""
    total = ops.full(1, INT64, ())
    for axis in axes:
        window = x.windows[axis]
        extent = of_extent(x.base.shape[axis]) if window is None else window.length
        total = ops.mul(total, array_of(extent))
    return total


def brought_to(
    who: str, values: Array, windows: Windows, shape: Sequence[int]
) -> tuple[TracedArray, TracedArray | None]:
    """
    Returns values, which broadcast to what lies in the windows of an array of `shape`, with each where it
    goes, and where the windows are.

    Raises TracingError where the lengths along an axis are not known to be equal.
    """
    base, those = parts(values)
    for back in range(1, min(len(those), len(shape)) + 1):
        axis, given, wanted = len(those) - back, those[-back], windows[-back]
        if given is None and (wanted is None or base.shape[axis] == 1):
            continue
        given = Window(number(0), of_extent(base.shape[axis])) if given is None else given
        wanted = Window(number(0), of_extent(shape[-back])) if wanted is None else wanted
        base = _moved(who, base, axis, given, wanted, shape[-back])
    return base, mask_of(shape, windows)
