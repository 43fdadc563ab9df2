"""
Which small sums of all ranks are sent as one.

They are neighbours among the collectives of a block, of one kind, element type and group, and none needs the
result of another: in the program over the mesh, so that this is the same for all ranks. They get the
attribute `bundle`, a number for each bundle, which schedule-collectives obeys.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, SSAValue

from ...dialects import graph
from ...dialects.collective import BUNDLE
from ...dialects.element_types import NBYTES, element_type_of
from .rules import extents

MOST_NBYTES = 1 << 16
"""What is larger takes longer to send than to begin."""

_Sum = tuple[graph.AllReduceOp, Operation]


def bundle(sums: Sequence[_Sum]) -> None:
    """Bundles sums, each with the op of the program over the mesh that it finishes."""
    finished = dict(sums)
    number = 0
    for block in dict.fromkeys(total.parent for total, _ in sums):
        assert block is not None, "a sum in no block"
        run: list[_Sum] = []
        for op in [*block.ops, None]:
            if op is not None and not isinstance(op, graph.CollectiveOp | graph.ControlOp):
                continue
            following = (op, finished[op]) if isinstance(op, graph.AllReduceOp) and op in finished else None
            if following is not None and _joins(run, following):
                run.append(following)
                continue
            if len(run) > 1:
                number += 1
                for total, _ in run:
                    total.attributes[BUNDLE] = IntegerAttr(number, i64)
            run = [following] if following is not None and _is_small(following[0]) else []


def _joins(run: Sequence[_Sum], following: _Sum) -> bool:
    """Returns whether a sum can be sent with those of a run, of which there is one."""
    total, op = following
    if not run or not _is_small(total):
        return False
    first = run[0][0]
    is_alike = (total.kind, total.axes, total.grid) == (first.kind, first.axes, first.grid)
    is_of_one_type = element_type_of(total.result.type) == element_type_of(first.result.type)
    return (
        is_alike
        and is_of_one_type
        and not _needs(op, [result for _, other in run for result in other.results])
    )


def _is_small(total: graph.AllReduceOp) -> bool:
    shape = [extent for extent in extents(total.result) if isinstance(extent, int)]
    return (
        len(shape) == len(extents(total.result))
        and prod(shape) * NBYTES[element_type_of(total.result.type)] <= MOST_NBYTES
    )


def _needs(op: Operation, values: Sequence[SSAValue]) -> bool:
    """Returns whether one of some values, or what is made of it, is an operand of an op of their block."""
    waiting, seen = [op], {op}
    while waiting:
        for inner in waiting.pop().walk():
            for operand in inner.operands:
                if operand in values:
                    return True
                owner = operand.owner
                if isinstance(owner, Operation) and owner not in seen:
                    seen.add(owner)
                    waiting.append(owner)
    return False
