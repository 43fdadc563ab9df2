"""Reductions of loops and branches of functions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from ....dialects import graph
from ..search import Edit, Edits, NotApplicable
from .surgery import add_argument, constant_of, erase_all, free_functions, function_around, move_body


class TakeRegion(Edits):
    """
    Puts one region of a branch, or one iteration of a loop, in its place. The slices that a scan takes come
    in as arguments; what it stacks is the only element of its stack.
    """

    name = "unwrap regions"

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        edits: list[Edit] = []
        for op in reversed([op for op in module.walk() if isinstance(op, graph.ControlOp)]):
            for region in range(len(op.regions)):
                edits.append(lambda op=op, region=region: _take(module, op, region))
        return edits


def _take(module: ModuleOp, op: graph.ControlOp, region: int) -> None:
    if op.parent is None:
        return
    block = op.regions[region].block
    match op:
        case graph.IfOp():
            values = move_body(block, [], op)
        case graph.WhileOp():
            # Of the condition nothing is left: either no iteration takes place, or one.
            values = list(op.initial) if region == 0 else move_body(block, op.initial, op)
        case graph.ScanOp():
            function = function_around(op)
            if function not in free_functions(module):
                raise NotApplicable("its function cannot have more arguments")
            assert function is not None, "not in a list of functions"
            counter = constant_of(op.counter.type, 0)
            op.parent.insert_op_before(counter, op)
            slices = [add_argument(function, slice.type, slice.name_hint) for slice in op.slices]
            values = move_body(block, [counter.results[0], *op.initial, *slices], op)
            for number, stack in enumerate(op.stacks, len(op.initial)):
                if not stack.uses:
                    continue
                as_stack = graph.ReshapeOp(values[number], graph.tensor_type_of(stack, op.name))
                op.parent.insert_op_before(as_stack, op)
                values[number] = as_stack.result
        case _:
            raise NotApplicable(f"nothing is known about {op.name}")
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    erase_all([op])
