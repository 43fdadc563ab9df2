"""Which axes of a `sched` kernel run as work-groups and work-items, and how many there are of those."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.ir import Operation

from ....dialects import low, sched
from ....dialects.dims.expressions import Extent
from ....dialects.sched import Level
from ...indices.analysis import Loop
from .illegal_mapping import refuse_mapping
from .work_items import WorkItems


@dataclass(frozen=True, slots=True)
class WorkGroups:
    """The extents of the grid and of a work-group; for each of their axes, the op that gives its number."""

    grid: list[Extent]
    block: list[int]
    ids: dict[Operation, tuple[type[Operation], low.Dimension]]


def work_groups(
    kernel: sched.KernelOp, extent_of: Callable[[Loop], Extent], items: WorkItems | None = None
) -> WorkGroups:
    """
    Gives every block and thread axis a dimension, the innermost x, and counts the grid.

    `extent_of` gives the extent of an axis, with bounds for its dims; `items` are the axes that work-items
    share.

    Raises PassFailedException, naming the axis, for one that is not at the top of the kernel with nothing
    beside it, for a reduction, for work-items whose number varies, and for a fourth axis of one level.
    """
    nest = _mapped_nest(kernel)
    _check_all_are_in(nest, kernel)
    extents: dict[Level, list[Extent]] = {Level.BLOCK: [1, 1, 1], Level.THREAD: [1, 1, 1]}
    ids: dict[Operation, tuple[type[Operation], low.Dimension]] = {}
    for level, id_op in ((Level.BLOCK, low.BlockIdOp), (Level.THREAD, low.ThreadIdOp)):
        axes = [axis for axis in nest if axis.mapping.level.data is level]
        if len(axes) > 3:
            refuse_mapping(axes[3], "there are three dimensions only")
        for dimension, axis in zip(low.Dimension, reversed(axes), strict=False):
            chunk = axis.mapping.chunk.data
            extents[level][dimension.number] = (extent_of(axis) + (chunk - 1)) // chunk
            ids[axis] = (id_op, dimension)
    block: list[int] = []
    for axis_extent in extents[Level.THREAD]:
        if not isinstance(axis_extent, int):
            refuse_mapping(nest[-1], f"there would be {axis_extent} work-items, expected a number")
        block.append(max(axis_extent, 1))
    if items is not None:
        block = [items.extents.get(dimension, 1) for dimension in low.Dimension]
    empty: list[Extent] = [0, 1, 1]
    return WorkGroups(empty if 0 in extents[Level.THREAD] else extents[Level.BLOCK], block, ids)


def _is_mapped(op: Loop) -> bool:
    return op.mapping.level.data is not Level.SERIAL


def _mapped_nest(kernel: sched.KernelOp) -> list[sched.AxisOp]:
    """Returns the block and thread axes at the top of a kernel, outermost first."""
    nest: list[sched.AxisOp] = []
    block = kernel.body.block
    while True:
        loops = [op for op in block.ops if isinstance(op, Loop)]
        mapped = [loop for loop in loops if _is_mapped(loop)]
        if not mapped:
            return nest
        axis = mapped[0]
        if len(loops) != 1 or any(_is_beside(op) for op in block.ops):
            refuse_mapping(axis, "other code stands beside it")
        if not isinstance(axis, sched.AxisOp):
            refuse_mapping(axis, "it is a reduction")
        nest.append(axis)
        block = axis.body.block


def _is_beside(op: Operation) -> bool:
    """Returns whether an op beside an axis does more than to compute values."""
    return isinstance(op, memref.StoreOp) or (bool(op.regions) and not isinstance(op, Loop))


def _check_all_are_in(nest: list[sched.AxisOp], kernel: sched.KernelOp) -> None:
    for op in kernel.walk():
        if isinstance(op, Loop) and _is_mapped(op) and op not in nest:
            refuse_mapping(op, "an axis around it is serial")
