"""
Says of every value of a program how it is split over the mesh, from what is annotated.

    shard.grid @mesh(shape = 2) {axis_names = ["x"]}
    func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %rows = shard.sharding @mesh split_axes = [[0], []] : !shard.sharding
      %x_rows = shard.shard %x to %rows : tensor<4x8xf32>
      %y = graph.exp %x_rows : tensor<4x8xf32>
      func.return %y : tensor<4x8xf32>
    }

-->

    func.func @f(%x: tensor<4x8xf32> {tenon.sharding = #shard<axisarray[[0], []]>})
        -> (tensor<4x8xf32> {tenon.sharding = #shard<axisarray[[0], []]>}) {
      %x_ = shard.sharding @mesh split_axes = [[0], []] : !shard.sharding
      %x_1 = shard.shard %x to %x_ {tenon.reason = "annotated"} : tensor<4x8xf32>
      %y = graph.exp %x_1 : tensor<4x8xf32>
      %y_1 = shard.shard %y to %x_ {tenon.reason = "as its operands"} : tensor<4x8xf32>
      func.return %y_1 : tensor<4x8xf32>
    }

Annotations are `shard.shard` ops, and the attribute `tenon.sharding` of arguments and results. They stay;
what an op reads in another way than its operand is split gets a `shard.shard` with `annotate_for_users`.
Where there is a choice the one is taken that sends the fewest bytes; the attribute `tenon.reason` says so.

An op that cannot be partitioned as its operands are split is an error that names it. With `allow_gather` its
operands are gathered instead.

Requires: inline-calls, and decompose-composites for composite ops along dims that are split. Ensures: every
value that has dims is annotated.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .partition_graph import mesh_to_partition
from .propagation.annotate import annotate
from .propagation.decisions import Decisions
from .propagation.pad_pieces import write_pads
from .propagation.pins import pins_of


@dataclass(frozen=True)
class PropagateShardingPass(ModulePass):
    """Says of every value how it is split over the mesh, from what is annotated."""

    name = "propagate-sharding"
    allow_gather: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        mesh = mesh_to_partition(op, self.name)
        for function in [each for each in op.ops if isinstance(each, func.FuncOp)]:
            if not function.is_declaration:
                write_pads(function)
                decisions = Decisions(mesh, function, pins_of(function, mesh), self.allow_gather)
                decisions.decide()
                annotate(function, decisions)
