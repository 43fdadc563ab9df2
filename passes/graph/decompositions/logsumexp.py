"""`graph.logsumexp` in reductions and elementwise ops."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ....dialects import graph
from ....dialects.element_types import compute_type
from ....dialects.graph import ReduceKind, tensor_of
from ....dialects.graph.types import shape_of, tensor_type_of
from ..builder import GraphBuilder


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
