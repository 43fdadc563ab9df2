"""Extents as attributes: of one axis, and of all axes of a tensor or a buffer."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefLayoutAttr, i64
from xdsl.ir import Data
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .dim_expr import DimExpr, Extent, is_at_least, row_major, unbounded
from .dim_text import parse_extent


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


def length_attribute(length: Extent) -> IntegerAttr | DimExprAttr:
    """Returns how often a loop runs as an attribute: a number, or an expression of dims without bounds."""
    bare = unbounded(length)
    return IntegerAttr(bare, i64) if isinstance(bare, int) else DimExprAttr(bare)


def length_of(attribute: IntegerAttr | DimExprAttr) -> Extent:
    """Returns how often a loop runs."""
    return attribute.data if isinstance(attribute, DimExprAttr) else attribute.value.data


@irdl_attr_definition
class DimsAttr(MemRefLayoutAttr, Data[tuple[Extent, ...]]):
    """
    The extents of a tensor or of a dense buffer, some of which are no numbers: `#graph.dims<n, 8>`. It is the
    encoding of the tensor's type, and the layout of the buffer's, in which those extents are written `?`. A
    `?` here is an extent without a name.
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

    def get_affine_map(self) -> AffineMap:
        """Returns row-major strides where they are numbers; others stand as 0, since a map has no names."""
        strides = row_major(self.data)
        total: AffineExpr = AffineConstantExpr(0)
        for axis, stride in enumerate(strides):
            total = total + AffineExpr.dimension(axis) * (stride if isinstance(stride, int) else 0)
        return AffineMap(len(self.data), 0, (total,))

    def get_strides(self) -> Sequence[int | None]:
        return [stride if isinstance(stride, int) else None for stride in row_major(self.data)]

    def get_offset(self) -> int | None:
        return 0

    def verify(self) -> None:
        if not any(isinstance(extent, DimExpr) for extent in self.data):
            raise VerifyException(f"{self.name}: {list(self.data)} has no dim in it")
        for axis, extent in enumerate(self.data):
            if extent != DYNAMIC_INDEX and is_at_least(-1, extent):
                raise VerifyException(f"{self.name}: axis {axis} is {extent}, which is negative")


def _parse_written(parser: AttrParser) -> Extent:
    return DYNAMIC_INDEX if parser.parse_optional_punctuation("?") is not None else parse_extent(parser)
