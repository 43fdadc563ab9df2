"""Axes of a kernel that stand in one another with nothing beside them: which they are, and another order."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.ir import Block, Operation

from ...dialects import sched


def nest_of(kernel: sched.KernelOp) -> list[sched.AxisOp]:
    """
    Returns the axes of a kernel, outermost first, where each is all that stands in the one around it beside
    code without effects.
    """
    return nest_in(kernel.body.block)


def axes_inside(axis: sched.AxisOp) -> list[sched.AxisOp]:
    """Returns an axis and those in it, outermost first, as `nest_of` does."""
    return [axis, *nest_in(axis.body.block)]


def axes_around(op: Operation) -> list[sched.AxisOp]:
    """Returns the axes that an op stands in, outermost first."""
    found: list[sched.AxisOp] = []
    around = op.parent_op()
    while around is not None:
        if isinstance(around, sched.AxisOp):
            found.insert(0, around)
        around = around.parent_op()
    return found


def nest_in(block: Block) -> list[sched.AxisOp]:
    """As `nest_of`, of what stands in a block."""
    nest: list[sched.AxisOp] = []
    while True:
        inner = [op for op in block.ops if isinstance(op, sched.AxisOp)]
        if not inner:
            return nest
        others = [op for op in block.ops if op is not inner[0]]
        if len(inner) > 1 or any(
            op.regions or isinstance(op, memref.StoreOp | sched.AllocOp) for op in others
        ):
            return nest
        nest.append(inner[0])
        block = inner[0].body.block


def whole_nest(block: Block) -> list[sched.AxisOp]:
    """As `nest_in`, where that is all that runs: none where the innermost has more axes, or one a count."""
    nest = nest_in(block)
    inner = nest[-1].body.block if nest else block
    has_more = any(isinstance(op, sched.AxisOp) for op in inner.ops)
    return [] if has_more or any(axis.count is not None for axis in nest) else nest


def nest_from(axis: sched.AxisOp) -> list[sched.AxisOp]:
    """Returns an axis and those in it, as `whole_nest` does."""
    inner = whole_nest(axis.body.block)
    has_more = any(isinstance(op, sched.AxisOp) for op in axis.body.block.ops)
    return [axis, *inner] if axis.count is None and (inner or not has_more) else []


def interchange(nest: list[sched.AxisOp], order: Sequence[sched.AxisOp]) -> None:
    """Puts the axes of a nest into another order; what stood between them moves into the innermost."""
    if list(order) == nest:
        return
    inner = nest[-1].body.block
    for axis in reversed(nest[:-1]):
        first = inner.first_op
        for op in list(axis.body.block.ops):
            if not isinstance(op, sched.AxisOp):
                op.detach()
                if first is None:
                    inner.add_op(op)
                else:
                    inner.insert_op_before(op, first)
    body: list[Operation] = list(inner.ops)
    place = nest[0].parent
    assert place is not None, "an axis that stands nowhere"
    before = nest[0].prev_op
    for axis in nest:
        axis.detach()
    for op in body:
        op.detach()
    block = place
    for axis in order:
        if block is place and before is not None:
            place.insert_op_after(axis, before)
        elif block is place and place.first_op is not None:
            place.insert_op_before(axis, place.first_op)
        else:
            block.add_op(axis)
        block = axis.body.block
    for op in body:
        block.add_op(op)
