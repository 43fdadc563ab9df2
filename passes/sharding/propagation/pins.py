"""What is annotated in a function."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.shard import ShardingOp, ShardOp
from xdsl.ir import SSAValue

from ....dialects import graph
from ....dialects.sharding import (
    Mesh,
    Sharding,
    argument_shardings,
    checked_sharding,
    result_shardings,
    said_by,
)
from ..manual import shardings_of
from ..ties import is_stack


@dataclass(frozen=True)
class Pins:
    """How the annotated values are split, and the function's results, None for those that do not say."""

    values: dict[SSAValue, Sharding]
    results: tuple[Sharding | None, ...]


def pins_of(function: func.FuncOp, mesh: Mesh) -> Pins:
    """
    Returns what a function is annotated with, and what its manual computations give, and takes the ops out
    that say no more: those that annotate a value for the first time, or say the same again.

    Raises TenonError, with the place, for a sharding that does not fit its value.
    """
    values: dict[SSAValue, Sharding] = {}
    for argument, sharding in zip(function.body.block.args, argument_shardings(function), strict=True):
        if sharding is not None:
            values[argument] = checked_sharding(sharding, argument, mesh, function)
    for op in function.walk():
        if isinstance(op, graph.ManualComputationOp):
            values |= zip(op.results, shardings_of(op.out_splits, mesh), strict=True)
    for op in [each for each in function.walk() if isinstance(each, ShardOp)]:
        sharding = said_by(op, mesh)
        # What is stacked is split as it is read, not as it is written.
        is_first = op.src not in values and op.annotate_for_users is None and not is_stack(op.src)
        if is_first or values.get(op.src) == sharding:
            values[op.src] = sharding
            op.result.replace_all_uses_with(op.src)
            op.detach()
            op.erase()
        else:
            values[op.result] = sharding
    for op in [each for each in function.walk() if isinstance(each, ShardingOp) and not each.result.uses]:
        op.detach()
        op.erase()
    last = function.body.block.last_op
    assert isinstance(last, func.ReturnOp), "a function that ends in no func.return"
    results = [
        None if sharding is None else checked_sharding(sharding, value, mesh, function)
        for value, sharding in zip(last.operands, result_shardings(function), strict=True)
    ]
    return Pins(values, tuple(results))
