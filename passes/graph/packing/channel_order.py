"""Whether the channels of an image are neighbours in memory, whatever views there are between."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ....dialects import graph
from ....dialects.dims.expressions import without_ones
from ....dialects.graph.types import shape_of, tensor_type_of


def is_last_where_read(value: SSAValue, axis: int) -> bool:
    """Returns whether an axis is the last one of what a value is a view of, or a part with a border."""
    while isinstance(value.owner, Operation):
        op = value.owner
        match op:
            case graph.PadOp() | graph.SliceOp():
                found: int | None = axis
            case graph.PermuteOp():
                found = op.permutation.data[axis]
            case graph.ReshapeOp():
                found = _same_axis(op.result, op.source, axis)
            case _:
                break
        if found is None:
            return False
        value, axis = op.operands[0], found
    return _is_last(value, axis)


def is_last_where_stored(value: SSAValue, axis: int) -> bool:
    """Returns whether an axis is the last one of the only view that there is of a value, or of the value."""
    while value.has_one_use():
        (use,) = value.uses
        op = use.operation
        match op:
            case graph.PermuteOp():
                found: int | None = op.permutation.data.index(axis)
            case graph.ReshapeOp():
                found = _same_axis(op.source, op.result, axis)
            case _:
                break
        if found is None:
            return False
        value, axis = op.results[0], found
    return _is_last(value, axis)


def _is_last(value: SSAValue, axis: int) -> bool:
    return all(extent == 1 for extent in shape_of(tensor_type_of(value, "an image"))[axis + 1 :])


def _same_axis(one: SSAValue, other: SSAValue, axis: int) -> int | None:
    """Returns which axis of a value an axis of another one is, where these differ in extents of 1 only."""
    shapes = [shape_of(tensor_type_of(value, "an image")) for value in (one, other)]
    if without_ones(shapes[0]) != without_ones(shapes[1]) or shapes[0][axis] == 1:
        return None
    numbers = [[n for n, extent in enumerate(shape) if extent != 1] for shape in shapes]
    return numbers[1][numbers[0].index(axis)]
