"""
Copies the small parts of what a loop carries that its next value is made of, so that it is stored in place.

    %y = graph.scan %i = 200 (%c = %x) : (tensor<200x200xf32>) -> (tensor<200x200xf32>) {
      %row = graph.dynamic_slice %c[%i, %zero] sizes [1, 200] : ...
      ... the next value of %c, of its own elements and those of %row ...
    }

-->

      %row = graph.dynamic_slice %c[%i, %zero] sizes [1, 200]
          {memory_mode = #graph.memory_mode<materialized, "a part of what a loop stores over">} : ...

A kernel cannot store over a value of which another iteration of it reads that element: what it computes lies
in another buffer, as large as the value. Where all such elements are in a few rows or columns, a copy of
these is less work, and a mask that leaves elements as they are needs no work for them.

Requires: nothing. Ensures: what the module computes is unchanged, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from ....dialects import graph
from ....dialects.dims.expressions import upper_bound
from ....dialects.graph import MemoryModeAttr
from ....dialects.graph.types import shape_of, tensor_type_of
from ....dialects.memory_modes import ModeKind

# `python -m benchmarks.thresholds` shows what each limit is worth.

LEAST_SHARE = 8
"""How many times as many elements as are copied of it a value has, at least."""

WHY = "a part of what a loop stores over"

_PARTS = (graph.SliceOp, graph.DynamicSliceOp, graph.GatherOp)


@dataclass(frozen=True)
class CopyCarriedPartsPass(ModulePass):
    """Copies the small parts of what a loop carries that its next value is made of."""

    name = "copy-carried-parts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in [inner for inner in op.walk() if isinstance(inner, graph.ScanOp)]:
            end = loop.body.block.last_op
            assert isinstance(end, graph.YieldOp), f"{loop.name}: ends in no graph.yield"
            for carried, value in zip(loop.carried, end.operands, strict=False):
                for part in _parts_read(value, carried, loop):
                    part.attributes.setdefault("memory_mode", MemoryModeAttr(ModeKind.MATERIALIZED, WHY))


def _parts_read(value: SSAValue, carried: BlockArgument, loop: graph.ScanOp) -> list[Operation]:
    """
    Returns the parts that the next value of a carried one is made of, beside the elements that each step
    stores over; none where more of it is read beside these, or where it is not stored over.
    """
    steps = _steps(value, carried, loop)
    if carried not in steps:
        return []
    waiting: list[tuple[SSAValue, bool]] = [(value, True)]
    seen = set[tuple[SSAValue, bool]]()
    parts: dict[Operation, None] = {}
    while waiting:
        entry = waiting.pop()
        if entry in seen:
            continue
        seen.add(entry)
        each, is_same = entry
        if each is carried and not is_same:
            return []
        op = each.owner
        if not isinstance(op, graph.GraphOp) or op.parent is not loop.body.block:
            continue
        if isinstance(op, _PARTS) and op.source in steps and LEAST_SHARE * _count(each) <= _count(carried):
            parts[op] = None
            # Of the source, the copy reads what is to be stored over later on.
            waiting.extend((operand, operand is op.source) for operand in op.operands)
        elif isinstance(op, graph.DynamicUpdateOp | graph.ScatterOp):
            waiting.extend((operand, is_same and operand is op.source) for operand in op.operands)
        elif not op.IS_HEAVY or isinstance(op, graph.ElementwiseOp):
            same = is_same and isinstance(op, graph.ElementwiseOp)
            waiting.extend((operand, same) for operand in op.operands)
    return list(parts)


def _steps(value: SSAValue, carried: BlockArgument, loop: graph.ScanOp) -> set[SSAValue]:
    """Returns what can be stored over one another, from a carried value to its next one: all of one shape."""
    found = set[SSAValue]()
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if each in found or each.type != carried.type:
            continue
        found.add(each)
        op = each.owner
        if not isinstance(op, graph.GraphOp) or op.parent is not loop.body.block:
            continue
        if isinstance(op, graph.DynamicUpdateOp | graph.ScatterOp):
            waiting.append(op.source)
        elif isinstance(op, graph.ElementwiseOp):
            waiting.extend(op.operands)
    return found


def _count(value: SSAValue) -> int:
    return prod(upper_bound(extent) for extent in shape_of(tensor_type_of(value, "graph.scan")))
