"""
The reads and writes of tensor nodes, index by index: which reads need no memory, which writes nobody sees.

Two accesses of a node are of the same place where they have the same indices; different indices may or may
not name the same elements.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import graph

Place = tuple[SSAValue, ...]
"""The indices of an access; none for the whole node."""


@dataclass
class _Contents:
    """The knowledge of one node: the values at its indices, and the writes that nothing has read yet."""

    values: dict[Place, SSAValue] = field(default_factory=dict[Place, SSAValue])
    unread: dict[Place, graph.WriteOp] = field(default_factory=dict[Place, graph.WriteOp])


def simplify_accesses(function: func.FuncOp) -> None:
    """
    Rewrites the accesses of nodes in a function of one block:

    * a read of what the function has read or written already is that value
    * a write that adds is a read, a `graph.add` and a write
    * a write of what the node holds, and one that is overwritten before anything reads it, is gone
    * writes of local nodes are gone where all reads of them are

    A call may access every node. What a loop or a branch accesses is not known to what comes after; in its
    regions the same holds as in the function, but for what the function knows.
    """
    _simplify_block(function.body.block)
    _drop_local_writes(function)


def accessed_nodes(op: Operation) -> tuple[dict[str, None], dict[str, None]]:
    """Returns the names of the nodes that the regions of an op read, and of those that they write."""
    reads: dict[str, None] = {}
    writes: dict[str, None] = {}
    for inner in op.walk():
        match inner:
            case graph.ReadOp():
                reads[inner.node_name] = None
            case graph.WriteOp():
                writes[inner.node_name] = None
                if inner.accumulate is not None:
                    reads[inner.node_name] = None
            case _:
                pass
    return reads, writes


def _simplify_block(block: Block) -> None:
    contents: dict[str, _Contents] = {}
    for op in list(block.ops):
        match op:
            case graph.ControlOp():
                for region in op.regions:
                    _simplify_block(region.block)
                reads, writes = accessed_nodes(op)
                for name in (*reads, *writes):
                    known = contents.setdefault(name, _Contents())
                    known.unread.clear()
                    if name in writes:
                        known.values.clear()
            case graph.ReadOp():
                _read(op, contents.setdefault(op.node_name, _Contents()))
            case graph.WriteOp():
                _write(op, contents.setdefault(op.node_name, _Contents()))
            case func.CallOp():
                contents.clear()
            case _:
                pass


def _drop_local_writes(function: func.FuncOp) -> None:
    """Erases the writes of local nodes that the function does not read."""
    writes: dict[str, list[graph.WriteOp]] = {}
    read: set[str] = set()
    for op in function.walk():
        match op:
            case graph.ReadOp():
                read.add(op.node_name)
            case graph.WriteOp():
                writes.setdefault(op.node_name, []).append(op)
            case _:
                pass
    for name, ops in writes.items():
        if name in read:
            continue
        node = graph.find_node(ops[0], name)
        if node is not None and node.is_local:
            for op in ops:
                _erase(op)


def _read(op: graph.ReadOp, known: _Contents) -> None:
    place = tuple(op.indices)
    value = known.values.get(place)
    if value is None:
        known.unread.clear()
        known.values[place] = op.result
    else:
        op.result.replace_all_uses_with(value)
        _erase(op)


def _write(op: graph.WriteOp, known: _Contents) -> None:
    place, value = tuple(op.indices), op.value
    if op.accumulate is not None:
        op = _added(op, known)
        value = op.value
    if known.values.get(place) is value:
        _erase(op)
        return
    overwritten = [place] if place else list(known.unread)
    for other in overwritten:
        if (unread := known.unread.pop(other, None)) is not None:
            _erase(unread)
    known.values = {place: value}
    known.unread[place] = op


def _added(op: graph.WriteOp, known: _Contents) -> graph.WriteOp:
    """Replaces a write that adds by a plain one of the sum."""
    place = tuple(op.indices)
    block = op.parent
    assert block is not None, f"{op.name}: stands in no block"
    old = known.values.get(place)
    if old is None:
        read = graph.ReadOp(op.node_name, graph.tensor_type_of(op.value, op.name), place)
        read.location = op.location
        read.result.name_hint = op.node_name if op.node_name.isidentifier() else None
        block.insert_op_before(read, op)
        _read(read, known)
        old = read.result
    total = graph.AddOp(old, op.value)
    total.location = op.location
    total.result.name_hint = "sum"
    write = graph.WriteOp(op.node_name, total.result, place)
    write.location = op.location
    block.insert_op_before(total, op)
    block.insert_op_before(write, op)
    _erase(op)
    return write


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()
