"""Which axes the work-items of a work-group share, and along which of its dimensions."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Block, Operation

from ....dialects import low, sched
from ....dialects.sched import Level
from ...indices.analysis import Loop
from .illegal_mapping import refuse_mapping


class WorkItems:
    """
    The axes with `items`: the innermost of a nest of them runs along x, the next one along y. All that run
    along one dimension have the same number of work-items.
    """

    __slots__ = ("axes", "extents")

    def __init__(self) -> None:
        self.axes: dict[Operation, low.Dimension] = {}
        self.extents: dict[low.Dimension, int] = {}


def work_items(kernel: sched.KernelOp) -> WorkItems | None:
    """
    Returns the shared axes of a kernel, None where there are none.

    Raises PassFailedException, naming the axis, for a fourth one in a nest, for two along one dimension that
    differ in their number, and for one beside work-items of another kind.
    """
    found = WorkItems()
    _dimension(kernel.body.block, found)
    if not found.axes:
        return None
    for op in kernel.walk():
        if isinstance(op, Loop) and op.mapping.level.data is Level.THREAD:
            refuse_mapping(op, "other axes of the kernel share work-items")
    return found


def _dimension(block: Block, found: WorkItems) -> int:
    """Notes the shared axes in a block, and returns how many of them stand in one another."""
    deepest = 0
    for op in block.ops:
        below = max((_dimension(inner, found) for inner in _blocks(op)), default=0)
        if isinstance(op, Loop) and op.mapping.items.data > 1:
            dimensions = tuple(low.Dimension)
            if below == len(dimensions):
                refuse_mapping(op, "there are three dimensions only")
            _note(op, dimensions[below], found)
            below += 1
        deepest = max(deepest, below)
    return deepest


def _blocks(op: Operation) -> Iterable[Block]:
    return (block for region in op.regions for block in region.blocks)


def _note(op: Loop, dimension: low.Dimension, found: WorkItems) -> None:
    items = op.mapping.items.data
    known = found.extents.setdefault(dimension, items)
    if known != items:
        refuse_mapping(op, f"another axis has {known} work-items along {dimension.value}")
    found.axes[op] = dimension
