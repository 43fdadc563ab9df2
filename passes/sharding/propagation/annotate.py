"""Writes down how the values of a function are split."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import StringAttr, TensorType, UnitAttr
from xdsl.dialects.shard import ShardingOp, ShardOp
from xdsl.ir import Operation, SSAValue

from ....dialects.graph.types import tensor_type_of
from ....dialects.sharding import Sharding, set_shardings
from .decisions import Decisions

REASON = "tenon.reason"
"""The attribute of a `shard.shard` that says why."""


def annotate(function: func.FuncOp, decisions: Decisions) -> None:
    """Puts a `shard.shard` after every value that has dims, and before what reads it split in another way."""
    block = function.body.block
    values = [
        value
        for value in decisions.homes
        if isinstance(value.type, TensorType) and tensor_type_of(value, REASON).get_num_dims()
    ]
    said = [decisions.homes[value] for value in values]
    read = [sharding for sharding in decisions.reads.values() if sharding.split]
    writer = _Writer(function, decisions, list(dict.fromkeys((*said, *read))))
    set_shardings(function, [decisions.homes[argument] for argument in block.args], decisions.results)
    for value in values:
        writer.write(value)


class _Writer:
    def __init__(self, function: func.FuncOp, decisions: Decisions, shardings: Sequence[Sharding]) -> None:
        self._block = function.body.block
        self._decisions = decisions
        self._location = function.location
        first = self._block.first_op
        assert first is not None, "a block without an op"
        self._first = first
        self._shardings: dict[Sharding, ShardingOp] = {}
        for sharding in shardings:
            op = sharding.op(decisions.mesh)
            op.location = self._location
            op.result.name_hint = "whole" if sharding.is_whole else "split"
            self._block.insert_op_before(op, first)
            self._shardings[sharding] = op

    def write(self, value: SSAValue) -> None:
        decisions = self._decisions
        is_said = isinstance(value.owner, ShardOp)
        uses = sorted(value.uses, key=lambda use: use.index)
        at = value
        if not is_said:
            at = self._after(value, value, decisions.homes[value], decisions.reasons[value], is_read=False)
        else:
            assert isinstance(value.owner, ShardOp), "no shard.shard"
            value.owner.operands[1] = self._shardings[decisions.homes[value]].result
            value.owner.properties["annotate_for_users"] = UnitAttr()
        reads: dict[Sharding, SSAValue] = {}
        for use in uses:
            wanted = decisions.reads.get((use.operation, use.index))
            if wanted is None:
                use.operation.operands[use.index] = at
                continue
            if wanted not in reads:
                reads[wanted] = self._after(
                    at, value, wanted, f"as {use.operation.name} reads it", is_read=True
                )
            use.operation.operands[use.index] = reads[wanted]

    def _after(
        self, value: SSAValue, whose: SSAValue, sharding: Sharding, reason: str, is_read: bool
    ) -> SSAValue:
        said = self._shardings[sharding]
        op = ShardOp(value, said.result, UnitAttr() if is_read else None)
        op.attributes[REASON] = StringAttr(reason)
        op.result.name_hint = whose.name_hint
        owner = value.owner
        if isinstance(owner, Operation):
            op.location = owner.location
            block = owner.parent
            assert block is not None, f"{owner.name} is in no block"
            block.insert_op_after(op, owner)
        else:
            op.location = self._location
            first = self._first if owner is self._block else owner.first_op
            assert first is not None, "a block without an op"
            owner.insert_op_before(op, first)
        return op.result
