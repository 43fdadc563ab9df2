"""How many rows or columns a register tile has, and whether memory lies so."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.parser import AttrParser


@dataclass(frozen=True, slots=True)
class TileSize:
    """
    How many rows or columns a register tile has. `in_panels`: an operand lies in panels of as many, side by
    side along its last dimension.
    """

    size: int
    in_panels: bool = False

    @classmethod
    def parse(cls, parser: AttrParser) -> TileSize:
        size = parser.parse_integer(allow_boolean=False)
        in_panels = parser.parse_optional_keyword("in") is not None
        if in_panels:
            parser.parse_keyword("panels")
        return cls(size, in_panels)

    def __str__(self) -> str:
        return f"{self.size} in panels" if self.in_panels else str(self.size)
