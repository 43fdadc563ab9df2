"""Where boxes begin that are known when compiling."""

from __future__ import annotations

from xdsl.dialects.shard import ShardOp
from xdsl.ir import SSAValue

from ...dialects import graph
from ...semantics.numpy_types import array_of


def constant_start(value: SSAValue) -> int | None:
    """Returns the integer of rank 0 that a value is, None where that is not known when compiling."""
    while isinstance(owner := value.owner, ShardOp | graph.CastOp):
        value = owner.operands[0]
    return int(array_of(owner.value)) if isinstance(owner, graph.ConstantOp) else None
