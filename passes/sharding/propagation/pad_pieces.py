"""Writes pads by elements of the source itself as slices, flips and concats: what they move is seen then."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import SSAValue

from ....dialects import graph
from ....dialects.graph import PadMode
from ....dialects.graph.types import shape_of, tensor_of, tensor_type_of
from ...graph.builder import GraphBuilder


def write_pads(function: func.FuncOp) -> None:
    """Replaces every `graph.pad_with` of a function whose extents are numbers."""
    for op in [each for each in function.walk() if isinstance(each, graph.PadWithOp)]:
        if tensor_type_of(op.source, op.name).has_static_shape():
            b = GraphBuilder(op)
            value = op.source
            for dim, (low, high) in enumerate(zip(op.low.data, op.high.data, strict=True)):
                if low or high:
                    value = _padded(b, value, dim, low, high, op.mode.data)
            value.name_hint = op.result.name_hint or value.name_hint
            op.result.replace_all_uses_with(value)
            op.detach()
            op.erase()


def _padded(b: GraphBuilder, value: SSAValue, dim: int, low: int, high: int, mode: PadMode) -> SSAValue:
    extent = _extent(value, dim)
    pieces: list[SSAValue] = []
    for begin, end in ((-low, 0), (0, extent), (extent, extent + high)):
        while begin < end:
            first, count, step = _run(begin, end, extent, mode)
            pieces.append(_piece(b, value, dim, first, count, step))
            begin += count
    return b.add(graph.ConcatOp(pieces, dim))


def _run(begin: int, end: int, extent: int, mode: PadMode) -> tuple[int, int, int]:
    """
    Returns the first element of the source at index `begin` of what is padded, 0 being that of the source,
    how many follow it, and in which direction.
    """
    match mode:
        case PadMode.EDGE:
            return (0, min(end, 0) - begin, 0) if begin < 0 else _edge(begin, end, extent)
        case PadMode.WRAP:
            first = begin % extent
            return first, min(end - begin, extent - first), 1
        case PadMode.SYMMETRIC:
            first = begin % (2 * extent)
            if first < extent:
                return first, min(end - begin, extent - first), 1
            return 2 * extent - 1 - first, min(end - begin, 2 * extent - first), -1
        case PadMode.REFLECT:
            if extent == 1:
                return 0, end - begin, 0
            first = begin % (2 * extent - 2)
            if first < extent - 1:
                return first, min(end - begin, extent - 1 - first), 1
            return 2 * extent - 2 - first, min(end - begin, 2 * extent - 2 - first), -1


def _edge(begin: int, end: int, extent: int) -> tuple[int, int, int]:
    return (extent - 1, end - begin, 0) if begin >= extent else (begin, end - begin, 1)


def _piece(b: GraphBuilder, value: SSAValue, dim: int, first: int, count: int, step: int) -> SSAValue:
    """Returns `count` elements of a dim from `first` on, forwards or backwards, or the first one so often."""
    shape = [
        extent for extent in shape_of(tensor_type_of(value, "graph.pad_with")) if isinstance(extent, int)
    ]
    size = count if step else 1
    offsets = [0] * len(shape)
    offsets[dim] = first if step >= 0 else first - count + 1
    shape[dim] = size
    if _extent(value, dim) != size:
        value = b.add(graph.SliceOp(value, offsets, shape, [1] * len(shape)))
    if step < 0:
        return b.add(graph.FlipOp(value, [dim]))
    if not step and count > 1:
        shape[dim] = count
        return b.add(graph.BroadcastOp(value, tensor_of(b.element_type(value), tuple(shape))))
    return value


def _extent(value: SSAValue, dim: int) -> int:
    extent = shape_of(tensor_type_of(value, "graph.pad_with"))[dim]
    assert isinstance(extent, int), f"a dim of {extent} is written as pieces"
    return extent
