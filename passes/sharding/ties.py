"""Which values of loops and branches are split alike."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ...dialects import graph


@dataclass(frozen=True)
class Tie:
    """Two values of which dim k of the one is dim k + `offset` of the other. They are split alike there."""

    value: SSAValue
    other: SSAValue
    offset: int = 0


def ties_of(op: Operation) -> list[Tie]:
    """Returns what an op with regions hands on: what is carried, sliced, stacked and yielded."""
    match op:
        case graph.ScanOp():
            yielded = _ends(op, 0)
            count = len(op.initial)
            ties = [
                Tie(result, other)
                for result, *others in zip(
                    op.results[:count], op.initial, op.carried, yielded[:count], strict=True
                )
                for other in others
            ]
            ties += [Tie(row, value, 1) for row, value in zip(op.slices, op.inputs, strict=True)]
            return ties + [Tie(row, stack, 1) for row, stack in zip(yielded[count:], op.stacks, strict=True)]
        case graph.WhileOp():
            carried = zip(
                op.results, op.initial, op.before.block.args, op.body.block.args, _ends(op, 1), strict=True
            )
            return [Tie(result, other) for result, *others in carried for other in others]
        case graph.IfOp():
            return [
                Tie(result, value)
                for number in range(2)
                for result, value in zip(op.results, _ends(op, number), strict=True)
            ]
        case _:
            return []


def _ends(op: Operation, region: int) -> list[SSAValue]:
    """Returns the operands of the op that ends a region."""
    last = op.regions[region].block.last_op
    assert last is not None, f"{op.name}: a region that ends in nothing"
    return list(last.operands)


def carried_arguments(op: Operation) -> list[tuple[SSAValue, ...]]:
    """Returns for each result of an op the arguments of its regions that are carried to it."""
    match op:
        case graph.ScanOp():
            return [*((argument,) for argument in op.carried), *(() for _ in op.stacks)]
        case graph.WhileOp():
            return list(zip(op.before.block.args, op.body.block.args, strict=True))
        case _:
            return [() for _ in op.results]


def is_stack(value: SSAValue) -> bool:
    """Returns whether a value is what a scan stacks: every rank has an element of each iteration."""
    owner = value.owner
    return isinstance(owner, graph.ScanOp) and value in owner.stacks
