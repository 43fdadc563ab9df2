"""Which element of what a view is taken of a contraction reads."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ....dialects import graph
from ....dialects.buffer_size import row_major_strides
from ....dialects.graph import LinearIndex
from ....dialects.graph.types import tensor_type_of

_ZERO = LinearIndex((), 0)


def through_views(value: SSAValue, indices: Sequence[LinearIndex]) -> tuple[SSAValue, list[LinearIndex]]:
    """
    Returns what `value` is a view of, and at which indices that is read where the view is read at `indices`.
    A view with extents that are no numbers, or a reshape, is not looked through.
    """
    found = list(indices)
    while isinstance(value.owner, graph.MovementOp):
        op = value.owner
        if "memory_mode" in op.attributes or not tensor_type_of(value, op.name).has_static_shape():
            break
        match op:
            case graph.PermuteOp():
                moved = [_ZERO] * len(found)
                for to, axis in enumerate(op.permutation.data):
                    moved[axis] = found[to]
                found = moved
            case graph.BroadcastOp():
                shape = tensor_type_of(op.source, op.name).get_shape()
                tail = found[len(found) - len(shape) :]
                found = [_ZERO if extent == 1 else index for extent, index in zip(shape, tail, strict=True)]
            case graph.FlipOp():
                shape = tensor_type_of(op.source, op.name).get_shape()
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


def stride_along(dim: int, indices: Sequence[LinearIndex], shape: Sequence[int]) -> int:
    """
    Returns how many elements apart neighbours along an iteration dim are in an array that is read at
    `indices`, row by row.
    """
    steps = zip(indices, row_major_strides(shape), strict=True)
    return sum(index.factor(dim) * step for index, step in steps)


def _scaled(index: LinearIndex, factor: int, offset: int) -> LinearIndex:
    """Returns `index * factor + offset`; the factor is not 0."""
    factors = tuple((dim, each * factor) for dim, each in index.factors)
    return LinearIndex(factors, index.constant * factor + offset)
