"""The register tile that is chosen for a contraction, and what it must agree with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Data, SpacedOpaqueSyntaxAttribute
from xdsl.ir.affine import AffineMap
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..dims.expressions import Extent
from ..tile_sizes import TileSize
from .index_map import LinearIndex

__all__ = ["TileAttr", "TileDim"]


@dataclass(frozen=True, slots=True)
class TileDim:
    """An iteration dim, and how many iterations of it a tile has."""

    dim: int
    size: TileSize

    @classmethod
    def parse(cls, parser: AttrParser) -> TileDim:
        start = parser.pos
        name = parser.parse_identifier("a dim, d0 say")
        if name[:1] != "d" or not name[1:].isdecimal():
            parser.raise_error(f"'{name}' is no dim, expected d0 or another one", start)
        parser.parse_punctuation("=")
        return cls(int(name[1:]), TileSize.parse(parser))

    def __str__(self) -> str:
        return f"d{self.dim} = {self.size}"


@irdl_attr_definition
class TileAttr(Data[tuple[TileDim, ...]], SpacedOpaqueSyntaxAttribute):
    """
    The rows and columns of a register tile, or its columns alone: `#graph<tile [d0 = 6, d1 = 16 in panels]>`;
    printed bare (`[d0 = 6, d1 = 16 in panels]`) by `graph.contract`.
    """

    name = "graph.tile"

    @staticmethod
    def of(columns: TileDim, rows: TileDim | None = None) -> TileAttr:
        return TileAttr((columns,) if rows is None else (rows, columns))

    @property
    def rows(self) -> TileDim | None:
        return self.data[0] if len(self.data) == 2 else None

    @property
    def columns(self) -> TileDim:
        return self.data[-1]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[TileDim, ...]:
        return tuple(
            parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: TileDim.parse(parser))
        )

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"[{', '.join(map(str, self.data))}]")

    def verify(self) -> None:
        if len(self.data) not in (1, 2):
            count = len(self.data)
            raise VerifyException(f"{self.name}: {count} dims, expected rows and columns, or columns")
        if any(each.size.size < 1 for each in self.data):
            raise VerifyException(f"{self.name}: a tile of {self._text()} (expected 1 or more of each dim)")
        if len({each.dim for each in self.data}) != len(self.data):
            raise VerifyException(f"{self.name}: a tile of {self._text()} (expected two dims)")

    def _text(self) -> str:
        return ", ".join(map(str, self.data))


def _text(extent: Extent) -> str:
    return "?" if extent == DYNAMIC_INDEX else str(extent)


def verify_tile(
    who: str,
    tile: TileAttr,
    operand_maps: Sequence[AffineMap],
    result_dims: Sequence[int],
    extents: Sequence[Extent],
) -> None:
    """
    Raises `VerifyException`, naming `who`, unless the dims of a tile are dims of the result with a number of
    iterations, of which each indexes another one of the two operands, and what lies in panels is indexed by
    its dim last.
    """
    columns = _side(who, "columns", tile.columns, operand_maps, result_dims, extents)
    if tile.rows is not None:
        rows = _side(who, "rows", tile.rows, operand_maps, result_dims, extents)
        if rows == columns:
            raise VerifyException(
                f"{who}: tile: rows d{tile.rows.dim} and columns d{tile.columns.dim} index the same operand"
            )


def _side(
    who: str,
    what: str,
    each: TileDim,
    operand_maps: Sequence[AffineMap],
    result_dims: Sequence[int],
    extents: Sequence[Extent],
) -> int:
    """Returns the number of the operand that a dim of a tile indexes."""
    dim, size = each.dim, each.size
    if dim >= len(extents):
        raise VerifyException(f"{who}: tile: {what} are d{dim}, the maps have {len(extents)} dims")
    if dim not in result_dims:
        raise VerifyException(f"{who}: tile: {what} are d{dim}, which is no index of the result")
    extent = extents[dim]
    if not isinstance(extent, int) or extent < size.size:
        raise VerifyException(f"{who}: tile: {size.size} {what} of dim d{dim}, which has {_text(extent)}")
    indices = [[LinearIndex.of(expr) for expr in map.results] for map in operand_maps]
    found = [number for number, own in enumerate(indices) if any(index.factor(dim) for index in own)]
    if len(found) != 1:
        raise VerifyException(f"{who}: tile: {what} d{dim} index {len(found)} operands, expected 1")
    (number,) = found
    if size.in_panels and indices[number][-1].plain_dim != dim:
        raise VerifyException(
            f"{who}: tile: {what} d{dim} in panels, but the last index of {('lhs', 'rhs')[number]} is "
            f"{operand_maps[number].results[-1]}"
        )
    return number
