"""
Ops that only move elements, written for what is wanted of their results.

Each asks its operands for the indices that these elements come from, and for no others: what a chain of
slices, pads and flips asks of the value behind it is what a rank lacks of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, i64
from xdsl.dialects.shard import ShardOp
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects import graph
from ....dialects.dims.expressions import Extent
from ....dialects.element_types import element_type_of, is_float, is_unsigned, width_of
from ....dialects.graph import tensor_of
from ....dialects.graph.types import shape_of
from ....dialects.sharding import Interval
from ....dialects.sharding.blocks import within
from ....semantics.numpy_types import array_of, dense_of
from ..part import Part, Wants
from ..program import RankProgram, View

_NONE: Interval = (0, 0)


def _asked(
    program: RankProgram, source: SSAValue, dim: int, want: Part | None, extent: Extent
) -> Part | None:
    """
    Returns what is wanted of a dim of a result that is not the source's: None only where the source's dim is
    whole on every rank.
    """
    if want is not None or not program.home(source).split[dim]:
        return want
    assert isinstance(extent, int), f"a dim of {extent} is split"
    return Part((), ((0, extent),))


def _box(program: RankProgram, shape: tuple[Extent, ...], wants: Wants) -> tuple[tuple[Extent, Extent], ...]:
    """Returns the indices of each dim that this rank wants."""
    return tuple(
        (0, extent) if want is None else program.mine(want) for extent, want in zip(shape, wants, strict=True)
    )


def _wanted_type(program: RankProgram, value: SSAValue, wants: Wants) -> TensorType[Any]:
    box = _box(program, program.shape(value), wants)
    return tensor_of(element_type_of(value.type), tuple(end - begin for begin, end in box))


def _slice(program: RankProgram, op: Operation, wants: Wants) -> SSAValue:
    assert isinstance(op, graph.SliceOp)
    asked: list[Part | None] = []
    offsets, sizes = list(op.offsets.data), list(op.sizes.data)
    for dim, (extent, want) in enumerate(zip(program.shape(op.result), wants, strict=True)):
        part = _asked(program, op.source, dim, want, extent)
        asked.append(None)
        if part is not None:
            offset, stride = op.offsets.data[dim], op.strides.data[dim]
            assert isinstance(offset, int), f"a dim that is sliced from {offset} is split"
            intervals = tuple(
                (offset + begin * stride, offset + (end - 1) * stride + 1) if end > begin else _NONE
                for begin, end in part.intervals
            )
            asked[dim] = Part(part.axes, intervals)
            begin, end = program.mine(part)
            offsets[dim], sizes[dim] = 0, end - begin
    if isinstance((padded := _behind(program, op.source)).owner, graph.PadOp):
        program.sliced(padded, tuple(asked))
    source = program.local(op.source, tuple(asked))
    if tuple(sizes) == program.shape(source):
        return source
    return program.add(graph.SliceOp(source, offsets, sizes, op.strides))


def _pad(program: RankProgram, op: Operation, wants: Wants) -> SSAValue:
    assert isinstance(op, graph.PadOp)
    asked: list[Part | None] = []
    lows, highs = list(op.low.data), list(op.high.data)
    before = program.shape(op.source)
    for dim, (extent, want) in enumerate(zip(program.shape(op.result), wants, strict=True)):
        part = _asked(program, op.source, dim, want, extent)
        asked.append(None)
        if part is not None:
            count, step, low = before[dim], op.steps[dim], op.low.data[dim]
            assert isinstance(count, int), f"a dim of {count} is split"
            intervals = tuple(_elements(interval, count, step, low) for interval in part.intervals)
            asked[dim] = Part(part.axes, intervals)
            (begin, end), (first, last) = program.mine(part), program.mine(asked[dim] or part)
            lows[dim], highs[dim] = low + first * step - begin, end - (low + (last - 1) * step) - 1
    source = program.local(op.source, tuple(asked))
    value = program.local(op.value)
    if any(part is not None and program.mine(part) == _NONE for part in asked):
        return program.add(graph.BroadcastOp(value, _wanted_type(program, op.result, wants)))
    if source.type == _wanted_type(program, op.result, wants):
        return source
    return program.add(graph.PadOp(source, value, lows, highs, op.interior))


def _elements(interval: Interval, count: int, step: int, low: int) -> Interval:
    """Returns which of the padded elements lie in some indices of the result."""
    begin, end = interval
    first = max(-((low - begin) // step), 0)
    last = min((end - 1 - low) // step + 1, count)
    return (first, last) if first < last else _NONE


def _flip(program: RankProgram, op: Operation, wants: Wants) -> SSAValue:
    assert isinstance(op, graph.FlipOp)
    asked = list(wants)
    for dim in op.axes.data:
        want, extent = wants[dim], program.shape(op.source)[dim]
        if want is not None and isinstance(extent, int):
            intervals = tuple(
                (extent - end, extent - begin) if end > begin else _NONE for begin, end in want.intervals
            )
            asked[dim] = Part(want.axes, intervals)
    return program.add(graph.FlipOp(program.local(op.source, tuple(asked)), op.axes))


def _concat(program: RankProgram, op: Operation, wants: Wants) -> SSAValue:
    assert isinstance(op, graph.ConcatOp)
    axis, asked_of = op.axis.data, list[Wants]()
    begins: Extent = 0
    for source in op.inputs:
        extent = program.shape(source)[axis]
        want = wants[axis]
        asked = list(wants)
        if want is not None:
            assert isinstance(begins, int) and isinstance(extent, int), f"a dim of {extent} is split"
            asked[axis] = Part(want.axes, tuple(within(each, begins, extent) for each in want.intervals))
        begins = begins + extent
        asked_of.append(tuple(asked))
    pieces = _of_one_value(program, op, asked_of)
    if pieces is None:
        pieces = [program.local(source, asked) for source, asked in zip(op.inputs, asked_of, strict=True)]
    return program.concat(pieces, axis)


def _of_one_value(program: RankProgram, op: graph.ConcatOp, asked: Sequence[Wants]) -> list[SSAValue] | None:
    """
    Returns what is wanted of inputs that are all slices of one value along the axis, as those of a roll are,
    fetched together; None where they are not, or where other dims of the value are split than is wanted.
    """
    axis, whole = op.axis.data, set[SSAValue]()
    wants: list[Part] = []
    for given, want in zip(op.inputs, asked, strict=True):
        source = _behind(program, given)
        cut, part = source.owner, want[axis]
        if not isinstance(cut, graph.SliceOp) or part is None:
            return None
        whole.add(base := _behind(program, cut.source))
        home = program.wants(base)
        offset = cut.offsets.data[axis]
        is_same = all(
            program.shape(base)[dim] == program.shape(source)[dim] and want[dim] == home[dim]
            for dim in range(len(home))
            if dim != axis
        )
        if (
            len(whole) > 1
            or home[axis] is None
            or not isinstance(offset, int)
            or cut.strides.data[axis] != 1
            or not is_same
        ):
            return None
        wants.append(
            Part(
                part.axes,
                tuple(
                    (offset + begin, offset + end) if end > begin else _NONE for begin, end in part.intervals
                ),
            )
        )
    (base,) = whole
    own = program.wants(base)[axis]
    if program.is_view(base) or own is None:
        return None
    return program.fetch_pieces(program.local(base), axis, own, wants)


def _behind(program: RankProgram, value: SSAValue) -> SSAValue:
    """Returns the value that annotations stand before which leave it split as it is."""
    while isinstance(owner := value.owner, ShardOp) and program.home(owner.src) == program.home(value):
        value = owner.src
    return value


def _permute(program: RankProgram, op: Operation, wants: Wants) -> SSAValue:
    assert isinstance(op, graph.PermuteOp)
    asked: list[Part | None] = [None] * len(wants)
    for want, dim in zip(wants, op.permutation.data, strict=True):
        asked[dim] = want
    return program.add(graph.PermuteOp(program.local(op.source, tuple(asked)), op.permutation))


def _broadcast(program: RankProgram, op: Operation, wants: Wants) -> SSAValue:
    assert isinstance(op, graph.BroadcastOp)
    before, after = program.shape(op.source), program.shape(op.result)
    added = len(after) - len(before)
    asked = tuple(
        want if extent == whole else None
        for extent, whole, want in zip(before, after[added:], wants[added:], strict=True)
    )
    source = program.local(op.source, asked)
    type = _wanted_type(program, op.result, wants)
    return source if source.type == type else program.add(graph.BroadcastOp(source, type))


def _constant(program: RankProgram, op: Operation, wants: Wants) -> SSAValue:
    assert isinstance(op, graph.ConstantOp)
    type = _wanted_type(program, op.result, wants)
    if type == op.result.type:
        return program.add(graph.ConstantOp(op.value))
    if op.value.is_splat():
        (value, *_) = op.value.iter_values()
        one = DenseIntOrFPElementsAttr.from_list(tensor_of(type.element_type, ()), (value,))
        return program.add(graph.BroadcastOp(program.add(graph.ConstantOp(one)), type))
    array = array_of(op.value)
    box = _box(program, array.shape, wants)
    mine = array[tuple(slice(begin, end) for begin, end in box if isinstance(begin, int))]
    return program.add(graph.ConstantOp(dense_of(mine, type)))


def _iota(program: RankProgram, op: Operation, wants: Wants) -> SSAValue:
    assert isinstance(op, graph.IotaOp)
    type, axis = _wanted_type(program, op.result, wants), op.axis.data
    begin = _box(program, program.shape(op.result), wants)[axis][0]
    if not begin:
        return program.add(graph.IotaOp(axis, type))
    element = type.element_type
    # Floats are rounded once: what is added to a rounded index may not be the index.
    numbers = i64 if is_float(element) else element
    own = tensor_of(numbers, shape_of(type))
    assert isinstance(begin, int), f"a dim that begins at {begin} is split"
    moved = program.add(
        graph.AddOp(program.add(graph.IotaOp(axis, own)), program.splat(_wrapped(begin, numbers), own))
    )
    return moved if own == type else program.add(graph.CastOp(moved, type))


def _wrapped(value: int, type: Attribute) -> int:
    """Returns the integer of a type that has the low bits of another."""
    width = width_of(type)
    low = value % (1 << width)
    return low if is_unsigned(type) or low < 1 << (width - 1) else low - (1 << width)


VIEWS: dict[type[Operation], View] = {
    graph.SliceOp: _slice,
    graph.PadOp: _pad,
    graph.FlipOp: _flip,
    graph.ConcatOp: _concat,
    graph.PermuteOp: _permute,
    graph.BroadcastOp: _broadcast,
    graph.ConstantOp: _constant,
    graph.IotaOp: _iota,
}
"""What writes each op that only moves elements, or makes them of their indices."""
