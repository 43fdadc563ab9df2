"""
Products that a tile leaves out, as one side of them is 0: what a convolution reads outside of its image.

    %inside = ... 1 <= %y + %ky < 15 and 1 <= %x + %kx < 15 ...
    %pixel = low.select %inside, %loaded, %zero : f32
    sched.yield %pixel, %weight : f32

Of the rows of the window (`ky`) those outside of the image are left out for the whole tile: its depth begins
and ends with others. Of the columns (`kx`) each step leaves out the pixels, which are rows of the tile, for
which it is outside of the image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .....dialects import sched
from ....indices.expressions import Axis, IndexExpr
from ....indices.ranges import Ranges
from ....indices.tile_windows import Pixels, TileWindows
from ..illegal_mapping import refuse_mapping


@dataclass(frozen=True, slots=True)
class Window:
    """
    The dim of a window, by its number in the depth and its extent, and an index that moves with it, step by
    step: products count where it is from `low` up to `high`, exclusive.
    """

    dim: int
    extent: int
    index: IndexExpr
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """
    What a sum leaves out: steps of a window that is the same for all of a tile, and of one that moves with
    the rows, in tiles of each size that there are.
    """

    around: Window | None
    within: Window | None
    tiles: tuple[TileWindows, ...] = ()


def left_out(
    ranges: Ranges,
    dims: Sequence[sched.ReduceOp],
    axes: Sequence[Axis],
    columns: sched.AxisOp,
    row: tuple[sched.AxisOp, Axis] | None,
    column: Axis,
) -> LeftOut | None:
    """
    Returns what is left out where products count for indices in `ranges` alone; `axes` are those of `dims`,
    `row` and `column` the axes that rows and columns of the tile go along.

    Raises PassFailedException, naming the axis `columns`, for other ranges than those of windows.
    """
    around: list[Window] = []
    within: list[Window] = []
    for index, range in ranges.items():
        numbers = [number for number, axis in enumerate(axes) if axis in index.axes()]
        if len(numbers) != 1 or column in index.axes() or index.stride(axes[numbers[0]]) != 1:
            refuse_mapping(columns, f"what is multiplied is 0 outside of a range of {index!r}, no window")
        (number,) = numbers
        extent = dims[number].extent
        if not isinstance(extent, int) or dims[number].count is not None or number == len(dims) - 1:
            refuse_mapping(columns, f"axis %{axes[number].hint} in it, of a window, has no known extent")
        if range.low is None or range.high is None or range.high - range.low < extent:
            refuse_mapping(columns, f"a window along %{axes[number].hint} is larger than what it is in")
        moves = row is not None and row[1] in index.axes()
        (within if moves else around).append(Window(number, extent, index, range.low, range.high))
    if len(around) > 1 or len(within) > 1:
        refuse_mapping(
            columns, f"{len(around)} and {len(within)} windows in it (expected one of each, or none)"
        )
    if not within:
        return LeftOut(around[0], None) if around else None
    assert row is not None, "a window that moves with the rows"
    return LeftOut(around[0] if around else None, within[0], _tiles(within[0], *row))


def _tiles(window: Window, op: sched.AxisOp, axis: Axis) -> tuple[TileWindows, ...]:
    """Returns which rows of the tiles along an axis take part in the steps of a window that moves with it."""
    step, extent, mapping = window.index.stride(axis), op.extent, op.mapping
    if not isinstance(extent, int) or op.count is not None or mapping.level.data is not sched.Level.SERIAL:
        refuse_mapping(op, "a window moves with it, of which rows are left out of serial tiles alone")
    if not isinstance(step, int) or step < 1 or len(window.index.terms) != 2:
        refuse_mapping(op, "a window moves with it in no steps of a known number")
    found = Pixels(extent, mapping.tile.data, step).windows(window.extent, window.low, window.high)
    if found is None:
        refuse_mapping(op, "tiles leave out more rows of a window than the first ones and the last ones")
    return tuple(found)
