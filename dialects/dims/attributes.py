"""Extents as attributes: of one axis, and of all axes of a tensor or a buffer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import DYNAMIC_INDEX, I64, DictionaryAttr, IntegerAttr, i64
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .expressions import DimExpr, Extent, is_at_least, unbounded
from .text import parse_extent

__all__ = ["DimExprAttr", "DimsAttr"]


@irdl_attr_definition
class DimExprAttr(Data[DimExpr]):
    """An extent that is no number yet: `#graph.dim_expr<2 * n + 1>`; printed bare (`2 * n + 1`) by ops."""

    name = "graph.dim_expr"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> DimExpr:
        with parser.in_angle_brackets():
            start = parser.pos
            value = parse_extent(parser)
            if isinstance(value, int):
                parser.raise_error(f"{value} has no dim in it", start)
            return value

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.data))


LengthAttr = IntegerAttr[I64] | DimExprAttr
"""How often a loop runs."""


def length_attribute(length: Extent) -> LengthAttr:
    """Returns how often a loop runs as an attribute: a number, or an expression of dims without bounds."""
    bare = unbounded(length)
    return _number_of_turns(bare) if isinstance(bare, int) else DimExprAttr(bare)


@lru_cache(maxsize=4096)
def _number_of_turns(number: int) -> IntegerAttr[I64]:
    return IntegerAttr(number, i64)


def length_of(attribute: LengthAttr) -> Extent:
    """Returns how often a loop runs."""
    return attribute.data if isinstance(attribute, DimExprAttr) else attribute.value.data


@irdl_attr_definition
class DimsAttr(Data[tuple[Extent, ...]]):
    """
    The extents of a tensor or of a dense buffer, some of which are no numbers: `#graph.dims<n, 8>`. The type
    has `?` for those. A tensor's type has it as its encoding, a buffer's inside of its memory space, as
    `space_with_dims` says. A `?` here is an extent without a name.
    """

    name = "graph.dims"

    @staticmethod
    def of(shape: Sequence[Extent]) -> DimsAttr:
        """Returns the attribute for a shape, without the bounds of its dims."""
        return DimsAttr(tuple(map(unbounded, shape)))

    @property
    def written(self) -> tuple[int, ...]:
        """The extents as the type has them beside this attribute: `DYNAMIC_INDEX` for those with dims."""
        return tuple(extent if isinstance(extent, int) else DYNAMIC_INDEX for extent in self.data)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Extent, ...]:
        return tuple(
            parser.parse_comma_separated_list(parser.Delimiter.ANGLE, lambda: _parse_written(parser))
        )

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(
                ", ".join("?" if extent == DYNAMIC_INDEX else str(extent) for extent in self.data)
            )

    def verify(self) -> None:
        if not any(isinstance(extent, DimExpr) for extent in self.data):
            raise VerifyException(f"{self.name}: {list(self.data)} has no dim in it")
        for axis, extent in enumerate(self.data):
            if extent != DYNAMIC_INDEX and is_at_least(-1, extent):
                raise VerifyException(f"{self.name}: axis {axis} is {extent}, which is negative")


_DIMS = "dims"


def space_with_dims(dims: DimsAttr) -> DictionaryAttr:
    """
    Returns the memory space of a buffer with these extents: `{dims = #graph.dims<n, 8>}`. It is the one part
    of a memref that MLIR lets a dialect that it does not know write in, and for that only as a dictionary.
    """
    return DictionaryAttr({_DIMS: dims})


def dims_of_space(space: Attribute) -> DimsAttr | None:
    """Returns what `space_with_dims` put there, None for a memory space of another kind."""
    if not isinstance(space, DictionaryAttr) or len(space.data) != 1:
        return None
    dims = space.data.get(_DIMS)
    return dims if isinstance(dims, DimsAttr) else None


def _parse_written(parser: AttrParser) -> Extent:
    return DYNAMIC_INDEX if parser.parse_optional_punctuation("?") is not None else parse_extent(parser)
