"""Lowers the loops and branches of the serial code in a `sched.kernel`: they stay what they are."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import PassFailedException

from .lanes import LanedValue
from .state import KernelState

SerialOp = scf.ForOp | scf.IfOp | scf.WhileOp


def lower_serial(state: KernelState, op: SerialOp) -> None:
    """Raises PassFailedException, naming the op, where an axis around it runs in lanes."""
    if state.lanes.axes:
        hint = state.lanes.axes[-1].axis.hint
        raise PassFailedException(f"{op.name}: cannot stand under axis %{hint} (it runs in lanes)")
    match op:
        case scf.ForOp():
            _lower_for(state, op)
        case scf.IfOp():
            _lower_if(state, op)
        case scf.WhileOp():
            _lower_while(state, op)


def _lower_for(state: KernelState, op: scf.ForOp) -> None:
    block = op.body.block
    begin, end, step = (_value(state, op, bound) for bound in (op.lb, op.ub, op.step))

    def body(index: SSAValue, carried: Sequence[SSAValue]) -> list[SSAValue]:
        state.writer.homes[index] = state.writer.point
        _bind(state, block.args, [index, *carried])
        return _lower_block(state, block)

    results = state.writer.loop(
        (begin, end, step),
        [_value(state, op, start) for start in op.iter_args],
        body,
        op.location,
        block.args[0].name_hint,
    )
    _bind(state, op.results, results)


def _lower_if(state: KernelState, op: scf.IfOp) -> None:
    condition = state.scalars[op.cond].pick((), ())
    writer = state.writer
    true_block, false_block = Block(), Block()
    has_else = bool(op.false_region.blocks)
    regions = [Region(true_block), Region(false_block) if has_else else Region()]
    new = scf.IfOp.create(
        operands=(condition,), result_types=[result.type for result in op.results], regions=regions
    )
    with writer.open(new, op.location):
        writer.fill(true_block, lambda _: _lower_block(state, op.true_region.block), op.location)
        if has_else:
            writer.fill(false_block, lambda _: _lower_block(state, op.false_region.block), op.location)
    _bind_results(state, op, new)


def _lower_while(state: KernelState, op: scf.WhileOp) -> None:
    writer = state.writer
    initial = [_value(state, op, value) for value in op.arguments]
    before, body = op.before_region.block, op.after_region.block
    new_before = Block(arg_types=[value.type for value in initial])
    new_body = Block(arg_types=[result.type for result in op.results])
    new = scf.WhileOp.create(
        operands=initial,
        result_types=[result.type for result in op.results],
        regions=[Region(new_before), Region(new_body)],
    )

    def write_before(arguments: Sequence[SSAValue]) -> list[SSAValue]:
        _bind(state, before.args, arguments)
        return _lower_block(state, before)

    def write_body(arguments: Sequence[SSAValue]) -> list[SSAValue]:
        _bind(state, body.args, arguments)
        return _lower_block(state, body)

    with writer.open(new, op.location):
        writer.fill(new_before, write_before, op.location, scf.ConditionOp)
        writer.fill(new_body, write_body, op.location)
    _bind_results(state, op, new)


def _lower_block(state: KernelState, block: Block) -> list[SSAValue]:
    """Lowers the ops of a block and returns the operands of its terminator."""
    state.lower_block(block)
    last = block.last_op
    if not isinstance(last, scf.YieldOp | scf.ConditionOp):
        return []
    return [_value(state, last, operand) for operand in last.operands]


def _value(state: KernelState, op: Operation, value: SSAValue) -> SSAValue:
    """Returns what a scalar or an index that `op` uses is in the `low` kernel."""
    if isinstance(value.type, IndexType):
        return state.indices.write_for(op, state.analysis.expr(value))
    return state.scalars[value].pick((), ())


def _bind_results(state: KernelState, op: Operation, new: Operation) -> None:
    for result in new.results:
        state.writer.homes[result] = state.writer.point
    _bind(state, op.results, new.results)


def _bind(state: KernelState, names: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
    for name, value in zip(names, values, strict=True):
        if value.name_hint is None:
            value.name_hint = name.name_hint
        state.scalars[name] = LanedValue((), {(): value}, False)
