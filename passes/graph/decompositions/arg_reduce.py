"""`graph.arg_reduce` in reductions and elementwise ops."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, i1, i32, i64
from xdsl.ir import Operation, SSAValue

from ....dialects import graph
from ....dialects.dims.expressions import Extent, upper_bound
from ....dialects.element_types import element_type_of, is_float
from ....dialects.graph import MemoryModeAttr, ReduceKind, tensor_of
from ....dialects.graph.collectives import RANK
from ....dialects.graph.types import is_symbolic, shape_of, tensor_type_of
from ....dialects.memory_modes import ModeKind
from ....dialects.sharding import Mesh
from ..builder import GraphBuilder
from ..split_reductions import LEAST_ELEMENTS, cut

LEAST_IN_PART = 1 << 12
"""A part of fewer elements is looked at in less time than its extremum takes among those of all parts."""

MOST_PARTS = 1 << 10
"""The extrema of as many parts are looked at one by one, in a hundredth of what so many parts take."""

_LAST_I32 = (1 << 31) - 1
_LAST_I64 = (1 << 63) - 1


def decompose_arg_reduce(b: GraphBuilder, op: Operation) -> SSAValue:
    """
    `arg_reduce max x --> reduce min (select (x == reduce max x, iota, greatest index))`, where a NaN counts
    as equal: the greatest is NaN if there is one, and equal to nothing. Of many elements, the extrema of
    parts tell the part to look at; where ranks have parts, each looks at its own.
    """
    assert isinstance(op, graph.ArgReduceOp)
    type, axis = tensor_type_of(op.source, op.name), op.axis.data
    extent = shape_of(type)[axis]
    if isinstance(extent, int) and prod(shape_of(type)) == extent:
        if _is_of_ranks(op):
            return _of_all(b, op, extent)
        if extent >= LEAST_ELEMENTS:
            return _of_parts(b, op, extent)
    extremum = b.add(graph.ReduceOp(_kind(op), op.source, (axis,), keep=True), "extremum")
    everywhere = b.add(graph.BroadcastOp(extremum, type))
    is_hit = _hits(b, op.source, everywhere)
    # Twice as many indices of 32 bits fit a vector.
    index_type = i32 if extent != DYNAMIC_INDEX and upper_bound(extent) <= _LAST_I32 else i64
    indices = b.add(graph.IotaOp(axis, tensor_of(index_type, shape_of(type))), "index")
    last = b.splat_like(_LAST_I32 if index_type is i32 else _LAST_I64, indices)
    candidates = b.add(graph.SelectOp(is_hit, indices, last), "candidate")
    first = b.add(graph.ReduceOp(ReduceKind.MIN, candidates, (axis,), keep=op.keep is not None), "first")
    return b.cast(first, i64)


def _kind(op: graph.ArgReduceOp) -> ReduceKind:
    is_max = op.kind.data is graph.Extremum.MAX
    if element_type_of(op.source.type) == i1:
        return ReduceKind.OR if is_max else ReduceKind.AND
    return ReduceKind.MAX if is_max else ReduceKind.MIN


def _hits(b: GraphBuilder, source: SSAValue, everywhere: SSAValue) -> SSAValue:
    """Returns which elements are the extremum, which is `everywhere`."""
    is_hit = b.add(graph.EqOp(source, everywhere), "hit")
    if is_float(b.element_type(source)):
        is_hit = b.add(graph.OrOp(is_hit, b.add(graph.NeOp(source, source), "nan")), "hit")
    return is_hit


def _is_of_ranks(op: Operation) -> bool:
    """Returns whether an op is of a program that several ranks will have parts of."""
    above = op
    while (parent := above.parent_op()) is not None:
        if isinstance(parent, graph.ManualComputationOp):
            return False  # It has parts.
        above = parent
    grid = Mesh.of(above) if isinstance(above, ModuleOp) and RANK not in above.attributes else None
    return grid is not None and grid.size > 1


def _of_all(b: GraphBuilder, op: graph.ArgReduceOp, extent: int) -> SSAValue:
    """
    Looks for the extremum of all elements in the shape that they had before they were put in one axis, which
    is the one that is split: whatever dim is, ranks combine one extremum and one place. Equal parts of the
    one axis begin elsewhere than the parts of ranks, which would send the elements between.
    """
    source = op.source
    while isinstance(source.owner, graph.ReshapeOp):
        before = source.owner.source
        if is_symbolic(tensor_type_of(before, op.name)):
            break
        source = before
    type = tensor_type_of(source, op.name)
    shape = type.get_shape()
    axes = tuple(range(len(shape)))
    extremum = b.add(graph.ReduceOp(_kind(op), source, axes, keep=True), "extremum")
    is_hit = _hits(b, source, b.add(graph.BroadcastOp(extremum, type)))
    index_type = i32 if extent <= _LAST_I32 else i64
    place: SSAValue | None = None
    for axis in axes:
        index = b.add(graph.IotaOp(axis, tensor_of(index_type, shape)), "index")
        stride = prod(shape[axis + 1 :])
        if stride > 1:
            index = b.add(graph.MulOp(index, b.splat_like(stride, index)))
        place = index if place is None else b.add(graph.AddOp(place, index), "place")
    assert place is not None, f"{op.name}: elements without an axis"
    last = b.splat_like(_LAST_I32 if index_type is i32 else _LAST_I64, place)
    candidates = b.add(graph.SelectOp(is_hit, place, last), "candidate")
    first = b.add(graph.ReduceOp(ReduceKind.MIN, candidates, axes), "first")
    return _reshaped(b, b.cast(first, i64), shape_of(op.result.type))


def _of_parts(b: GraphBuilder, op: graph.ArgReduceOp, extent: int) -> SSAValue:
    """
    Looks for the extremum of one axis in the first part whose own it is. What is left over after equal parts
    is one more; it is looked at with elements before it, none of which is the extremum then.
    """
    _, count = cut([extent], LEAST_IN_PART, MOST_PARTS)
    length, rest = extent // count, extent % count
    whole = length * count
    source = _reshaped(b, op.source, (extent,))
    parts = _reshaped(b, _slice(b, source, 0, whole) if rest else source, (count, length))
    partial = graph.ReduceOp(_kind(op), parts, (1,))
    partial.attributes["memory_mode"] = MemoryModeAttr(ModeKind.MATERIALIZED, f"extrema of {count} parts")
    extrema = b.add(partial, "extremum_partial")
    if rest:
        last = b.add(graph.ReduceOp(_kind(op), _slice(b, source, whole, rest), (0,), keep=True))
        extrema = b.add(graph.ConcatOp([extrema, last], 0))
    part = b.add(graph.ArgReduceOp(op.kind.data, extrema, 0), "part")
    begin = b.add(graph.MulOp(part, b.scalar(length, i64)))
    if rest:
        begin = b.add(graph.MinOp(begin, b.scalar(extent - length, i64)))
    seen = b.add(graph.DynamicSliceOp(source, [begin], [length]))
    within = b.add(graph.ArgReduceOp(op.kind.data, seen, 0))
    return _reshaped(b, b.add(graph.AddOp(begin, within), "first"), shape_of(op.result.type))


def _slice(b: GraphBuilder, value: SSAValue, begin: int, count: int) -> SSAValue:
    return b.add(graph.SliceOp(value, [begin], [count], [1]))


def _reshaped(b: GraphBuilder, value: SSAValue, shape: Sequence[Extent]) -> SSAValue:
    type = tensor_of(b.element_type(value), tuple(shape))
    return value if value.type == type else b.add(graph.ReshapeOp(value, type))
