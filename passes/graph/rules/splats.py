"""Splat constants of `graph`: tensors of one value."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, i1
from xdsl.ir import SSAValue

from ....dialects import graph
from ....dialects.element_types import element_type_of, is_float
from ....dialects.graph.types import tensor_type_of


def splat(value: SSAValue) -> int | float | None:
    """Returns the one value of a splat constant, or of a broadcast of one, None for anything else."""
    owner = value.owner
    if isinstance(owner, graph.BroadcastOp):
        owner = owner.operands[0].owner
    if not isinstance(owner, graph.ConstantOp) or not owner.value.is_splat():
        return None
    return splat_of(owner.value)


def splat_of(value: DenseIntOrFPElementsAttr) -> int | float:
    """Returns the one value of a splat attribute; 1 for a true i1."""
    first = next(iter(value.iter_attrs()))
    assert isinstance(first, IntegerAttr | FloatAttr)
    number = first.value.data
    return abs(number) if value.get_element_type() == i1 else number


def constant_like(value: SSAValue, number: int | float) -> graph.ConstantOp:
    """Returns a constant of the type of `value`, whose extents are static, with `number` everywhere."""
    type = tensor_type_of(value, "graph.constant")
    return graph.ConstantOp(DenseIntOrFPElementsAttr.from_list(type, [number]))


def has_floats(value: SSAValue) -> bool:
    """Returns whether the elements of a tensor are floats."""
    return is_float(element_type_of(value.type))
