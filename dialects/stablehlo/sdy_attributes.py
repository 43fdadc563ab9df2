"""The attributes of `sdy`: meshes, and how tensors are split over their axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

T = TypeVar("T")


@dataclass(frozen=True)
class MeshAxes:
    """The axes of a mesh, each a name and an extent, and its devices where they are in another order."""

    axes: tuple[tuple[str, int], ...]
    device_ids: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """How many devices there are."""
        return prod(extent for _, extent in self.axes)

    @property
    def has_other_devices(self) -> bool:
        """Returns whether its devices are not those from 0 on, row-major."""
        return bool(self.device_ids) and self.device_ids != tuple(range(self.size))


@dataclass(frozen=True)
class AxisPart:
    """An axis of a mesh; of `size` parts of it those after the first `before`, where these are not None."""

    name: str
    before: int | None = None
    size: int | None = None


@dataclass(frozen=True)
class SplitDim:
    """How a dim is split: by these axes, and perhaps by more where it is open."""

    axes: tuple[AxisPart, ...] = ()
    is_open: bool = False
    priority: int | None = None


@dataclass(frozen=True)
class TensorSplit:
    """How a tensor is split over a mesh, named or written out, and over which axes it is not."""

    mesh: str | MeshAxes
    dims: tuple[SplitDim, ...]
    replicated: tuple[AxisPart, ...] = ()
    unreduced: tuple[AxisPart, ...] = ()


@irdl_attr_definition
class MeshAttr(Data[MeshAxes]):
    """`#sdy.mesh<["x"=2, "y"=4]>`; printed bare by `sdy.mesh`."""

    name = "sdy.mesh"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> MeshAxes:
        with parser.in_angle_brackets():

            def axis() -> tuple[str, int]:
                name = parser.parse_str_literal()
                parser.parse_punctuation("=")
                start = parser.pos
                extent = parser.parse_integer(allow_boolean=False, allow_negative=False)
                if extent < 1:
                    parser.raise_error(f"axis {name} has extent {extent}", start)
                return name, extent

            start = parser.pos
            axes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, axis)
            if len({name for name, _ in axes}) != len(axes):
                parser.raise_error("an axis is given twice", start)
            device_ids: Sequence[int] = ()
            if parser.parse_optional_punctuation(",") is not None:
                parser.parse_keyword("device_ids")
                parser.parse_punctuation("=")
                device_ids = parser.parse_comma_separated_list(
                    parser.Delimiter.SQUARE,
                    lambda: parser.parse_integer(allow_boolean=False, allow_negative=False),
                )
        return MeshAxes(tuple(axes), tuple(device_ids))

    def print_parameter(self, printer: Printer) -> None:
        axes = ", ".join(f'"{name}"={extent}' for name, extent in self.data.axes)
        ids = f", device_ids={list(self.data.device_ids)}" if self.data.device_ids else ""
        printer.print_string(f"<[{axes}]{ids}>")


@irdl_attr_definition
class ShardingAttr(Data[TensorSplit]):
    """`#sdy.sharding<@mesh, [{"x"}, {}]>`; printed bare by ops."""

    name = "sdy.sharding"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> TensorSplit:
        with parser.in_angle_brackets():
            name = parser.parse_optional_symbol_name()
            if name is None:
                parser.parse_keyword("mesh")
                mesh: str | MeshAxes = MeshAttr.parse_parameter(parser)
            else:
                mesh = name.data
            parser.parse_punctuation(",")
            dims = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _dim(parser))
            rest: dict[str, tuple[AxisPart, ...]] = {}
            while parser.parse_optional_punctuation(",") is not None:
                start = parser.pos
                keyword = next((each for each in _REST if parser.parse_optional_keyword(each)), None)
                if keyword is None or keyword in rest:
                    parser.raise_error(f"expected {' or '.join(_REST)}, once", start)
                parser.parse_punctuation("=")
                rest[keyword] = axes_in_braces(parser)
        return TensorSplit(mesh, tuple(dims), **rest)

    def print_parameter(self, printer: Printer) -> None:
        split = self.data
        printer.print_string("<")
        if isinstance(split.mesh, str):
            printer.print_symbol_name(split.mesh)
        else:
            printer.print_string("mesh")
            MeshAttr(split.mesh).print_parameter(printer)
        printer.print_string(f", [{', '.join(map(_dim_text, split.dims))}]")
        for keyword, axes in zip(_REST, (split.replicated, split.unreduced), strict=True):
            if axes:
                printer.print_string(f", {keyword}={axes_text(axes)}")
        printer.print_string(">")


_REST = ("replicated", "unreduced")


class _ListAttr(Data[tuple[T, ...]]):
    """What ops print bare as a list."""


@irdl_attr_definition
class ShardingPerValueAttr(_ListAttr[ShardingAttr]):
    """`#sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, [{}]>]>`: one for each value."""

    name = "sdy.sharding_per_value"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[ShardingAttr, ...]:
        with parser.in_angle_brackets():
            return cls.parse_list(parser)

    @classmethod
    def parse_list(cls, parser: AttrParser) -> tuple[ShardingAttr, ...]:
        """Parses the list as ops have it."""
        return tuple(
            parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: ShardingAttr(ShardingAttr.parse_parameter(parser))
            )
        )

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            self.print_list(printer)

    def print_list(self, printer: Printer) -> None:
        """Prints the list as ops have it."""
        with printer.in_square_brackets():
            printer.print_list(self.data, lambda each: each.print_parameter(printer))


@irdl_attr_definition
class ManualAxesAttr(_ListAttr[AxisPart]):
    """`#sdy<manual_axes{"x", "y"}>`: the axes that a region says everything of itself."""

    name = "sdy.manual_axes"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[AxisPart, ...]:
        with parser.in_angle_brackets():
            return axes_in_braces(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{axes_text(self.data)}>")


def axes_in_braces(parser: AttrParser) -> tuple[AxisPart, ...]:
    """Parses `{"x", "y":(1)2}`."""
    return tuple(parser.parse_comma_separated_list(parser.Delimiter.BRACES, lambda: _axis(parser)))


def axes_text(axes: Sequence[AxisPart]) -> str:
    """Returns axes as they are written: `{"x", "y":(1)2}`."""
    return f"{{{', '.join(map(_axis_text, axes))}}}"


def _axis(parser: AttrParser) -> AxisPart:
    name = parser.parse_str_literal()
    if parser.parse_optional_punctuation(":") is None:
        return AxisPart(name)
    number: Callable[[], int] = lambda: parser.parse_integer(allow_boolean=False, allow_negative=False)  # noqa: E731
    with parser.in_parens():
        before = number()
    start = parser.pos
    size = number()
    if before < 1 or size < 2:
        parser.raise_error(f"axis {name} has no part {size} after {before}", start)
    return AxisPart(name, before, size)


def _axis_text(axis: AxisPart) -> str:
    part = "" if axis.size is None else f":({axis.before}){axis.size}"
    return f'"{axis.name}"{part}'


def _dim(parser: AttrParser) -> SplitDim:
    axes: list[AxisPart] = []
    is_open = False

    def item() -> None:
        nonlocal is_open
        start = parser.pos
        if is_open:
            parser.raise_error("`?` is the last of a dim", start)
        if parser.parse_optional_punctuation("?") is None:
            axes.append(_axis(parser))
        else:
            is_open = True

    parser.parse_comma_separated_list(parser.Delimiter.BRACES, item)
    priority = next((p for p in range(_PRIORITIES) if parser.parse_optional_keyword(f"p{p}")), None)
    return SplitDim(tuple(axes), is_open, priority)


_PRIORITIES = 100
"""One more than the least urgent priority that is read."""


def _dim_text(dim: SplitDim) -> str:
    parts = [*map(_axis_text, dim.axes), *(["?"] if dim.is_open else [])]
    return f"{{{', '.join(parts)}}}" + ("" if dim.priority is None else f"p{dim.priority}")
