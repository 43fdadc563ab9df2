"""Which axes of a kernel stand in one another with nothing beside them."""

from __future__ import annotations

from xdsl.dialects import memref

from ...dialects import sched


def nest_of(kernel: sched.KernelOp) -> list[sched.AxisOp]:
    """
    Returns the axes of a kernel, outermost first, where each is all that stands in the one around it beside
    code without effects.
    """
    nest: list[sched.AxisOp] = []
    block = kernel.body.block
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
