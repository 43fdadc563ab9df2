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
these is less work, and a mask that leaves elements as they are needs no work for them. So it is with two
values that are made of parts of one another: whichever is stored over first, the other needs what it was.

Requires: nothing. Ensures: what the module computes is unchanged, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from ....dialects import graph
from ....dialects.dims.expressions import upper_bound
from ....dialects.graph import MemoryModeAttr
from ....dialects.graph.control import yield_of
from ....dialects.graph.types import shape_of, tensor_type_of
from ....dialects.memory_modes import ModeKind

# `python -m benchmarks.thresholds` shows what each limit is worth.

LEAST_SHARE = 8
"""How many times as many elements as are copied of it a value has, at least."""

WHY = "a part of what a loop stores over"

_PARTS = (graph.SliceOp, graph.DynamicSliceOp, graph.GatherOp)

_Parts: TypeAlias = dict[BlockArgument, dict[Operation, None]]
"""Ops that read a part of a carried value, or of a step to its next one, by that value."""


@dataclass(frozen=True)
class CopyCarriedPartsPass(ModulePass):
    """Copies the small parts of what a loop carries that its next value is made of."""

    name = "copy-carried-parts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in [inner for inner in op.walk() if isinstance(inner, graph.ScanOp | graph.WhileOp)]:
            block = loop.body.block
            end = yield_of(block, loop.name, "body")
            arguments = loop.carried if isinstance(loop, graph.ScanOp) else block.args
            carried = dict(zip(arguments, end.values, strict=False))
            steps = {each: _steps(value, each, block) for each, value in carried.items()}
            stored_over = {step: each for each, found in steps.items() if each in found for step in found}
            reads = {
                each: _parts_read(value, each, steps[each], stored_over, block)
                for each, value in carried.items()
            }
            for part in _in_the_way(reads):
                part.attributes.setdefault("memory_mode", MemoryModeAttr(ModeKind.MATERIALIZED, WHY))


def _parts_read(
    value: SSAValue,
    carried: BlockArgument,
    own: AbstractSet[SSAValue],
    stored_over: Mapping[SSAValue, BlockArgument],
    block: Block,
) -> _Parts:
    """
    Returns the parts that the next value of a carried one is made of, beside the elements that each step
    stores over, by what they are parts of, which is stored over too. Of the carried value itself there are
    none where more of it is read beside these. `own` are the steps to the value, and `stored_over` has what
    each step of a value that is stored over is a step of.
    """
    if carried not in own:
        return {}
    waiting: list[tuple[SSAValue, bool]] = [(value, True)]
    seen = set[tuple[SSAValue, bool]]()
    parts: _Parts = {}
    is_read_beside = False
    while waiting:
        entry = waiting.pop()
        if entry in seen:
            continue
        seen.add(entry)
        each, is_same = entry
        is_read_beside = is_read_beside or (each is carried and not is_same)
        op = each.owner
        if not isinstance(op, graph.GraphOp) or op.parent is not block:
            continue
        if isinstance(op, _PARTS) and op.source in own and LEAST_SHARE * _count(each) <= _count(carried):
            parts.setdefault(carried, {})[op] = None
            # Of the source, the copy reads what is to be stored over later on.
            waiting.extend((operand, operand is op.source) for operand in op.operands)
        elif isinstance(op, graph.DynamicUpdateOp | graph.ScatterOp):
            waiting.extend((operand, is_same and operand is op.source) for operand in op.operands)
        elif not op.IS_HEAVY or isinstance(op, graph.ElementwiseOp):
            other = stored_over.get(op.source) if isinstance(op, _PARTS) else None
            if other not in (None, carried) and LEAST_SHARE * _count(each) <= _count(other):
                parts.setdefault(other, {})[op] = None
            same = is_same and isinstance(op, graph.ElementwiseOp)
            waiting.extend((operand, same) for operand in op.operands)
    if is_read_beside:
        parts.pop(carried, None)
    return parts


def _in_the_way(reads: Mapping[BlockArgument, _Parts]) -> list[Operation]:
    """
    Returns the parts that keep a value from being stored over: those of the value itself, and of two that are
    made of one another's parts, none of which can be stored over before the other, those of both.
    """
    return [
        part
        for carried, parts in reads.items()
        for source, found in parts.items()
        if source is carried or carried in _read_by(source, reads)
        for part in found
    ]


def _read_by(carried: BlockArgument, reads: Mapping[BlockArgument, _Parts]) -> set[BlockArgument]:
    """Returns the other values of whose parts a next value is made, and what those are made of."""
    found, waiting = set[BlockArgument](), [carried]
    while waiting:
        here = waiting.pop()
        new = [each for each in reads[here] if each is not here and each not in found]
        found.update(new)
        waiting += new
    return found


def _steps(value: SSAValue, carried: BlockArgument, block: Block) -> set[SSAValue]:
    """Returns what can be stored over one another, from a carried value to its next one: all of one shape."""
    found = set[SSAValue]()
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if each in found or each.type != carried.type:
            continue
        found.add(each)
        op = each.owner
        if not isinstance(op, graph.GraphOp) or op.parent is not block:
            continue
        if isinstance(op, graph.DynamicUpdateOp | graph.ScatterOp):
            waiting.append(op.source)
        elif isinstance(op, graph.ElementwiseOp):
            waiting.extend(op.operands)
    return found


def _count(value: SSAValue) -> int:
    return prod(upper_bound(extent) for extent in shape_of(tensor_type_of(value, "graph.scan")))
