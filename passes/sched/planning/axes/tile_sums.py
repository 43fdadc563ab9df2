"""
The axes along which a result has the sums of a tile, of which all are made at once.

The four sums of a tile, or the two that are neighbours in a result, are made of the same elements, and of
sums of these. A kernel that has them all in one iteration loads each element once, and computes what they
share once.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from .....dialects import graph
from ....indices.access import Indices, operand_indices, summed_at
from ....indices.expressions import Axis, variable

# By design: what follows a convolution are a bias, a residual and an activation.
MOST_OPS = 32
"""How many ops are looked at to find a transform that a result is made of."""


def tile_steps(op: Operation, indices: Indices) -> dict[Axis, int]:
    """Returns the axes that tell which sum of a tile an element is, each with how many sums there are."""
    found: dict[Axis, int] = {}
    waiting: list[tuple[Operation, Indices]] = [(op, indices)]
    seen = 0
    while waiting and seen < MOST_OPS:
        op, indices = waiting.pop()
        seen += 1
        if isinstance(op, graph.WinogradTransformOp):
            which, sums = summed_at(op, indices)
            axes = which.axes()
            if len(axes) == 1:
                (axis,) = axes
                if which == variable(axis).mod(len(op.SUMS)):
                    found[axis] = len(op.SUMS)
            first, *_ = sums.values()
            waiting += _follow(op.source, first[0])
        elif isinstance(op, graph.ElementwiseOp | graph.ReshapeOp | graph.PermuteOp | graph.SliceOp):
            for operand, inner in zip(op.operands, operand_indices(op, indices), strict=True):
                waiting += _follow(operand, inner)
    return found


def _follow(value: SSAValue, indices: Indices) -> list[tuple[Operation, Indices]]:
    """Returns what is computed where it is read, if that is sure to be at one place."""
    if not isinstance(value.owner, Operation):
        return []
    uses = iter(value.uses)
    user = next(uses).operation
    # Most values that are read by many are so at once.
    return [] if any(use.operation is not user for use in uses) else [(value.owner, indices)]
