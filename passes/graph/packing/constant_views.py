"""The elements of what is a constant but for views."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ....dialects import graph
from ....semantics.numpy_types import Array, array_of
from ....semantics.tensor_ops import evaluate


def constant_array(value: SSAValue) -> Array | None:
    """Returns the elements of a constant, or of views of one; None of anything else."""
    owner = value.owner
    if isinstance(owner, graph.ConstantOp):
        return array_of(owner.value)
    if isinstance(owner, graph.MovementOp) and len(owner.operands) == 1:
        source = constant_array(owner.operands[0])
        return None if source is None else evaluate(owner, [source])
    return None
