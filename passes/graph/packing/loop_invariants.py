"""What loops read that does not change in them: hoist-loop-invariants moves copies of it before them."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue

from ....dialects import graph


def viewed(value: SSAValue) -> SSAValue:
    """Returns what a value is a view of."""
    while isinstance(value.owner, graph.PermuteOp | graph.ReshapeOp | graph.SliceOp):
        value = value.owner.source
    return value


def is_in_loops_only(op: Operation) -> bool:
    """Returns whether nothing but loops is around an op: no branch, which may not be taken."""
    around = op.parent_op()
    while isinstance(around, graph.ScanOp | graph.WhileOp):
        around = around.parent_op()
    return isinstance(around, func.FuncOp)


def n_iterations(op: Operation, value: SSAValue) -> int:
    """
    Returns how often loops run an op with the same value: those around it, up to the one that makes what the
    value is a view of, or to a branch. Loops whose iterations are not known count once.
    """
    owner = viewed(value).owner
    home, found = owner if isinstance(owner, Block) else owner.parent, 1
    while op.parent is not home:
        around = op.parent_op()
        if not isinstance(around, graph.ScanOp | graph.WhileOp):
            break
        if isinstance(around, graph.ScanOp) and isinstance(around.trip_count, int):
            found *= around.trip_count
        op = around
    return found
