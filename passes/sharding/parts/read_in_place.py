"""
Elementwise ops of which each rank computes what it puts into its part of a larger value.

The inside of an array, as a stencil writes it, is split into blocks that begin at other elements than those
of the array: computed in its own blocks, its rows would be sent on to where they are put, beside those that
it is made of. It is computed where it is put instead, as slices and pads are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from xdsl.dialects.shard import ShardOp
from xdsl.ir import Block, Operation, SSAValue

from ....dialects import graph
from ....dialects.element_types import element_type_of
from ....dialects.graph import tensor_of
from ..part import Wants
from ..program import RankProgram, View
from ..rules import extents


def read_in_place(block: Block, views: Collection[type[Operation]]) -> dict[Operation, View]:
    """
    Returns the elementwise ops, of a block and of the regions in it, that only one `dynamic_update` reads, at
    most by way of other such ops, and that are made of what `views` write and of one another: nothing else
    has to be sent for them in parts that are not its own.
    """
    chosen: dict[Operation, View] = {}
    for op in block.walk():
        if isinstance(op, graph.DynamicUpdateOp):
            chosen.update(dict.fromkeys(_tree(op, views), _elementwise))
    return chosen


def _tree(update: graph.DynamicUpdateOp, views: Collection[type[Operation]]) -> list[Operation]:
    """Returns the elementwise ops that an update is made of; none where a leaf is something else."""
    tree: dict[Operation, None] = {}
    waiting = [update.update]
    while waiting:
        owner = _owner(waiting.pop())
        if owner in tree or (isinstance(owner, Operation) and type(owner) in views):
            continue
        if not isinstance(owner, graph.ElementwiseOp) or owner.parent is not update.parent:
            return []
        if any(extents(operand) != extents(owner.results[0]) for operand in owner.operands):
            return []
        tree[owner] = None
        waiting += owner.operands
    readers = {update, *tree}
    if any(reader not in readers for op in tree for reader in _readers(op.results[0])):
        return []
    return list(tree)


def _owner(value: SSAValue) -> Operation | Block:
    """Returns what gives a value, behind what says how it is split."""
    while isinstance(value.owner, ShardOp):
        value = value.owner.src
    return value.owner


def _readers(value: SSAValue) -> Iterator[Operation]:
    for use in value.uses:
        if isinstance(use.operation, ShardOp):
            yield from _readers(use.operation.result)
        else:
            yield use.operation


def _elementwise(program: RankProgram, op: Operation, wants: Wants) -> SSAValue:
    operands = [program.local(operand, wants) for operand in op.operands]
    shape = program.shape(operands[0])
    return program.add(
        type(op).create(
            operands=operands,
            result_types=[tensor_of(element_type_of(op.results[0].type), shape)],
            properties=op.properties.copy(),
            attributes=op.attributes.copy(),
        )
    )
