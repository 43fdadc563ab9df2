"""Reshapes of values that are split."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from ....dialects import graph
from ....dialects.dims.expressions import Extent
from ....dialects.element_types import element_type_of
from ....dialects.graph import tensor_of
from ....dialects.sharding import Sharding
from ..part import Part, block_part
from ..reshapes import DimGroup, dim_groups
from .op_at_rank import OpAtRank


def reshape(at: OpAtRank) -> SSAValue:
    """
    The reshape of this rank's part. A part of the outermost dim of a group of dims are neighbouring elements
    of it; where the parts before and after do not begin at the same elements, those between are fetched.
    """
    op, program = at.op, at.program
    assert isinstance(op, graph.ReshapeOp)
    before, after = program.shape(op.source), program.shape(op.result)
    groups = dim_groups(before, after)
    result = at.result_sharding
    moved = _kept(groups, program.home(op.source), result)
    local = program.at(op.source, moved)
    shape = program.shape(local)
    # What is fetched along one group lies in it alone: groups are dims of their own for the while.
    flat = [_product([shape[dim] for dim in group.before]) for group in groups]
    parts = [
        (_elements(at, group.before, before, moved.split), _elements(at, group.after, after, result.split))
        for group in groups
    ]
    if any(own != want for own, want in parts):
        element = element_type_of(op.result.type)
        local = program.add(graph.ReshapeOp(local, tensor_of(element, tuple(flat))))
        local = _fetched(at, local, parts)
    type = at.result_type
    return local if local.type == type else program.add(graph.ReshapeOp(local, type))


def _kept(groups: Sequence[DimGroup], before: Sharding, after: Sharding) -> Sharding:
    """
    Returns how the source may be split: its outermost dims only, and by no axis that splits another group of
    the result.
    """
    split: list[tuple[int, ...]] = [()] * len(before.split)
    for group in groups:
        own = {axis for dim in group.after for axis in after.split[dim]}
        others = set(after.axes) - own
        if group.before and not others & set(before.split[group.before[0]]):
            split[group.before[0]] = before.split[group.before[0]]
    return Sharding(tuple(split))


def _fetched(at: OpAtRank, local: SSAValue, parts: Sequence[tuple[Part, Part]]) -> SSAValue:
    for dim, (own, want) in enumerate(parts):
        local = at.program.fetch(local, dim, own, want)
    return local


def _product(extents: Sequence[Extent]) -> Extent:
    total: Extent = 1
    for extent in extents:
        total = total * extent
    return total


def _elements(
    at: OpAtRank, dims: Sequence[int], shape: Sequence[Extent], split: Sequence[tuple[int, ...]]
) -> Part:
    """Returns which elements of a group of dims, counted row-major, members have."""
    extents = [extent if isinstance(extent, int) else 1 for extent in (shape[dim] for dim in dims)]
    if not dims or not split[dims[0]]:
        return Part((), ((0, prod(extents)),))
    inner = prod(extents[1:])
    axes = split[dims[0]]
    part = block_part(at.program.mesh, extents[0], axes)
    return Part(axes, tuple((begin * inner, end * inner) for begin, end in part.intervals))
