"""A nest of axes around sums of products, and the register tile that is chosen for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.dialects import memref

from .....dialects import sched
from ....indices.analysis import IndexAnalysis
from ....indices.expressions import Axis
from ....indices.products import Product, Side
from ....machine.target import Target
from ....machine.tile_shape import MOST_ROWS, most_rows, rows_beside, tile_shape

LEAST_COLUMNS = 4
"""An axis with fewer iterations is the columns only where no other one can be."""


@dataclass(frozen=True, slots=True)
class Tile:
    """
    A register tile: the axis that is its rows, if there is one, the axis that is its columns, and how many
    iterations of each it has. `panel` is how many columns one side has side by side, None for all.
    """

    rows: sched.AxisOp | None
    columns: sched.AxisOp
    tall: int
    wide: int
    panel: int | None
    is_one_row: bool
    """Whether all rows are in one tile."""


@dataclass(frozen=True)
class Contraction:
    """A nest of axes, outermost first, around sums of products, which run in a tile."""

    nest: Sequence[sched.AxisOp]
    products: Sequence[Product]
    tile: Tile
    analysis: IndexAnalysis

    @cached_property
    def tiled(self) -> list[sched.AxisOp]:
        """The rows, if there are any, and the columns."""
        return [self.tile.columns] if self.tile.rows is None else [self.tile.rows, self.tile.columns]

    @cached_property
    def outer(self) -> list[sched.AxisOp]:
        """The other axes."""
        return [axis for axis in self.nest if axis not in self.tiled]

    @cached_property
    def sizes(self) -> list[int]:
        """How many iterations of each tiled axis a tile has."""
        return [self.tile.tall, self.tile.wide][-len(self.tiled) :]

    @cached_property
    def extents(self) -> list[int]:
        """How many iterations the tiled axes run, at most."""
        return [self.analysis.most(axis) for axis in self.tiled]

    @cached_property
    def outer_extents(self) -> list[int]:
        """The same of the other axes."""
        return [self.analysis.most(axis) for axis in self.outer]

    @cached_property
    def depth(self) -> int:
        """How many products the longest sum adds up."""
        return max(product.depth(self.analysis) for product in self.products)

    @cached_property
    def nbytes(self) -> int:
        """Bytes of the widest element that is multiplied."""
        return max(product.nbytes for product in self.products)

    @cached_property
    def has_follow_up(self) -> bool:
        """Whether more is done with the sums than to store them."""
        uses = [use.operation for product in self.products for use in product.op.result.uses]
        return not all(isinstance(use, memref.StoreOp) for use in uses)

    @cached_property
    def may_be_few(self) -> bool:
        """Whether one row of tiles has at least half of the rows, or may have, where their number varies."""
        rows, tall = self.tile.rows, self.tile.tall
        if rows is None:
            return self.tile.is_one_row
        return self.extents[0] < 2 * tall or not isinstance(rows.extent, int) or rows.count is not None

    def column_side(self, product: Product) -> Side:
        """Returns what a product reads along the columns."""
        side = product.column_side(self.analysis.axis(self.tile.columns), self.tile.panel)
        assert side is not None, f"{self.tile.columns.name}: no columns"
        return product.sides[side]


def choose_tile(
    nest: Sequence[sched.AxisOp], products: Sequence[Product], analysis: IndexAnalysis, target: Target
) -> Contraction | None:
    """
    Returns a nest with the best tile for it, if there is one. Along the columns one side of every product is
    contiguous and the other stays; along the rows that stays and the other is linear. The best tile has the
    most products for each element that it loads; of equal ones it lies furthest inside.

    How large it is was chosen where panels were made (`passes/graph/packing/`), if `tile_shape` of the sums
    says so; how wide a panel is nothing else says. The rest is chosen here: rows that were left open, and
    both sizes where the sums say nothing or no axis is the columns in these panels any more.
    """
    best: tuple[tuple[float, ...], Tile] | None = None
    lanes = max(1, target.vector_nbytes // max(product.sum_nbytes for product in products))
    chosen = next((product.tile_shape for product in products if product.tile_shape is not None), None)
    for number, columns in enumerate(nest):
        extent = analysis.most(columns)
        panel = _panel(columns, products, analysis)
        if extent < 2 or not _may_be_tiled(columns, products, analysis):
            continue
        sides = [_sides_along(columns, product, panel, analysis) for product in products]
        pairs = [pair for pair in sides if pair is not None]
        if len(pairs) < len(products):
            continue
        stores_apart = not _stores_are_contiguous(nest[-1], columns, analysis)
        for rows in _rows(nest, products, columns, pairs, analysis):
            height = 1 if rows is None else analysis.most(nest[rows])
            most = MOST_ROWS
            if rows is not None:
                most = _most_rows(analysis.axis(nest[rows]), pairs, target)
            tall, wide = _shape(chosen, panel, height, extent, lanes, target.registers, most)
            if rows is not None:
                tall = _panel(nest[rows], products, analysis) or _of_any_number(tall, nest[rows])
            reuse = tall * wide / (tall + wide)
            rank = (extent < LEAST_COLUMNS, stores_apart, -reuse, -number, -(rows or -1))
            if best is None or rank < best[0]:
                of_rows = None if rows is None else nest[rows]
                best = rank, Tile(of_rows, columns, tall, wide, panel, tall >= height)
    return None if best is None else Contraction(nest, products, best[1], analysis)


def _of_any_number(tall: int, rows: sched.AxisOp) -> int:
    """
    Returns how many rows a tile has, where their number varies a multiple of 4: what is left of 16, 24 or any
    other multiple of 4 fills a tile of 8 or of 4 rows then.
    """
    is_known = isinstance(rows.extent, int) and rows.count is None
    return tall if is_known or tall < 12 else tall - tall % 4


def _may_be_tiled(axis: sched.AxisOp, products: Sequence[Product], analysis: IndexAnalysis) -> bool:
    """Returns whether all sums along an axis have the same length."""
    own = analysis.axis(axis)
    return not any(own in product.counting_axes(analysis) for product in products)


def _shape(
    chosen: sched.TileShapeAttr | None,
    panel: int | None,
    rows: int,
    columns: int,
    lanes: int,
    registers: int,
    most: int,
) -> tuple[int, int]:
    """Returns the rows and columns of a tile, where these lie in panels as wide, or None for in none."""
    holds = chosen is not None and panel == (chosen.columns.size if chosen.columns.in_panels else None)
    wide = min(chosen.columns.size, columns) if chosen is not None and holds else panel
    if wide is None:
        return tile_shape(rows, columns, lanes, registers, most)
    if chosen is not None and chosen.rows is not None and holds:
        return min(chosen.rows.size, rows), wide
    return rows_beside(wide, rows, columns, lanes, registers, most), wide


def _panel(axis: sched.AxisOp, products: Sequence[Product], analysis: IndexAnalysis) -> int | None:
    """Returns how wide the panels are in which one side lies along an axis, if it lies in some."""
    own = analysis.axis(axis)
    panels = (side.panel(own, product.panels) for product in products for side in product.sides)
    return next((panel for panel in panels if panel is not None), None)


def _sides_along(
    columns: sched.AxisOp, product: Product, panel: int | None, analysis: IndexAnalysis
) -> tuple[Side, Side] | None:
    """Returns the side of a product that is contiguous along the columns, and the one that stays."""
    number = product.column_side(analysis.axis(columns), panel)
    return None if number is None else (product.sides[number], product.sides[1 - number])


def _rows(
    nest: Sequence[sched.AxisOp],
    products: Sequence[Product],
    columns: sched.AxisOp,
    sides: Sequence[tuple[Side, Side]],
    analysis: IndexAnalysis,
) -> list[int | None]:
    """
    Returns the axes that may be rows, by number: None is no rows at all, where there are no others. Of axes
    whose extents vary the longest one is: a batch of up to 8 images may be one of a single image.
    """
    found: list[int] = []
    for number, axis in enumerate(nest):
        own, panel = analysis.axis(axis), _panel(axis, products, analysis)
        if axis is columns or axis.extent == 1 or not _may_be_tiled(axis, products, analysis):
            continue
        if all(along.stride(own) == 0 and other.stride(own, panel) is not None for along, other in sides):
            found.append(number)
    longest = max((analysis.most(nest[number]) for number in found), default=0)
    return [
        number
        for number in found
        if isinstance(nest[number].extent, int) or analysis.most(nest[number]) == longest
    ] or [None]


def _most_rows(rows: Axis, sides: Sequence[tuple[Side, Side]], target: Target) -> int:
    """Returns how many rows a tile may have for the first cache to hold a line of each."""
    most = MOST_ROWS
    for _, other in sides:
        stride = other.stride(rows)
        if isinstance(stride, int) and stride > 1:
            most = min(most, most_rows(stride * other.nbytes, target.l1_nbytes))
    return most


def _stores_are_contiguous(inner: sched.AxisOp, axis: sched.AxisOp, analysis: IndexAnalysis) -> bool:
    own = analysis.axis(axis)
    stores = [op for op in inner.body.block.ops if isinstance(op, memref.StoreOp)]
    return all(analysis.address(store).stride(own) == 1 for store in stores)


def products_of_all(contraction: Contraction) -> int:
    """Returns how many products all sums of a kernel add up."""
    return prod(contraction.outer_extents) * contraction.depth * prod(contraction.extents)
