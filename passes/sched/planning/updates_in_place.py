"""Which ops that store over a copy of their source may store over the source itself."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from xdsl.ir import SSAValue

from ....dialects import graph
from .accesses import Kernel
from .node_placement import CarriedWrite, Item, Placement, ResultCopy
from .op_kinds import UPDATING_OPS
from .plan import Plan


def updated_in_place(
    plan: Plan, placement: Placement, kept: AbstractSet[SSAValue]
) -> dict[SSAValue, SSAValue]:
    """
    Returns the sources that may be computed right in the buffer of the result of an updating op, each with
    that result, in the order of the program.

    Such a source is computed by a kernel, a loop or a branch, is in none of the buffers that are `kept`, and
    nothing reads it after the op; the op's kernel itself reads no element of it but the one that an iteration
    stores. In the memory of a node, or of what a loop carries, it is where the placement found room for it.
    """
    made = {kernel.root.results[0] for kernel in plan.kernels}
    made.update(result for op in plan.bodies for result in op.results)
    last_reader: dict[SSAValue, Item] = {}
    items = placement.items
    positions = {item: position for position, item in enumerate(items)}
    for value, accesses in plan.accesses.items():
        if accesses:
            last_reader[value] = max((access.kernel for access in accesses), key=positions.__getitem__)
    for item in items:
        for value in _read_besides(plan, item):
            known = last_reader.get(value)
            if known is None or positions[known] < positions[item]:
                last_reader[value] = item
    in_nodes = set(placement.written)
    found: dict[SSAValue, SSAValue] = {}
    for kernel in reversed(items):
        if not isinstance(kernel, Kernel) or not isinstance(kernel.root, UPDATING_OPS):
            continue
        source, result = kernel.root.source, kernel.root.result
        if (
            source in made
            and source not in kept
            and (result not in in_nodes or kernel in placement.updating)
            and last_reader.get(source) is kernel
            and _reads_where_it_stores(plan, kernel, source)
        ):
            found[source] = result
            if result in in_nodes:
                in_nodes.add(source)
    return dict(reversed(found.items()))


def _read_besides(plan: Plan, item: Item) -> Sequence[SSAValue]:
    """Returns what an item that is no kernel reads."""
    if isinstance(item, graph.WriteOp | CarriedWrite | ResultCopy):
        return (item.value,)
    if isinstance(item, graph.HostCallOp):
        return item.operands
    return tuple(plan.used_by(item)) if isinstance(item, graph.ControlOp) else ()


def _reads_where_it_stores(plan: Plan, kernel: Kernel, source: SSAValue) -> bool:
    return all(access.indices == kernel.stored for access in plan.accesses[source] if access.kernel is kernel)
