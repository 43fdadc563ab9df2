"""Which axes of a kernel stand in one another with nothing beside them."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.ir import Block

from ...dialects import sched


def nest_of(kernel: sched.KernelOp) -> list[sched.AxisOp]:
    """
    Returns the axes of a kernel, outermost first, where each is all that stands in the one around it beside
    code without effects.
    """
    return _nest_in(kernel.body.block)


def axes_inside(axis: sched.AxisOp) -> list[sched.AxisOp]:
    """Returns an axis and those in it, outermost first, as `nest_of` does."""
    return [axis, *_nest_in(axis.body.block)]


def _nest_in(block: Block) -> list[sched.AxisOp]:
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
