"""
Replaces what is read of virtual tensor nodes by the computation of what was written to them.

    graph.tnode @v : tensor<4xf32> mode virtual
    graph.write @v, %e : tensor<4xf32>
    %v = graph.read @v : tensor<4xf32>            -->
    %y = graph.neg %v : tensor<4xf32>                  %y = graph.neg %e : tensor<4xf32>

A function that reads a virtual node which another function of the module writes computes it itself, from what
the nodes that it is made of hold there; see passes/graph/virtual_nodes.py.

Requires: functions of one block. Ensures: no virtual node remains; one that is written twice by a function,
or read where its computation is not known or cannot be done again, is an error.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .virtual_nodes import extract_virtual, inline_virtual


@dataclass(frozen=True)
class InlineVirtualNodesPass(ModulePass):
    """Computes virtual nodes where they are read."""

    name = "inline-virtual-nodes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inline_virtual(op, extract_virtual(op))
