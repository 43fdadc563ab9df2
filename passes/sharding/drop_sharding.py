"""
Takes out what says how values are split, where one rank runs the whole program.

    shard.grid @mesh(shape = 2) {axis_names = ["x"]}
    func.func @f(%x: tensor<4xf32> {tenon.sharding = #shard<axisarray[[0]]>}) -> tensor<4xf32> {
      %split = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
      %y = shard.shard %x to %split : tensor<4xf32>
      ...

-->

    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      ...

The program of a rank, which partition-graph writes, stays as it is. So do the grid and what ranks do of their
own, `graph.manual_computation`: such a program needs its ranks.

Requires: nothing. Ensures: of `shard` only grids that ops name remain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from ...dialects import graph
from ...dialects.graph.collectives import RANK


@dataclass(frozen=True)
class DropShardingPass(ModulePass):
    """Takes out what says how values are split."""

    name = "drop-sharding"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        # By its name: few programs have a grid, and those that do have imported its dialect.
        grids = [each for each in op.ops if each.name == "shard.grid"]
        if not grids or RANK in op.attributes:
            return
        from xdsl.dialects.shard import ShardingOp, ShardOp

        is_named = False
        said: list[ShardingOp] = []
        for each in list(op.walk()):
            if isinstance(each, ShardOp):
                each.result.replace_all_uses_with(each.src)
                each.detach()
                each.erase()
            elif isinstance(each, ShardingOp):
                said.append(each)
            elif isinstance(each, func.FuncOp):
                _drop_attributes(each)
            else:
                is_named |= isinstance(
                    each, graph.CollectiveOp | graph.AxisIndexOp | graph.ManualComputationOp
                )
        for each in (*said, *(() if is_named else grids)):
            each.detach()
            each.erase()


def _drop_attributes(function: func.FuncOp) -> None:
    from ...dialects.sharding import ARGUMENT_SHARDING

    for name in ("arg_attrs", "res_attrs"):
        written = function.properties.pop(name, None)
        if not isinstance(written, ArrayAttr):
            continue
        kept: list[DictionaryAttr] = []
        for each in cast("ArrayAttr[Attribute]", written):
            said: dict[str, Attribute] = dict(each.data) if isinstance(each, DictionaryAttr) else {}
            said.pop(ARGUMENT_SHARDING, None)
            kept.append(DictionaryAttr(said))
        if any(each.data for each in kept):
            function.properties[name] = ArrayAttr(kept)
