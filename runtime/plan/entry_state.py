"""The state that a function or a program runs with beside its arrays: static symbols and tensor nodes."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import BlockArgument, Operation

from ...dialects import graph, sched
from ...dialects.buffer_size import nbytes_of
from ...dialects.modules.entry import Entry, argument_names, called_functions
from ...semantics.numpy_types import array_of, dtype_of
from .program_plan import NodePlan, SymbolPlan
from .signature import ArrayType

NodeAccess = graph.ReadOp | graph.WriteOp | graph.MergeOp | sched.NodeOp | sched.MergeBufferOp
"""The ops that name a node."""


def symbols_of(entry: Entry) -> tuple[SymbolPlan, ...]:
    """Returns the static symbols of `entry`, its arguments of type `index`."""
    return tuple(
        SymbolPlan(name, _bound(argument), argument.index)
        for name, argument in zip(argument_names(entry), entry.body.block.args, strict=True)
        if isinstance(argument.type, IndexType)
    )


def _bound(symbol: BlockArgument) -> int | None:
    """Returns the least extent of the axes that a symbol indexes, None where it indexes nothing."""
    bounds: list[int] = []
    for use in symbol.uses:
        op = use.operation
        if isinstance(op, graph.ReadOp | graph.WriteOp | sched.NodeOp):
            bounds.append(_declaration(op).tensor_type.get_shape()[use.index])
    return min(bounds, default=None)


def nodes_of(module: ModuleOp, entry: Entry, *, with_local: bool = False) -> tuple[NodePlan, ...]:
    """
    Returns the nodes that `entry` and the functions that it calls read, write or merge, and that outlive a
    run, in the order of their declarations; `with_local` those that live within one as well.
    """
    used = {op.node_name for op in _node_accesses(module, entry)}
    return tuple(
        _node_plan(op)
        for op in module.body.ops
        if isinstance(op, graph.TnodeOp) and op.sym_name.data in used
        if not op.lives_within_a_run or (with_local and op.is_local)
    )


def _node_accesses(module: ModuleOp, entry: Entry) -> Iterator[NodeAccess]:
    functions = (entry,) if isinstance(entry, sched.ProgramOp) else called_functions(module, entry)
    for function in functions:
        for op in function.walk():
            if isinstance(op, NodeAccess):
                yield op


def _declaration(op: Operation) -> graph.TnodeOp:
    assert isinstance(op, NodeAccess), f"{op.name}: names no node"
    declaration = graph.find_node(op, op.node_name)
    assert declaration is not None, f"{op.name}: node @{op.node_name} is not declared"
    return declaration


def _node_plan(op: graph.TnodeOp) -> NodePlan:
    type = op.tensor_type
    initial = None if op.initial is None else array_of(op.initial)
    return NodePlan(
        op.sym_name.data,
        ArrayType(dtype_of(type), tuple(type.get_shape())),
        nbytes_of(sched.buffer_type(type)),
        op.memory_mode,
        initial,
    )
