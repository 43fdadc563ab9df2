"""Sequences and optionals: lists of values that are known, whose arrays need not be."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ....errors import TenonError
from ... import numpy as tnp
from ...numpy.arguments.axes import axis_of
from ..graphs import Context
from ..registry import onnx_op
from ..values import Value, ints, is_known


def _sequence(value: Value, who: str) -> list[Value]:
    if not isinstance(value, list):
        raise TenonError(f"{who}: a tensor, expected a sequence")
    return list(cast("list[Value]", value))


def _position(context: Context, value: Value, count: int) -> int:
    """Returns where an element stands, of `count` places. Raises where that is not known, or none of them."""
    if not is_known(value):
        raise context.needs("the position", [value])
    position = int(ints(value)[0])
    if not -count <= position < count:
        raise TenonError(f"{context.who}: position {position} of {count} elements")
    return position % count


@onnx_op("SequenceConstruct", raw=True)
def sequence_construct(*values: Value) -> Value:
    return list(values)


@onnx_op("SequenceEmpty", raw=True)
def sequence_empty(*, dtype: int = 1) -> Value:
    return []


@onnx_op("SequenceAt", raw=True)
def sequence_at(sequence: Value, position: Value, *, context: Context) -> Value:
    values = _sequence(sequence, context.who)
    return values[_position(context, position, len(values))]


@onnx_op("SequenceInsert", raw=True)
def sequence_insert(sequence: Value, value: Value, position: Value = None, *, context: Context) -> Value:
    values = _sequence(sequence, context.who)
    place = len(values)
    if position is not None:
        # An element may also be put behind the last one.
        is_behind = is_known(position) and int(ints(position)[0]) == len(values)
        place = len(values) if is_behind else _position(context, position, len(values))
    return [*values[:place], value, *values[place:]]


@onnx_op("SequenceErase", raw=True)
def sequence_erase(sequence: Value, position: Value = None, *, context: Context) -> Value:
    values = _sequence(sequence, context.who)
    last = np.array(-1, np.int64)
    del values[_position(context, last if position is None else position, len(values))]
    return values


@onnx_op("SequenceLength", raw=True)
def sequence_length(sequence: Value, *, context: Context) -> Value:
    return np.array(len(_sequence(sequence, context.who)), np.int64)


@onnx_op("ConcatFromSequence", raw=True)
def concat_from_sequence(sequence: Value, *, axis: int, new_axis: int = 0, context: Context) -> Value:
    values = [context.lift(value) for value in _sequence(sequence, context.who)]
    if not values:
        raise TenonError(f"{context.who}: a sequence without elements")
    return tnp.stack(values, axis=axis) if new_axis else tnp.concat(values, axis=axis)


@onnx_op("SplitToSequence", raw=True)
def split_to_sequence(
    x: Value, split: Value = None, *, axis: int = 0, keepdims: int = 1, context: Context
) -> Value:
    """Parts of so many elements, of as many as `split` says, or of one, which may drop the axis."""
    source = context.lift(x)
    place = axis_of("SplitToSequence", axis, len(source.shape))
    extent = source.shape[place]
    if split is not None and not is_known(split):
        raise context.needs("input 'split'", [split])
    if split is None:
        sizes = [1] * extent
    elif split.ndim:
        sizes = list(ints(split))
    else:
        each = ints(split)[0]
        if each < 1:
            raise TenonError(f"{context.who}: parts of {each} elements")
        sizes = [each] * (extent // each) + [extent % each] * (extent % each > 0)
    if sum(sizes) != extent or min(sizes, default=0) < 0:
        raise TenonError(f"{context.who}: parts of {sizes} elements, axis {axis} has {extent}")
    found: list[Value] = []
    offset = 0
    for size in sizes:
        part = source[(*[slice(None)] * place, slice(offset, offset + size))]
        found.append(tnp.squeeze(part, place) if split is None and not keepdims else part)
        offset += size
    return found


@onnx_op("Optional", raw=True)
def optional(value: Value = None, *, type: Any = None) -> Value:
    return value


@onnx_op("OptionalHasElement", raw=True)
def optional_has_element(value: Value = None) -> Value:
    return np.array(value is not None)


@onnx_op("OptionalGetElement", raw=True)
def optional_get_element(value: Value = None, *, context: Context) -> Value:
    if value is None:
        raise TenonError(f"{context.who}: an optional without an element")
    return value
