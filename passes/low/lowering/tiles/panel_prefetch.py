"""
Which elements of the next panel of weights each tile of a convolution prefetches.

All tiles of an image read the same panel, and compute long enough with it for memory to bring the next one. A
tile fetches its share of that, some at each step of all depths but the last one: a few cache lines beside a
few hundred multiply-adds.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from .....dialects import sched
from .....dialects.dims.expressions import Extent
from ....indices.expressions import IndexExpr, constant
from ..state import KernelState
from .tile_prefetch import prefetched
from .tile_sums import TileOperand


def next_panel(
    state: KernelState,
    operand: TileOperand,
    outermost: sched.AxisOp,
    tiles: tuple[int, IndexExpr],
    depths: Sequence[tuple[Extent | SSAValue, Extent]],
) -> tuple[SSAValue, int, int] | None:
    """
    Returns where the share of a tile begins, and its step and count: of what the next iteration reads of the
    axis around `outermost`, an axis of the tile, that moves through the panels. `tiles` are how many tiles
    there are and which one it is, `depths` the extents and the steps of the operand. None where there is no
    such axis, where a number varies, or where a panel does not lie together.
    """
    steps = _steps(depths)
    if steps is None:
        return None
    analysis, bindings = state.analysis, state.indices.bindings
    shares, number = tiles
    around = outermost.parent_op()
    while isinstance(around, sched.AxisOp) and operand.address.stride(analysis.axis(around)) == 0:
        extent = around.extent
        if not isinstance(extent, int) or around.count is not None:
            return None
        number = bindings[analysis.axis(around)] * shares + number
        shares *= extent
        around = around.parent_op()
    if not isinstance(around, sched.AxisOp):
        return None
    count, size = steps
    how = prefetched(count, size, size, 1, shares)
    assert how is not None, f"{around.name}: a panel that lies together is fetched in shares"
    panels = analysis.axis(around)
    before = bindings[panels]
    bindings[panels] = before + constant(1)
    place = state.indices.write_for(operand.load, operand.address)
    bindings[panels] = before
    share = state.indices.write(number * how.share, outermost.location)
    return state.indices.op(arith.AddiOp, place, share, outermost.location), how.step, how.count


def _steps(depths: Sequence[tuple[Extent | SSAValue, Extent]]) -> tuple[int, int] | None:
    """Returns how many steps all depths but the last one take, and how many elements each goes on by."""
    count, following = 1, None
    for extent, step in reversed(depths):
        if not isinstance(extent, int) or not isinstance(step, int) or following not in (None, step):
            return None
        count, following = count * extent, step * extent
    extent, step = depths[-1]
    assert isinstance(extent, int) and isinstance(step, int), "checked"
    return count // max(extent, 1), extent * step
