"""What a value is along one of its axes: its index there, or the same everywhere."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ....dialects import graph
from ....dialects.graph.types import shape_of, tensor_type_of


def is_iota_along(value: SSAValue, axis: int) -> bool:
    """Returns whether every element is its index along `axis`."""
    owner = value.owner
    if isinstance(owner, graph.IotaOp):
        return owner.axis.data == axis
    before = _axis_before(value, axis)
    return before is not None and is_iota_along(*before)


def is_same_along(value: SSAValue, axis: int) -> bool:
    """Returns whether all elements along `axis` are known to be the same."""
    waiting, seen = [(value, axis)], {(value, axis)}
    while waiting:
        sources = _same_if(*waiting.pop())
        if sources is None:
            return False
        for source in sources:
            if source not in seen:
                seen.add(source)
                waiting.append(source)
    return True


def _same_if(value: SSAValue, axis: int) -> list[tuple[SSAValue, int]] | None:
    """
    Returns what else must be the same, and along which axis, for `value` to be the same along `axis`; None if
    nothing makes it so.
    """
    if shape_of(tensor_type_of(value, "tensor"))[axis] == 1:
        return []
    owner = value.owner
    match owner:
        case graph.ConstantOp():
            return [] if owner.value.is_splat() else None
        case graph.IotaOp():
            return [] if owner.axis.data != axis else None
        case graph.BroadcastOp() if _is_added(owner, axis):
            return []
        case graph.ElementwiseOp():
            return [(operand, axis) for operand in owner.operands]
        case _:
            before = _axis_before(value, axis)
            return None if before is None else [before]


def _is_added(op: graph.BroadcastOp, axis: int) -> bool:
    """Returns whether a broadcast repeats its source along `axis`."""
    source = shape_of(tensor_type_of(op.source, op.name))
    at = axis - (len(shape_of(tensor_type_of(op.result, op.name))) - len(source))
    return at < 0 or source[at] == 1


def _axis_before(value: SSAValue, axis: int) -> tuple[SSAValue, int] | None:
    """Returns what a view is a view of, and which of its axes is `axis`; None if it is not one axis whole."""
    owner = value.owner
    match owner:
        case graph.BroadcastOp() if not _is_added(owner, axis):
            added = len(shape_of(tensor_type_of(value, owner.name))) - len(
                shape_of(tensor_type_of(owner.source, owner.name))
            )
            return owner.source, axis - added
        case graph.PermuteOp():
            return owner.source, owner.permutation.data[axis]
        case graph.ReshapeOp():
            return _axis_before_reshape(owner, axis)
        case _:
            return None


def _axis_before_reshape(op: graph.ReshapeOp, axis: int) -> tuple[SSAValue, int] | None:
    """Looks through a reshape that adds and drops dims of extent 1 only."""
    before = shape_of(tensor_type_of(op.source, op.name))
    after = shape_of(tensor_type_of(op.result, op.name))
    if after[axis] == 1:
        return None
    kept = [dim for dim, extent in enumerate(before) if extent != 1]
    found = [dim for dim, extent in enumerate(after) if extent != 1]
    if [before[dim] for dim in kept] != [after[dim] for dim in found]:
        return None
    return op.source, kept[found.index(axis)]
