"""How the elements of an op's operands are indexed, given the index of an element of its result."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from ...dialects import graph
from ...dialects.buffer_size import row_major_strides
from ...dialects.dim_expr import is_at_least
from ...dialects.graph import PadMode
from .index_expr import ZERO, IndexExpr, constant, delinearize, element, linearize

Indices = tuple[IndexExpr, ...]


def static_shape(value: SSAValue, who: str) -> tuple[int, ...]:
    """
    Returns the shape of a tensor value. Raises PassFailedException, naming `who`, where a dim is dynamic.
    """
    type = value.type
    assert isinstance(type, TensorType), f"{type} is no tensor"
    shape = type.get_shape()
    for dim, extent in enumerate(shape):
        if extent < 0:
            raise PassFailedException(f"{who}: cannot schedule {type} (dim {dim} is dynamic)")
    return shape


def operand_indices(op: Operation, indices: Indices) -> list[Indices]:
    """
    Returns, for every operand of an elementwise or movement op, the index of the element that the result's
    element at `indices` is made from. An index that may lie outside of its operand (pad, concat) is clamped
    into it; whether the element counts is for `scalar_lowering` to decide. The operands have elements. A
    concat is not for this function, as not all of its operands need be read: see `joined_at`.
    """
    match op:
        case graph.BroadcastOp():
            shape = static_shape(op.source, op.name)
            tail = indices[len(indices) - len(shape) :]
            return [tuple(ZERO if extent == 1 else i for extent, i in zip(shape, tail, strict=True))]
        case graph.ReshapeOp():
            source, result = static_shape(op.source, op.name), static_shape(op.result, op.name)
            if _without_ones(source) == _without_ones(result):
                rest = iter([i for extent, i in zip(result, indices, strict=True) if extent != 1])
                return [tuple(ZERO if extent == 1 else next(rest) for extent in source)]
            return [delinearize(linearize(indices, row_major_strides(result)), source)]
        case graph.PermuteOp():
            moved: list[IndexExpr] = [ZERO] * len(indices)
            for to, dim in enumerate(op.permutation.data):
                moved[dim] = indices[to]
            return [tuple(moved)]
        case graph.SliceOp():
            steps = zip(indices, op.offsets.data, op.strides.data, strict=True)
            return [tuple(i * stride + offset for i, offset, stride in steps)]
        case graph.FlipOp():
            shape = static_shape(op.source, op.name)
            return [
                tuple(
                    constant(shape[dim] - 1) - i if dim in op.axes.data else i
                    for dim, i in enumerate(indices)
                )
            ]
        case graph.PadOp():
            shape = static_shape(op.source, op.name)
            spans = zip(indices, op.low.data, shape, op.steps, strict=True)
            return [
                tuple((i + -low).clamp((n - 1) * step).floordiv(step) for i, low, n, step in spans),
                (),
            ]
        case graph.PadWithOp():
            shape, mode = static_shape(op.source, op.name), op.mode.data
            inside = zip(indices, op.low.data, shape, strict=True)
            return [tuple(_padded_index(mode, i + -low, extent) for i, low, extent in inside)]
        case graph.GatherOp():
            shape, axes = static_shape(op.source, op.name), op.axes.data
            count = len(indices) - (len(shape) - len(axes))
            at, rest = indices[:count], iter(indices[count:])
            picked = {
                axis: element(index, at, shape[axis] - 1)
                for axis, index in zip(axes, op.indices, strict=True)
            }
            source = tuple(picked[axis] if axis in picked else next(rest) for axis in range(len(shape)))
            return [source, *[at] * len(axes)]
        case graph.DynamicSliceOp():
            starts = box_starts(static_shape(op.source, op.name), op.starts, op.sizes.data)
            return [
                tuple(start + i for start, i in zip(starts, indices, strict=True)),
                *[()] * len(starts),
            ]
        case _:
            return [indices] * len(op.operands)


def joined_at(op: graph.ConcatOp, indices: Indices) -> list[tuple[int, SSAValue, Indices]]:
    """
    Returns which inputs the result's element at `indices` may be from: where each begins along the axis, the
    input, and the index of its element, clamped into it.
    """
    axis, offset = op.axis.data, 0
    index = indices[axis]
    found: list[tuple[int, SSAValue, Indices]] = []
    for operand in op.inputs:
        extent = static_shape(operand, op.name)[axis]
        is_beyond = is_at_least(index.low, offset + extent) or is_at_least(offset - 1, index.high)
        if extent != 0 and not is_beyond:
            inside = (index + -offset).clamp(extent - 1)
            found.append((offset, operand, (*indices[:axis], inside, *indices[axis + 1 :])))
        offset += extent
    return found


def box_starts(shape: Sequence[int], starts: Sequence[SSAValue], sizes: Sequence[int]) -> Indices:
    """Returns where a box of `sizes` in an array of `shape` begins, moved so that it fits."""
    return tuple(
        element(start, (), extent - size) for extent, start, size in zip(shape, starts, sizes, strict=True)
    )


def _padded_index(mode: PadMode, index: IndexExpr, extent: int) -> IndexExpr:
    """Returns the index, of `extent`, of the element that `mode` puts at `index`, which may be outside."""
    last = extent - 1
    if mode is PadMode.EDGE or last == 0:
        return index.clamp(last)
    if index.low >= 0 and index.high <= last:
        return index
    period = {PadMode.WRAP: extent, PadMode.SYMMETRIC: 2 * extent}.get(mode, 2 * last)
    place = (index + -(index.low // period) * period).mod(period)
    if mode is PadMode.WRAP:
        return place
    # What is beyond the last element comes back as far as it has gone.
    if mode is PadMode.REFLECT:
        back = (place + -last).clamp(last - 1) * 2
    else:
        back = (place + -last).clamp(extent) + (place + -extent).clamp(last)
    return (place - back).clamp(last)


def _without_ones(shape: tuple[int, ...]) -> list[int]:
    return [extent for extent in shape if extent != 1]
