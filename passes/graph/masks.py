"""
Values that are made of single numbers and of indices only: masks, above all, and extents of named dims. A
kernel writes them itself.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from ...dialects import graph
from ...dialects.graph.elementwise.predicates import CompareOp
from ...dialects.graph.types import shape_of, tensor_type_of

# By design: the mask of a box is five ops, of a box with a border around it seven.
MOST_OPS = 8
"""The most ops of such a value, but for views: more are worth a buffer that is loaded."""

_VIEWS = (graph.IotaOp, graph.BroadcastOp, graph.ReshapeOp, graph.SliceOp, graph.PermuteOp)

_COMPARING = (CompareOp, graph.AndOp, graph.OrOp, graph.NotOp)


_COUNTING = (graph.AddOp, graph.SubOp, graph.MinOp, graph.MaxOp)
"""Arithmetic of indices: less work than a load of what it gives."""


def is_mask(op: Operation, *, of_numbers: bool = True) -> bool:
    """
    Returns whether the value of an op is one number, indices, or such compared, padded or in another shape:
    no kernel loads more for it than single numbers, and without `of_numbers` nothing at all. One index may be
    of another type: a conversion of each of many would cost more than a load.
    """
    waiting, n_ops = [op], 0
    while waiting:
        each = waiting.pop()
        if isinstance(each, graph.ConstantOp):
            if not each.value.is_splat():
                return False
            continue
        n_ops += not isinstance(each, _VIEWS)
        if n_ops > MOST_OPS:
            return False
        if (
            isinstance(each, (*_VIEWS, graph.PadOp, *_COMPARING))
            or _is_cast_of_one(each)
            or _is_of_indices(each)
        ):
            may_load = of_numbers and not isinstance(each, graph.CastOp)
            owners = [value.owner for value in each.operands if not (may_load and _is_number(value))]
            found = [owner for owner in owners if isinstance(owner, Operation)]
            if len(found) < len(owners):
                return False
            waiting.extend(found)
        else:
            return False
    return True


def _is_of_indices(op: Operation) -> bool:
    """Returns whether an op adds integers, which begin with an index."""
    return isinstance(op, _COUNTING) and isinstance(
        tensor_type_of(op.result, op.name).element_type, IntegerType
    )


def _is_cast_of_one(op: Operation) -> bool:
    return isinstance(op, graph.CastOp) and all(extent == 1 for extent in shape_of(op.result.type))


def _is_number(value: SSAValue) -> bool:
    """Returns whether a value is a single number."""
    return not shape_of(tensor_type_of(value, "a mask"))
