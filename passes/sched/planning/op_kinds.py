"""The kinds of `graph` ops that planning tells apart, by their costs and by how they use their operands."""

from __future__ import annotations

from ....dialects import graph

UPDATING_OPS = (graph.DynamicUpdateOp, graph.ScatterOp)
"""Ops whose kernel stores a part of the result only: the rest is their source's, copied before."""

FOLDING_OPS = (graph.ReduceOp, graph.ContractOp)
"""Ops with axes of their own beside those of their result."""

VIEW_OPS = (
    graph.ReshapeOp,
    graph.PermuteOp,
    graph.BroadcastOp,
    graph.SliceOp,
    graph.FlipOp,
    graph.PadWithOp,
    graph.IotaOp,
    graph.GatherOp,
    graph.DynamicSliceOp,
)
"""Ops that cost an index computation at most."""
