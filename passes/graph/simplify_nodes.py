"""
Drops the accesses of tensor nodes that need no memory.

    %w = graph.read @w : tensor<4xf32>                %w = graph.read @w : tensor<4xf32>
    graph.write add @w, %g : tensor<4xf32>      -->   %sum = graph.add %w, %g : tensor<4xf32>
    %v = graph.read @w : tensor<4xf32>                (gone: %sum)
    graph.write @w, %v : tensor<4xf32>                graph.write @w, %sum : tensor<4xf32>

The rules are in passes/graph/node_accesses.py.

Requires: functions of one block. Ensures: no write adds; what a function reads of one place of a node after
it has read or written that place is the value itself, unless a call stands between; local nodes are neither
read nor written by functions without calls.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.modules.entry import check_single_block
from .node_accesses import simplify_accesses


@dataclass(frozen=True)
class SimplifyNodesPass(ModulePass):
    """Forwards what is written to nodes to where it is read, and drops writes that nobody sees."""

    name = "simplify-nodes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                check_single_block(function)
                simplify_accesses(function)
