"""
Copies of arrays with other elements at an index: `x.at[index].set(values)` and the like.

An index may be all that `x[index]` takes. Of several values for one element `set` takes the last in row-major
order, and the others combine all. Indices that have values are checked; updates at indices of traced arrays
that are out of range, after negative ones were counted from the end, are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from ..arrays.array import Array
from ..arrays.promotion import result_type
from ..calls.dispatch import array_function
from ..tracing import graph_ops as ops
from ..tracing.leaves import lift
from ..tracing.trace import TracedArray, current_trace
from ..tracing.traced_slice import TracedSlice, refuse_slice
from .arguments.axes import is_known
from .arguments.index_plan import Box, IndexPlan, check_mask, parts_of, plan_index
from .arguments.operands import (
    BOOL,
    INT64,
    Operand,
    array_of,
    extent_like,
    no_loop,
    operands,
    reshaped,
    scalar_like,
    together,
)
from .arguments.windows import brought_to, has_traced_ends, plan_slices
from .indexing import ArrayLike, box_of, get_item, wrapped

__all__ = ["IndexUpdate"]

_COMBINED: dict[str, Callable[[TracedArray, TracedArray], TracedArray]] = {
    "set": lambda old, new: new,
    "add": ops.add,
    "mul": ops.mul,
    "max": ops.max,
    "min": ops.min,
}


class IndexUpdate:
    """
    What `x.at` is: `x.at[index]` has the methods that make a copy of `x` with other elements at the index.
    """

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = array

    def __getitem__(self, index: object) -> UpdateAt:
        return UpdateAt(self.array, index)

    def __repr__(self) -> str:
        return f"<at of {self.array!r}>"


class UpdateAt:
    """Copies of an array with other elements at an index. The methods leave the array as it is."""

    __slots__ = ("array", "index")

    def __init__(self, array: Array, index: object) -> None:
        self.array = array
        self.index = index

    def get(self) -> Array:
        """Returns the elements at the index."""
        return get_item(self.array, self.index)

    def set(self, values: Operand) -> Array:
        """
        Returns the array with `values`, which broadcast, at the index.

        Raises:
            IndexError: the index is wrong.
            ValueError: `values` do not broadcast to what is there.
            TypeError: `values` are of a higher kind of dtype than the array.
        """
        return _updated("set", self.array, self.index, values)

    def add(self, values: Operand) -> Array:
        """Returns the array with `values` added at the index; all of them where an element is there twice."""
        return _updated("add", self.array, self.index, values)

    def subtract(self, values: Operand) -> Array:
        """Returns the array with `values` subtracted at the index."""
        return _updated("add", self.array, self.index, values, negated=True)

    def multiply(self, values: Operand) -> Array:
        """Returns the array with its elements at the index multiplied by `values`."""
        return _updated("mul", self.array, self.index, values)

    def max(self, values: Operand) -> Array:
        """Returns the array with the greater of its elements at the index and `values` there; NaN wins."""
        return _updated("max", self.array, self.index, values)

    def min(self, values: Operand) -> Array:
        """Returns the array with the lesser of its elements at the index and `values` there; NaN wins."""
        return _updated("min", self.array, self.index, values)


def _updated(kind: str, x: Array, index: object, values: Operand, negated: bool = False) -> Array:
    if isinstance(values, TracedSlice) or has_traced_ends(index):
        return _windowed(kind, x, index, values, negated)
    mask = _only_mask(index)
    if mask is not None and mask.shape:
        check_mask("at", x.shape, 0, mask)
        rank = len(x.shape) - len(mask.shape)
        shape: tuple[int, ...] = getattr(values, "shape", ())
        if len(shape) <= rank:
            return _masked(x, mask, values, kind, negated)
        if isinstance(mask, TracedArray):
            raise ValueError(
                f"at: values of shape {shape} for a mask that is traced: how many of them there are "
                f"is not known (at most {rank} dimensions, hint: tenon.numpy.where(mask, values, x))"
            )
    is_eager = current_trace() is None
    plan, arrays = plan_index("at", x.shape, index, integers_as_arrays=is_eager)
    return _put(x, arrays, values, None, plan, kind, negated)


def _windowed(kind: str, x: Array, index: object, values: Operand, negated: bool) -> Array:
    """Returns what `_updated` does where an end of a slice in the index, or of the values, is traced."""
    trace = current_trace()
    if isinstance(x, TracedSlice):
        refuse_slice(x, "at", "a slice with traced ends is not updated itself", "x.at[...] of the array")
    assert trace is not None, "a slice with traced ends outside of a trace"
    source = lift(trace, x, "at")
    plan = plan_slices("at", source, index)
    given = values if isinstance(values, TracedSlice) else lift(trace, values, "at: the values")
    boxes, arrays = plan_index("at", source.shape, plan.index)
    new, mask = brought_to("at", given, plan.windows, boxes.shape(()))
    return _put(source, arrays, new, mask, boxes, kind, negated)


def _only_mask(index: object) -> ArrayLike | None:
    """Returns the mask that an index consists of, if it does."""
    parts = parts_of(index)
    found = parts[:-1] if len(parts) == 2 and parts[-1] is Ellipsis else parts
    mask: Any = found[0] if len(found) == 1 else None
    is_mask = isinstance(mask, Array | np.ndarray) and cast(Any, mask).dtype == BOOL
    return cast(ArrayLike, mask) if is_mask else None


def _prepared(kind: str, x: Array, values: Operand, negated: bool) -> tuple[TracedArray, TracedArray]:
    """Returns the array and the values in its dtype. Raises TypeError where that does not hold them."""
    (source,) = operands("at", x)
    if result_type(source, values) != source.dtype:
        assert isinstance(values, TracedArray)
        raise TypeError(
            f"at: values of dtype {values.dtype} do not fit an array of dtype {source.dtype} "
            f"(hint: values.astype, or x.astype)"
        )
    if source.dtype == BOOL and kind != "set":
        raise no_loop("at", source.dtype, hint="only set is for booleans")
    new = array_of(values, source.dtype)
    return source, ops.neg(new) if negated else new


@array_function(static=("kind", "negated"))
def _masked(x: Array, mask: ArrayLike, values: Operand, kind: str, negated: bool) -> Array:
    source, new = _prepared(kind, x, values, negated)
    (choice,) = operands("at", mask)
    choice = reshaped(choice, (*choice.shape, *(1,) * (len(source.shape) - len(choice.shape))))
    new = _repeated(new, source.shape, source)
    return ops.select(ops.broadcast(choice, source.shape), _COMBINED[kind](source, new), source)


def _repeated(new: TracedArray, shape: tuple[int, ...], x: TracedArray) -> TracedArray:
    """Returns values repeated to `shape`; they may have further dims of extent 1 at the front."""
    surplus = max(len(new.shape) - len(shape), 0)
    if all(extent == 1 for extent in new.shape[:surplus]):
        values = reshaped(new, new.shape[surplus:])
        pairs = zip(values.shape, shape[len(shape) - len(values.shape) :], strict=True)
        if all(extent in (1, wanted) for extent, wanted in pairs):
            return ops.broadcast(values, shape)
    raise ValueError(
        f"at: could not broadcast values of shape {new.shape} to what is indexed, of shape {shape} "
        f"(array of shape {x.shape})"
    )


@array_function(static=("plan", "kind", "negated"))
def _put(
    x: Array,
    arrays: Sequence[ArrayLike],
    values: Operand,
    mask: ArrayLike | None,
    plan: IndexPlan,
    kind: str,
    negated: bool,
) -> Array:
    source, new = _prepared(kind, x, values, negated)
    box = plan.box
    kept = [axis for axis in range(len(box.sizes)) if axis not in plan.dropped]
    axes = [kept.index(axis) for axis in plan.indexed]
    indices = [wrapped(each, source.shape[axis]) for each, axis in zip(arrays, plan.indexed, strict=True)]
    indices = together("at", indices) if indices else []
    shape = indices[0].shape if indices else ()
    new = _repeated(new, plan.shape(shape), source)
    if new.size == 0:
        return source
    if shape and plan.at:
        count, at = len(shape), plan.at
        new = ops.permute(new, (*range(at, at + count), *range(at), *range(at + count, len(new.shape))))
    rest = tuple(box.sizes[axis] for axis in kept if axis not in plan.indexed)
    inside = None if mask is None else operands("at", mask)[0]
    if not shape and (_is_dense(box) or _is_static(source, box)):
        return _with_part(source, indices, new, inside, plan, kind)
    part = box_of(source, box)
    new = reshaped(new, (*shape, *rest))
    if indices:
        part = reshaped(part, tuple(box.sizes[axis] for axis in kept))
        part = reshaped(ops.scatter(kind, part, indices, new, axes), box.sizes)
    else:
        found = _COMBINED[kind](part, reshaped(new, box.sizes))
        part = found if inside is None else ops.select(reshaped(inside, box.sizes), found, part)
    return _with_box(source, part, box)


def _with_part(
    x: TracedArray,
    indices: Sequence[TracedArray],
    new: TracedArray,
    mask: TracedArray | None,
    plan: IndexPlan,
    kind: str,
) -> TracedArray:
    """
    Returns `x` with other elements in a box, which integers, traced ones too, and slices say.
    It stays as it is where an index is out of range, and outside of `mask`.
    """
    box = plan.box
    at = dict(zip(plan.indexed, indices, strict=True))
    sizes = tuple(1 if axis in at else size for axis, size in enumerate(box.sizes))
    new = reshaped(new, sizes)
    starts = _starts(box, at)
    if box.flipped:
        new = ops.flip(new, box.flipped)
    if kind != "set" or indices or mask is not None:
        old = _part(x, box, at, starts, sizes)
        new = _COMBINED[kind](old, new)
        if mask is not None:
            inside = reshaped(mask, sizes)
            new = ops.select(ops.flip(inside, box.flipped) if box.flipped else inside, new, old)
        for axis, index in at.items():
            last = extent_like(index, x.shape[axis] - 1)
            inside = ops.and_(ops.ge(index, scalar_like(index, 0)), ops.le(index, last))
            new = ops.select(ops.broadcast(inside, sizes), new, old)
    return ops.dynamic_update(x, starts, new, box.strides)


def _is_dense(box: Box) -> bool:
    return all(stride == 1 for stride in box.strides)


def _is_static(x: TracedArray, box: Box) -> bool:
    return all(map(is_known, (*x.shape, *box.offsets, *box.sizes)))


def _starts(box: Box, at: Mapping[int, TracedArray]) -> list[TracedArray]:
    """Returns where a box begins along each axis, of which integers say some."""
    number = ops.full(0, INT64, ())
    return [
        ops.cast(at[axis], INT64) if axis in at else extent_like(number, offset)
        for axis, offset in enumerate(box.offsets)
    ]


def _part(
    x: TracedArray,
    box: Box,
    at: Mapping[int, TracedArray],
    starts: Sequence[TracedArray],
    sizes: tuple[int, ...],
) -> TracedArray:
    """Returns what is in a box, of which integers say some axes."""
    if sizes == x.shape and not at:
        return x
    if not _is_dense(box):
        part = box_of(x, Box(box.offsets, box.sizes, box.strides, ()))
        return ops.dynamic_slice(part, _starts(_whole(part), at), sizes) if at else part
    if all(map(is_known, sizes)):
        return ops.dynamic_slice(x, starts, sizes)
    part = box_of(x, Box(box.offsets, box.sizes, box.strides, ()))
    return reshaped(ops.gather(part, [*at.values()], [*at]) if at else part, sizes)


def _with_box(x: TracedArray, part: TracedArray, box: Box) -> TracedArray:
    """Returns `x` with other elements in a box."""
    if box.flipped:
        part = ops.flip(part, box.flipped)
    if box.sizes == x.shape:
        return part
    if _is_dense(box) or _is_static(x, box):
        return ops.dynamic_update(x, _starts(box, {}), part, box.strides)
    return _scattered(x, part, box)


def _whole(x: TracedArray) -> Box:
    rank = len(x.shape)
    return Box((0,) * rank, x.shape, (1,) * rank, ())


def _scattered(x: TracedArray, part: TracedArray, box: Box) -> TracedArray:
    """Returns what `_with_box` does, where the box or the array is of extents that are known at each call."""
    axes = [axis for axis, size in enumerate(box.sizes) if size != x.shape[axis]]
    shape = tuple(box.sizes[axis] for axis in axes)
    indices: list[TracedArray] = []
    for position, axis in enumerate(axes):
        index = ops.iota(position, INT64, shape)
        index = ops.mul(index, scalar_like(index, box.strides[axis]))
        indices.append(ops.add(index, extent_like(index, box.offsets[axis])))
    rest = [axis for axis in range(len(box.sizes)) if axis not in axes]
    return ops.scatter("set", x, indices, ops.permute(part, (*axes, *rest)), axes)
