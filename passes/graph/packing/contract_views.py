"""Which element of what a view is taken of a contraction reads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from ....dialects import graph
from ....dialects.dims.expressions import Extent, row_major, without_ones
from ....dialects.graph import LinearIndex
from ....dialects.graph.types import shape_of, tensor_type_of

_ZERO = LinearIndex((), 0)


def through_views(value: SSAValue, indices: Sequence[LinearIndex]) -> tuple[SSAValue, list[LinearIndex]]:
    """
    Returns what `value` is a view of, and at which indices that is read where the view is read at `indices`.
    A view of extents without a name, a reshape, and a flip along an extent that is no number are not looked
    through.
    """
    found = list(indices)
    while isinstance(value.owner, graph.MovementOp):
        op = value.owner
        if "memory_mode" in op.attributes or DYNAMIC_INDEX in shape_of(tensor_type_of(value, op.name)):
            break
        match op:
            case graph.PermuteOp():
                moved = [_ZERO] * len(found)
                for to, axis in enumerate(op.permutation.data):
                    moved[axis] = found[to]
                found = moved
            case graph.BroadcastOp():
                shape = shape_of(tensor_type_of(op.source, op.name))
                tail = found[len(found) - len(shape) :]
                found = [_ZERO if extent == 1 else index for extent, index in zip(shape, tail, strict=True)]
            case graph.FlipOp():
                shape = tensor_type_of(op.source, op.name).get_shape()
                if any(shape[axis] == DYNAMIC_INDEX for axis in op.axes.data):
                    break
                found = [
                    _scaled(index, -1, shape[axis] - 1) if axis in op.axes.data else index
                    for axis, index in enumerate(found)
                ]
            case graph.SliceOp():
                offsets = [offset for offset in op.offsets.data if isinstance(offset, int)]
                if len(offsets) != len(found):
                    break
                steps = zip(found, op.strides.data, offsets, strict=True)
                found = [_scaled(index, stride, offset) for index, stride, offset in steps]
            case _:
                break
        value = op.operands[0]
    return value, found


def uneven_permutation(value: SSAValue) -> graph.PermuteOp | None:
    """
    Returns the permutation that a value is a reshape of, where that makes one axis of several which are apart
    in memory: no stride leads along it.
    """
    source = value
    while isinstance(source.owner, graph.ReshapeOp) and "memory_mode" not in source.owner.attributes:
        source = source.owner.source
    permute = source.owner
    if source is value or not isinstance(permute, graph.PermuteOp) or "memory_mode" in permute.attributes:
        return None
    before, after = (shape_of(tensor_type_of(each, permute.name)) for each in (source, value))
    if not all(isinstance(extent, int) and extent > 0 for extent in (*before, *after)):
        return None
    moved = [axis for axis, extent in zip(permute.permutation.data, before, strict=True) if extent != 1]
    places = [sorted(moved).index(axis) for axis in moved]
    ends = set(row_major(after))
    # Two axes are made one where no axis of the result ends between them.
    for (first, second), end in zip(pairwise(places), row_major(without_ones(before)), strict=False):
        if end not in ends and second != first + 1:
            return permute
    return None


def stride_along(dim: int, indices: Sequence[LinearIndex], shape: Sequence[Extent]) -> Extent:
    """
    Returns how many elements apart neighbours along an iteration dim are in an array that is read at
    `indices`, row by row.
    """
    steps = zip(indices, row_major(shape), strict=True)
    return sum((step * index.factor(dim) for index, step in steps), start=0)


def _scaled(index: LinearIndex, factor: int, offset: int) -> LinearIndex:
    """Returns `index * factor + offset`; the factor is not 0."""
    factors = tuple((dim, each * factor) for dim, each in index.factors)
    return LinearIndex(factors, index.constant * factor + offset)
