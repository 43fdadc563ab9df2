"""
Writes updates of boxes at known places as a choice for each element, where that is no more work.

    %y = graph.dynamic_update %x[%c0, %c1], %part
        : tensor<8x10xf32>[tensor<i64>, tensor<i64>], tensor<8x8xf32>

-->

    %inside = graph.pad %true, %false low [0, 1] high [0, 1] : tensor<8x8xi1>
    %there = graph.pad %part, %zero low [0, 1] high [0, 1] : tensor<8x8xf32>
    %y = graph.select %inside, %there, %x : tensor<8x10xf32>

An update stores the box over a copy of its source. A choice is one pass over the elements, and becomes a part
of other kernels. In a loop, and in a branch in it, an update needs no copy: it stores over the value that the
loop carries. There it stays as it is, but for boxes of more than half of the elements whose kernel would read
other elements of the source than those it stores over: these would be stored twice. What another update made
of the source is none of them: it has a kernel of its own.

Requires: nothing. Ensures: what the module computes is unchanged; updates remain at places that are computed,
and in loops.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import Block, BlockArgument, Operation
from xdsl.passes import ModulePass

from ....dialects import graph
from ....dialects.dims.expressions import upper_bound
from ....dialects.graph.types import shape_of, tensor_of, tensor_type_of
from ..builder import GraphBuilder
from .updated_boxes import known_starts, reads_beside


@dataclass(frozen=True)
class ExpandUpdatesPass(ModulePass):
    """Writes updates of boxes at known places as a choice for each element, where that is no more work."""

    name = "expand-updates"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for update in [inner for inner in op.walk() if isinstance(inner, graph.DynamicUpdateOp)]:
            starts = known_starts(update)
            if starts is not None and not _is_better_in_place(update, starts):
                _expand(update, starts)


def _is_better_in_place(op: graph.DynamicUpdateOp, starts: list[int]) -> bool:
    """Returns whether the source may be stored over, as a value of a loop's body, and little of it is."""
    source = op.source
    made_in = source.block if isinstance(source, BlockArgument) else source.owner.parent
    if made_in not in _blocks_of_a_loop(op):
        return False
    shape, sizes = (shape_of(tensor_type_of(value, op.name)) for value in (source, op.update))
    is_small = 2 * prod(map(upper_bound, sizes)) <= prod(map(upper_bound, shape))
    return is_small or not reads_beside(op.update, op, starts)


def _blocks_of_a_loop(op: Operation) -> list[Block]:
    """Returns the blocks around an op up to the body of the first loop, nothing outside of loops."""
    found: list[Block] = []
    block = op.parent
    while block is not None:
        found.append(block)
        around = block.parent_op()
        if isinstance(around, graph.ScanOp | graph.WhileOp):
            return found
        block = around.parent if isinstance(around, graph.IfOp) else None
    return []


def _expand(op: graph.DynamicUpdateOp, starts: list[int]) -> None:
    builder = GraphBuilder(op)
    type = tensor_type_of(op.source, op.name)
    shape, sizes = shape_of(type), shape_of(tensor_type_of(op.update, op.name))
    if 0 in sizes:
        value = op.source
    elif sizes == shape:
        value = op.update
    else:
        high = [
            upper_bound(extent) - start - upper_bound(span)
            for extent, start, span in zip(shape, starts, op.spans, strict=True)
        ]
        between = [step - 1 for step in op.steps]
        mask = tensor_of(i1, sizes)
        true = builder.add(graph.BroadcastOp(builder.scalar(1, i1), mask))
        inside = builder.add(graph.PadOp(true, builder.scalar(0, i1), starts, high, between))
        zero = builder.scalar(0, type.element_type)
        there = builder.add(graph.PadOp(op.update, zero, starts, high, between))
        value = builder.add(graph.SelectOp(inside, there, op.source), op.result.name_hint)
    op.result.replace_all_uses_with(value)
    op.detach()
    op.erase()
