"""
Brings a function with control flow, or with updates, into the form that it is planned in.

* a marker is gone: what `graph.materialize` marks asks for a buffer, what `graph.detach` marks for nothing
* what costs no more than an index computation, or is one constant, is computed in each region that reads it,
  and not kept in a buffer for it
* each value that a loop begins with, where it is such a one, is an op of its own, so that it can be computed
  in the memory that the loop changes; and so is one constant that an update stores over, so that what else
  reads it need not load it
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import Block, Operation
from xdsl.utils.exceptions import PassFailedException

from ....dialects import graph
from ....dialects.graph import MemoryModeAttr
from ....dialects.memory_modes import ModeKind
from .op_kinds import UPDATING_OPS, VIEW_OPS

_ASKED = "asked for by graph.materialize"


def prepare_regions(function: func.FuncOp) -> None:
    """
    Prepares a function of one block.

    Raises:
        PassFailedException: a value that is to be materialized has another memory mode already.
    """
    changes = (graph.ControlOp, graph.MarkerOp, *UPDATING_OPS)
    if any(isinstance(op, changes) for op in function.body.block.ops):
        _drop_markers(function)
        _prepare_block(function.body.block)


def _drop_markers(function: func.FuncOp) -> None:
    for op in list(function.walk()):
        if not isinstance(op, graph.MarkerOp):
            continue
        source = op.source
        if isinstance(op, graph.MaterializeOp) and isinstance(source.owner, graph.GraphOp):
            _ask_for_buffer(source.owner)
        op.result.replace_all_uses_with(source)
        op.detach()
        op.erase()


def _ask_for_buffer(op: Operation) -> None:
    asked = op.attributes.get("memory_mode")
    if isinstance(asked, MemoryModeAttr) and asked.mode.data is not ModeKind.MATERIALIZED:
        raise PassFailedException(
            f"{op.name}: cannot be materialized ({_ASKED}), {asked.mode.data.value} is asked for by "
            f'"{asked.why.data}"'
        )
    if asked is None:
        op.attributes["memory_mode"] = MemoryModeAttr(ModeKind.MATERIALIZED, _ASKED)


def _prepare_block(block: Block) -> None:
    copies: dict[Operation, Operation] = {}
    for op in list(block.ops):
        if isinstance(op, graph.ControlOp):
            if isinstance(op, graph.WhileOp | graph.ScanOp):
                _own_initial(op, len(op.initial))
            for region in op.regions:
                _prepare_block(region.block)
        elif isinstance(op, UPDATING_OPS) and _is_splat(op.source.owner):
            _own_operand(op, op.operands.index(op.source))
        _sink_operands(op, block, copies)
    anchor = block.first_op
    assert anchor is not None, "a region has no op"
    block.insert_ops_before(list(copies.values()), anchor)


def _sink_operands(op: Operation, block: Block, copies: dict[Operation, Operation]) -> None:
    """
    Has an op of `block` read copies of its cheap operands from outside. `copies` are the copies so far, each
    after those that it reads itself; they stand in no block yet.
    """
    for number, operand in enumerate(op.operands):
        owner = operand.owner
        if not isinstance(owner, Operation) or owner.parent is block or not _is_cheap(owner):
            continue
        op.operands[number] = _copied(owner, block, copies).results[0]
        if all(result.first_use is None for result in owner.results):
            owner.detach()
            owner.erase()


def _copied(op: Operation, block: Block, copies: dict[Operation, Operation]) -> Operation:
    known = copies.get(op)
    if known is not None:
        return known
    copy = _clone(op)
    _sink_operands(copy, block, copies)
    copies[op] = copy
    return copy


def _own_initial(op: graph.WhileOp | graph.ScanOp, count: int) -> None:
    """Gives each of the first `count` operands of a loop that costs nothing an op of its own."""
    for number in range(count):
        owner = op.operands[number].owner
        if isinstance(owner, Operation) and _is_cheap(owner):
            _own_operand(op, number)


def _own_operand(op: Operation, number: int) -> None:
    """Gives an operand that something else reads too an op of its own."""
    block, owner = op.parent, op.operands[number].owner
    assert block is not None, f"{op.name}: stands in no block"
    if isinstance(owner, Operation) and not op.operands[number].has_one_use():
        copy = _clone(owner)
        block.insert_op_before(copy, op)
        op.operands[number] = copy.results[0]


def _clone(op: Operation) -> Operation:
    copy = op.clone()
    copy.location = op.location
    for new, old in zip(copy.results, op.results, strict=True):
        new.name_hint = old.name_hint
    return copy


def _is_cheap(op: Operation) -> bool:
    asked = op.attributes.get("memory_mode")
    if isinstance(asked, MemoryModeAttr) and asked.mode.data is ModeKind.MATERIALIZED:
        return False
    return isinstance(op, VIEW_OPS) or _is_splat(op)


def _is_splat(op: Operation | Block) -> bool:
    return isinstance(op, graph.ConstantOp) and op.value.is_splat()
