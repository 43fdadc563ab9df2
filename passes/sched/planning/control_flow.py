"""
Writes control flow of a function as items of its host program: branches, loops and what they carry.

    %y = graph.while (%i = %x) ...         sched.transfer %x to %y
      graph.condition %c           -->     sched.while %c {
    } do {                                   ... %c is computed of %y
      graph.yield %n                       } do {
    }                                        ... %y is changed
                                           }

A loop changes the buffers of what it carries; a branch stores what it yields in the buffers of the results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import PassFailedException

from ....dialects import graph, sched
from .node_placement import Placement, Write
from .plan import Plan


@dataclass
class Scope:
    """
    A block that is being written: `items` takes its items, `targets` are the buffers for the values that it
    yields or returns, `carried` those of the values that the loop around it carries; `in_place` are the
    values that a kernel computes in the memory of a node or of a carried value.
    """

    plan: Plan
    placement: Placement
    items: Block
    targets: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    carried: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    in_place: dict[SSAValue, Write] = field(default_factory=dict[SSAValue, Write])


class ProgramWriter(Protocol):
    """The host program that is written; `buffers` are those of the function's values."""

    buffers: dict[SSAValue, SSAValue]

    def add_item(self, item: Operation, scope: Scope, origin: Operation) -> None:
        """Adds an item to the block of a scope."""
        ...

    def copy(self, source: SSAValue, target: SSAValue, scope: Scope, origin: Operation, why: str) -> None:
        """Adds an item that copies a buffer, if it has elements."""
        ...

    def temporary(self, type: Attribute, origin: Operation, hint: str | None) -> SSAValue:
        """Adds a temporary buffer."""
        ...

    def write_region(
        self,
        plan: Plan,
        block: Block,
        targets: dict[int, SSAValue],
        carried: Mapping[int, tuple[SSAValue, SSAValue]] | None = None,
    ) -> None:
        """
        Writes the items of a region. `targets` are the buffers that take the values it yields, by number;
        `carried` are others by number, each with the value that it holds when the region begins: what is
        yielded takes their places all at once.
        """
        ...


def write_control(op: graph.ControlOp, program: ProgramWriter, scope: Scope) -> None:
    """Adds the item that runs the regions of an op, and what these do. Raises for an op of another kind."""
    match op:
        case graph.IfOp():
            _write_if(program, op, scope)
        case graph.WhileOp():
            _write_while(program, op, scope)
        case graph.ScanOp():
            _write_scan(program, op, scope)
        case _:
            raise PassFailedException(f"{op.name}: cannot schedule (control flow of an unknown kind)")


def _write_if(program: ProgramWriter, op: graph.IfOp, scope: Scope) -> None:
    item = sched.IfOp(program.buffers[op.condition])
    targets: dict[int, SSAValue] = {}
    carried: dict[int, tuple[SSAValue, SSAValue]] = {}
    for number, result in enumerate(op.results):
        before, buffer = scope.placement.overwritten.get(result), program.buffers[result]
        if before is None:
            targets[number] = buffer
        else:
            carried[number] = before, buffer
    for plan, block in zip(scope.plan.bodies[op], item.blocks, strict=True):
        program.write_region(plan, block, targets, carried)
    program.add_item(item, scope, op)


def _write_while(program: ProgramWriter, op: graph.WhileOp, scope: Scope) -> None:
    carried = _begin_loop(program, op, scope)
    before, body = scope.plan.bodies[op]
    before_block, body_block = Block(), Block()
    program.buffers.update(zip(op.before.block.args, carried.values(), strict=True))
    program.write_region(before, before_block, {})
    program.write_region(body, body_block, {}, _held(op.body.block.args, carried))
    condition = program.buffers[op.condition]
    program.add_item(sched.WhileOp(condition, (), Region(before_block), Region(body_block)), scope, op)


def _write_scan(program: ProgramWriter, op: graph.ScanOp, scope: Scope) -> None:
    carried = _begin_loop(program, op, scope)
    counter = None
    if op.counter.first_use is not None:
        counter = program.temporary(op.counter.type, op, op.counter.name_hint)
        program.buffers[op.counter] = counter
    item = sched.ForOp(op.trip_count, counter, op.reverse is not None)
    item.index.location = op.location
    item.index.name_hint = op.counter.name_hint
    inner = item.body.block
    for argument, value in zip(op.slices, op.inputs, strict=True):
        if argument.first_use is not None:
            program.buffers[argument] = _row(program, value, item, op, argument.name_hint)
    (plan,) = scope.plan.bodies[op]
    targets: dict[int, SSAValue] = {}
    last = op.body.block.last_op
    assert isinstance(last, graph.YieldOp), f"{op.name}: the body ends in no graph.yield"
    for number, stack in enumerate(op.stacks, len(op.initial)):
        targets[number] = _row(program, stack, item, op, last.values[number].name_hint)
    program.write_region(plan, inner, targets, _held(op.carried, carried))
    program.add_item(item, scope, op)


def _row(
    program: ProgramWriter, value: SSAValue, loop: sched.ForOp, origin: Operation, hint: str | None
) -> SSAValue:
    row = sched.RowOp(program.buffers[value], loop.index)
    row.location = origin.location
    row.result.name_hint = hint
    loop.body.block.add_op(row)
    return row.result


def _held(
    arguments: Sequence[SSAValue], carried: Mapping[int, SSAValue]
) -> dict[int, tuple[SSAValue, SSAValue]]:
    return {number: (arguments[number], buffer) for number, buffer in carried.items()}


def _begin_loop(
    program: ProgramWriter, op: graph.WhileOp | graph.ScanOp, scope: Scope
) -> dict[int, SSAValue]:
    """Puts the values that a loop begins with where it carries them; returns the buffers by number."""
    carried: dict[int, SSAValue] = {}
    for number, value in enumerate(op.initial):
        carried[number] = buffer = program.buffers[op.results[number]]
        if program.buffers[value] is not buffer:
            program.copy(
                program.buffers[value], buffer, scope, op, "a loop begins with it, and changes its copy"
            )
    return carried
