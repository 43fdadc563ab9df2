"""
Moves ops out of the loops of `graph` that compute the same in every iteration.

    %y = graph.scan %i = 10 (%c = %x) : (tensor<4xf32>) -> (tensor<4xf32>) {
      %e = graph.exp %w : tensor<4xf32>
      %n = graph.add %c, %e : tensor<4xf32>
      graph.yield %n : tensor<4xf32>
    }

-->

    %e = graph.exp %w : tensor<4xf32>
    %y = graph.scan %i = 10 (%c = %x) : (tensor<4xf32>) -> (tensor<4xf32>) {
      %n = graph.add %c, %e : tensor<4xf32>
      graph.yield %n : tensor<4xf32>
    }

Only ops that compute, and have no effect, are moved: not reads of nodes, nor loops and branches; and none out
of a branch, which may not be taken. An op of one value and indices only, such as a mask, stays in the loop: a
kernel computes it anew, which is cheaper than to load it from a buffer. What is made of one and of a value
from outside, as weights with zeros around them, is moved with a copy of it.

Requires: nothing. Ensures: what the module computes is unchanged; an op that remains in a loop needs
something that changes there.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ....dialects import graph
from ..masks import is_mask


@dataclass(frozen=True)
class HoistLoopInvariantsPass(ModulePass):
    """Moves ops out of the loops of `graph` that compute the same in every iteration."""

    name = "hoist-loop-invariants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        loops = [loop for loop in op.walk() if isinstance(loop, graph.WhileOp | graph.ScanOp)]
        for loop in reversed(loops):
            for region in loop.regions:
                _hoist(region.block, loop)


def _hoist(block: Block, loop: Operation) -> None:
    around = loop.parent
    assert around is not None, f"{loop.name}: stands in no block"
    for op in list(block.ops):
        if not isinstance(op, graph.GraphOp):
            continue
        inside = [value.owner for value in op.operands if _block_of(value.owner) is block]
        masks = [
            owner for owner in inside if isinstance(owner, Operation) and is_mask(owner, of_numbers=False)
        ]
        if len(masks) == len(inside) < max(len(op.operands), 1) and not is_mask(op):
            copies: dict[SSAValue, SSAValue] = {}
            for mask in masks:
                _copy(mask, block, loop, copies)
            op.operands = [copies.get(value, value) for value in op.operands]
            op.detach()
            around.insert_op_before(op, loop)


def _copy(mask: Operation, block: Block, loop: Operation, copies: dict[SSAValue, SSAValue]) -> None:
    """Copies what makes a mask in a loop before the loop."""
    if mask.results[0] in copies:
        return
    for value in mask.operands:
        if isinstance(value.owner, Operation) and _block_of(value.owner) is block:
            _copy(value.owner, block, loop, copies)
    new = mask.clone(copies)
    assert loop.parent is not None, f"{loop.name}: stands in no block"
    loop.parent.insert_op_before(new, loop)
    copies[mask.results[0]] = new.results[0]


def _block_of(owner: Operation | Block) -> Block | None:
    return owner if isinstance(owner, Block) else owner.parent
