"""The register tile that is chosen for a sum of products: `sched.reduce`'s attribute."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Data, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..dims.expressions import Extent
from ..tile_sizes import TileSize

__all__ = ["TileShapeAttr"]


@irdl_attr_definition
class TileShapeAttr(Data[tuple[TileSize, ...]], SpacedOpaqueSyntaxAttribute):
    """
    How many rows and columns a register tile has, or how many columns alone:
    `#sched<tile_shape [6, 16 in panels]>`; printed bare (`[6, 16 in panels]`) by `sched.reduce`.
    """

    name = "sched.tile_shape"

    @staticmethod
    def of(columns: TileSize, rows: TileSize | None = None) -> TileShapeAttr:
        return TileShapeAttr((columns,) if rows is None else (rows, columns))

    @property
    def rows(self) -> TileSize | None:
        return self.data[0] if len(self.data) == 2 else None

    @property
    def columns(self) -> TileSize:
        return self.data[-1]

    @property
    def panels(self) -> tuple[int, ...]:
        """The widths of the panels that operands lie in."""
        return tuple(each.size for each in self.data if each.in_panels)

    def fits(self, last_extents: Sequence[Extent]) -> bool:
        """Returns whether the buffers with these last extents have one for each kind of panels."""
        left = list(last_extents)
        for width in self.panels:
            if width not in left:
                return False
            left.remove(width)
        return True

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[TileSize, ...]:
        return tuple(
            parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: TileSize.parse(parser))
        )

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"[{', '.join(map(str, self.data))}]")

    def verify(self) -> None:
        if len(self.data) not in (1, 2):
            raise VerifyException(
                f"{self.name}: {len(self.data)} sizes, expected those of rows and columns, or of columns"
            )
        if any(each.size < 1 for each in self.data):
            text = " x ".join(map(str, self.data))
            raise VerifyException(f"{self.name}: a tile of {text} (expected 1 or more of each)")
