"""The ops that an element of a result is computed by, and what these load."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from .....dialects import graph
from ....indices.access import Indices, joined_at, operand_indices

# By design: what is looked at for each result is a few ops.
MOST_OPS = 32
"""How many ops are followed from a result."""

COMPUTED = (
    graph.ElementwiseOp,
    graph.ReshapeOp,
    graph.PermuteOp,
    graph.BroadcastOp,
    graph.SliceOp,
    graph.FlipOp,
)
"""The ops that read one element of each operand, beside concatenations."""

Computed = list[tuple[Operation, Indices]]
Loaded = list[tuple[SSAValue, Indices]]


def elements_of(op: Operation, indices: Indices) -> tuple[Computed, Loaded] | None:
    """
    Returns the ops that an element of a result is computed by, each with the index of its own element, and
    what these load; None where it is more than elementwise ops and views of what is read by nothing else, or
    what other ranks send.
    """
    computed: Computed = []
    loaded: Loaded = []
    waiting = [(op, indices)]
    while waiting:
        op, indices = waiting.pop()
        if len(computed) == MOST_OPS:
            return None
        computed.append((op, indices))
        if isinstance(op, graph.ConcatOp):
            reads = [(operand, inside) for _, operand, inside in joined_at(op, indices)]
        elif isinstance(op, COMPUTED):
            reads = [*zip(op.operands, operand_indices(op, indices), strict=True)]
        else:
            return None
        for value, at in reads:
            owner = value.owner
            if isinstance(owner, graph.ConstantOp | graph.IotaOp):
                continue
            if isinstance(owner, graph.CollectiveOp):
                # The inside does not wait for what other ranks send: split-halos cuts the kernel by indices.
                return None
            if not isinstance(owner, Operation) or not value.has_one_use():
                if isinstance(value.type, TensorType):
                    loaded.append((value, at))
            elif isinstance(owner, graph.ReadOp | graph.ControlOp):
                loaded.append((value, at))
            else:
                waiting.append((owner, at))
    return computed, loaded
