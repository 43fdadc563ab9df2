"""The tensor nodes that the declarations of a program stand for."""

from __future__ import annotations

from collections.abc import Mapping

from ...dialects.memory_modes import MATERIALIZED, NEVER_VIRTUAL
from ...errors import ContextError
from ..nodes.tensor_node import TensorNode
from ..plan.lowered_program import LoweredProgram
from ..plan.program_plan import NodePlan
from ..plan.signature import shape_text


def node_names(program: LoweredProgram) -> list[str]:
    """Returns the names of the nodes that a program accesses, itself or in inlined computations."""
    return list(dict.fromkeys(node.name for node in (*program.accessed, *program.plan.nodes)))


def match_nodes(program: LoweredProgram, known: Mapping[str, TensorNode]) -> dict[str, TensorNode]:
    """
    Returns the nodes that a program accesses, by their names there: those that are known by that name, and
    new ones for the others. They get the memory modes that the program asks for. Where it asks for none,
    those that no run needs of another one are as local as they can be, but for virtual: what is computed
    again may differ. The contents of the others outlive the program's runs, as somebody may read them.

    Raises:
        ContextError: a known node has another dtype or shape than the declaration.
        MemoryModeError: it cannot have the memory mode.
    """
    who = program.plan.signature.name
    found: dict[str, TensorNode] = {}
    plans = {node.name: node for node in (*program.plan.nodes, *program.accessed)}
    for name in node_names(program):
        declared = plans[name]
        node = known.get(declared.name)
        if node is None:
            node = _new_node(declared)
        elif (node.dtype, node.dims) != (declared.type.dtype, declared.type.shape):
            raise ContextError(
                f"{who}: @{declared.name} is declared as {declared.type}, but {node.debug_name} is "
                f"{node.dtype}{shape_text(node.dims)}"
            )
        if declared.mode is not None:
            node.update_memory_mode(declared.mode, f"graph.tnode @{declared.name} of {who}")
        if declared.name in program.scratch:
            node.update_memory_mode(NEVER_VIRTUAL, f"@{who} uses it")
            node.default_to_most_local("it is written before it is read, and nothing says that it is kept")
        elif declared.mode is None and not node.known_not_materialized:
            node.update_memory_mode(MATERIALIZED, f"@{who} uses it, and does not say where it lives")
        found[declared.name] = node
    return found


def note_compiled(node: TensorNode, platform: str, program: LoweredProgram) -> None:
    """Notes for people what a program does with a node, in its `backend_info`."""
    plan, name = program.plan, node.code_name
    does = [verb for verb, names in (("reads", plan.reads), ("writes", plan.writes)) if name in names]
    if plan.merge_node == name:
        does.append("merges")
    what = " and ".join(does) if does else "keeps no memory of"
    node.update_backend_info(platform, f"@{plan.signature.name} {what} it")


def _new_node(declared: NodePlan) -> TensorNode:
    return TensorNode.create(
        declared.type.dtype, dims=declared.type.shape, label=[declared.name], code_name=declared.name
    )
