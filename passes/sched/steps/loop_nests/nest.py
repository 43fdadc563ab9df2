"""Loops that stand right inside of one another."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from xdsl.dialects import memref, scf
from xdsl.ir import Operation

from .....dialects import sched
from ....rewriting.value_names import value_names
from .errors import refuse
from .loops import KernelLoop, kernel_around, loop_name


def nest_of(who: str, loops: Sequence[KernelLoop]) -> list[KernelLoop]:
    """
    Returns the loops from the outermost to the innermost.

    Raises:
        ScheduleError: one is given twice, or one is not around or inside of the others.
    """
    for number, op in enumerate(loops):
        if op in loops[:number]:
            refuse(who, op, "it is named twice")
    ordered = sorted(loops, key=_depth)
    for outer, inner in pairwise(ordered):
        if inner.parent_op() is not outer:
            refuse(who, inner, f"it does not stand right inside of {loop_name(outer)}{_place(inner)}")
    return ordered


def _depth(op: Operation) -> int:
    depth, around = 0, op.parent_op()
    while around is not None:
        depth, around = depth + 1, around.parent_op()
    return depth


def _place(op: KernelLoop) -> str:
    around = op.parent_op()
    return f", but of {loop_name(around)}" if isinstance(around, KernelLoop) else ""


def code_between(who: str, outer: KernelLoop, inner: KernelLoop) -> list[Operation]:
    """
    Returns the ops between two loops: values that are computed, without effects, before the inner one. The
    outer one carries no values.

    Raises:
        ScheduleError: there is something else, so that the loops are not perfectly nested.
    """
    block = outer.body.block
    found: list[Operation] = []
    stored = {op.memref for op in inner.walk() if isinstance(op, memref.StoreOp)}
    after = False
    for op in block.ops:
        if op is inner:
            after = True
        elif isinstance(op, scf.YieldOp):
            assert not op.operands, f"{who}: {loop_name(outer)} carries values"
        elif isinstance(op, sched.YieldOp):
            if not (isinstance(inner, sched.ReduceOp) and list(op.values) == [inner.result]):
                refuse(who, outer, f"it does not combine just what {loop_name(inner)} gives")
        elif after or op.regions or not is_movable(op):
            refuse(who, outer, f"{op.name} stands beside {loop_name(inner)} in it (hint: distribute-axis)")
        elif isinstance(op, memref.LoadOp) and op.memref in stored:
            buffer = value_names(kernel_around(op))[op.memref]
            refuse(who, outer, f"%{buffer}, which {loop_name(inner)} stores to, is read in it before")
        else:
            found.append(op)
    return found


def is_movable(op: Operation) -> bool:
    """Returns whether an op may be computed elsewhere, as far as it and not its operands are concerned."""
    # Quotients have no effects either: none that a kernel computes is one by 0.
    return isinstance(op, sched.SCALAR_OPS) and not isinstance(op, memref.StoreOp)
