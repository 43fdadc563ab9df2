"""`graph.arg_reduce` and `graph.logsumexp` in reductions and elementwise ops."""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, i1, i32, i64
from xdsl.ir import Operation, SSAValue

from ....dialects import graph
from ....dialects.dims.expressions import upper_bound
from ....dialects.element_types import compute_type, is_float
from ....dialects.graph import ReduceKind, tensor_of
from ....dialects.graph.types import shape_of, tensor_type_of
from ..builder import GraphBuilder
from .rule import Rule

_LAST_I32 = (1 << 31) - 1
_LAST_I64 = (1 << 63) - 1


def decompose_arg_reduce(b: GraphBuilder, op: Operation) -> SSAValue:
    """
    `arg_reduce max x --> reduce min (select (x == reduce max x, iota, greatest index))`, where a NaN counts
    as equal: the greatest is NaN if there is one, and equal to nothing.
    """
    assert isinstance(op, graph.ArgReduceOp)
    source, axis = op.source, op.axis.data
    type = tensor_type_of(source, op.name)
    is_max = op.kind.data is graph.Extremum.MAX
    if type.element_type == i1:
        kind = ReduceKind.OR if is_max else ReduceKind.AND
    else:
        kind = ReduceKind.MAX if is_max else ReduceKind.MIN
    extremum = b.add(graph.ReduceOp(kind, source, (axis,), keep=True), "extremum")
    everywhere = b.add(graph.BroadcastOp(extremum, type))
    is_hit = b.add(graph.EqOp(source, everywhere), "hit")
    if is_float(type.element_type):
        is_hit = b.add(graph.OrOp(is_hit, b.add(graph.NeOp(source, source), "nan")), "hit")
    # Twice as many indices of 32 bits fit a vector.
    extent = shape_of(type)[axis]
    index_type = i32 if extent != DYNAMIC_INDEX and upper_bound(extent) <= _LAST_I32 else i64
    indices = b.add(graph.IotaOp(axis, tensor_of(index_type, shape_of(type))), "index")
    last = b.splat_like(_LAST_I32 if index_type is i32 else _LAST_I64, indices)
    candidates = b.add(graph.SelectOp(is_hit, indices, last), "candidate")
    first = b.add(graph.ReduceOp(ReduceKind.MIN, candidates, (axis,), keep=op.keep is not None), "first")
    return b.cast(first, i64)


def decompose_logsumexp(b: GraphBuilder, op: Operation) -> SSAValue:
    """
    `logsumexp x --> log (sum exp (x - m)) + m` with m the greatest element; where that is infinite or NaN, it
    is the result.
    """
    assert isinstance(op, graph.LogsumexpOp)
    narrow = b.element_type(op.source)
    source = b.cast(op.source, compute_type(narrow))
    greatest = b.add(graph.ReduceOp(ReduceKind.MAX, source, op.axes, keep=True), "greatest")
    is_finite = b.add(
        graph.LtOp(b.add(graph.AbsOp(greatest)), b.splat_like(float("inf"), greatest)), "finite"
    )
    everywhere = b.add(graph.BroadcastOp(greatest, tensor_type_of(source, op.name)))
    exponential = b.add(graph.ExpOp(b.add(graph.SubOp(source, everywhere))), "exponential")
    total = b.add(graph.ReduceOp(ReduceKind.ADD, exponential, op.axes, keep=True), "total")
    sum_of_both = b.add(graph.AddOp(b.add(graph.LogOp(total)), greatest))
    result = b.add(graph.SelectOp(is_finite, sum_of_both, greatest))
    if op.keep is None:
        result = b.add(graph.ReshapeOp(result, tensor_of(b.element_type(result), shape_of(op.result.type))))
    return b.cast(result, narrow)


RULES: dict[type[Operation], Rule] = {
    graph.ArgReduceOp: decompose_arg_reduce,
    graph.LogsumexpOp: decompose_logsumexp,
}
"""The composite reductions."""
