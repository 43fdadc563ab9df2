"""Where updates of boxes store, and whether what they store is made of what they store over."""

from __future__ import annotations

from math import inf

from xdsl.ir import Operation, SSAValue

from ....dialects import graph
from ....dialects.graph.types import shape_of, tensor_type_of
from ..rules.splats import splat


def known_starts(op: graph.DynamicUpdateOp) -> list[int] | None:
    """Returns where a box begins, moved so that it fits, or None where that is not known."""
    shape = shape_of(tensor_type_of(op.source, op.name))
    numbers = [splat(start) for start in op.starts]
    found: list[int] = []
    for number, extent, size in zip(numbers, shape, op.spans, strict=True):
        if number is None or not isinstance(extent, int) or not isinstance(size, int):
            return None
        found.append(min(max(int(number), 0), extent - size))
    return found


def reads_beside(
    value: SSAValue, op: graph.DynamicUpdateOp, starts: list[int] | None, most: float = inf
) -> bool:
    """
    Returns whether a kernel that computes an operand of an update reads elements of the source that lie
    elsewhere than those that it stores. Looks at `most` values.
    """
    # A value, and whether its elements lie as those of the box do.
    first = (value, value is op.update)
    seen, waiting = {first}, [first]
    while waiting and len(seen) <= most:
        each, is_same = waiting.pop()
        if each is op.source:
            return True
        owner = each.owner
        if not isinstance(owner, graph.GraphOp) or owner.parent is not op.parent:
            continue
        # What these compute is in a buffer by then.
        if isinstance(owner, graph.DynamicUpdateOp | graph.ControlOp | graph.HostCallOp):
            continue
        if is_same and _is_box(owner, op, starts):
            continue
        is_same = is_same and isinstance(owner, graph.ElementwiseOp)
        for entry in ((operand, is_same) for operand in owner.operands):
            if entry not in seen:
                seen.add(entry)
                waiting.append(entry)
    return False


def _is_box(slice: Operation, op: graph.DynamicUpdateOp, starts: list[int] | None) -> bool:
    """Returns whether a slice takes the elements that an update replaces."""
    if not isinstance(slice, graph.SliceOp | graph.DynamicSliceOp) or slice.source is not op.source:
        return False
    if shape_of(tensor_type_of(slice.result, slice.name)) != shape_of(tensor_type_of(op.update, op.name)):
        return False
    if isinstance(slice, graph.DynamicSliceOp):
        return op.strides is None and list(slice.starts) == list(op.starts)
    return list(slice.offsets.data) == starts and tuple(slice.strides.data) == op.steps
