"""Which tensor nodes need nothing that outlives a run."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...dialects import graph


def scratch_nodes(module: ModuleOp) -> list[graph.TnodeOp]:
    """
    Returns the nodes of which no function of the module could tell whether they are kept between runs: each
    that accesses one writes all of it first, and reads it last. Nodes that a function calls for, or that have
    an initial value, are not among them.
    """
    accesses: dict[str, list[list[Operation]]] = {}
    kept: set[str] = set()
    functions = [op for op in module.body.ops if isinstance(op, func.FuncOp) and not op.is_declaration]
    called = {op.callee.string_value() for op in module.walk() if isinstance(op, func.CallOp)}
    for function in functions:
        of_function: dict[str, list[Operation]] = {}
        has_calls = function.sym_name.data in called
        for op in function.walk():
            has_calls |= isinstance(op, func.CallOp)
            if isinstance(op, graph.ReadOp | graph.WriteOp | graph.MergeOp):
                of_function.setdefault(op.node_name, []).append(op)
        if has_calls:
            kept.update(of_function)
        for name, ops in of_function.items():
            accesses.setdefault(name, []).append(ops)
    return [
        op
        for op in module.body.ops
        if isinstance(op, graph.TnodeOp)
        and op.initial is None
        and op.sym_name.data in accesses
        and op.sym_name.data not in kept
        and all(map(_is_scratch, accesses[op.sym_name.data]))
    ]


def _is_scratch(accesses: list[Operation]) -> bool:
    """Returns whether a function writes all of a node before it reads it, and nothing for after its end."""
    first, last = accesses[0], accesses[-1]
    return (
        isinstance(first, graph.WriteOp)
        and first.accumulate is None
        and isinstance(last, graph.ReadOp)
        and all(_is_known(op) for op in accesses)
    )


def _is_known(op: Operation) -> bool:
    match op:
        case graph.ReadOp():
            return not op.indices
        case graph.WriteOp():
            return not op.indices and isinstance(op.parent_op(), func.FuncOp)
        case _:
            return False
