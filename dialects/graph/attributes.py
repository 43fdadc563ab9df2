"""The attributes of the `graph` dialect."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, Data, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from ...errors import MemoryModeError
from ..dims.expressions import Extent, unbounded
from ..dims.text import parse_extent
from ..memory_modes import MemoryMode, ModeKind

__all__ = [
    "VALUE_MODES",
    "AxisAttr",
    "ChannelAttr",
    "Combination",
    "CombinationAttr",
    "CountAttr",
    "CumulateKind",
    "CumulateKindAttr",
    "ExtentsAttr",
    "IntsAttr",
    "MemoryModeAttr",
    "ModeAttr",
    "NodeModeAttr",
    "PairsAttr",
    "ReduceKind",
    "ReduceKindAttr",
    "ScatterKind",
    "ScatterKindAttr",
    "SideAttr",
    "SortedSide",
    "SplitsAttr",
]


@irdl_attr_definition
class IntsAttr(Data[tuple[int, ...]], SpacedOpaqueSyntaxAttribute):
    """One integer per axis, or a list of axes: `#graph<ints [1, 0]>`; printed bare (`[1, 0]`) by ops."""

    name = "graph.ints"

    @staticmethod
    def of(values: Sequence[int] | IntsAttr) -> IntsAttr:
        return values if isinstance(values, IntsAttr) else IntsAttr(tuple(values))

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[int, ...]:
        return tuple(
            parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
            )
        )

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(str(list(self.data)))


@irdl_attr_definition
class ExtentsAttr(Data[tuple[Extent, ...]], SpacedOpaqueSyntaxAttribute):
    """One extent per axis: `#graph<extents [n floordiv 2, 8]>`; printed bare (`[n floordiv 2, 8]`) by ops."""

    name = "graph.extents"

    @staticmethod
    def of(values: Sequence[Extent] | ExtentsAttr) -> ExtentsAttr:
        return values if isinstance(values, ExtentsAttr) else ExtentsAttr(tuple(map(unbounded, values)))

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Extent, ...]:
        return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_extent(parser)))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"[{', '.join(map(str, self.data))}]")


class _NumberAttr(Data[int], SpacedOpaqueSyntaxAttribute):
    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> int:
        return parser.parse_integer(allow_boolean=False)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_int(self.data)


@irdl_attr_definition
class AxisAttr(_NumberAttr):
    """An axis of a tensor: `#graph<axis 1>`; printed bare (`1`) by ops."""

    name = "graph.axis"


@irdl_attr_definition
class ChannelAttr(_NumberAttr):
    """By which number ranks know which collectives meet: `#graph<channel 3>`; printed bare (`3`) by ops."""

    name = "graph.channel"


@irdl_attr_definition
class PairsAttr(Data[tuple[tuple[int, int], ...]], SpacedOpaqueSyntaxAttribute):
    """Pairs of who sends and who gets it: `#graph<pairs [[0, 1], [1, 0]]>`; printed bare by ops."""

    name = "graph.pairs"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[tuple[int, int], ...]:
        def parse_pair() -> tuple[int, int]:
            parser.parse_punctuation("[")
            first = parser.parse_integer(allow_boolean=False)
            parser.parse_punctuation(",")
            second = parser.parse_integer(allow_boolean=False)
            parser.parse_punctuation("]")
            return first, second

        return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_pair))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(str([list(pair) for pair in self.data]))


@irdl_attr_definition
class SplitsAttr(Data[tuple[tuple[tuple[int, ...], ...], ...]], SpacedOpaqueSyntaxAttribute):
    """
    The axes of a grid that split each dim of each of several tensors: `#graph<splits [[[0], []], [[]]]>`;
    printed bare by ops.
    """

    name = "graph.splits"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[tuple[tuple[int, ...], ...], ...]:
        square = parser.Delimiter.SQUARE

        def parse_tensor() -> tuple[tuple[int, ...], ...]:
            dims = parser.parse_comma_separated_list(square, lambda: IntsAttr.parse_parameter(parser))
            return tuple(dims)

        return tuple(parser.parse_comma_separated_list(square, parse_tensor))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(str([[list(axes) for axes in dims] for dims in self.data]))


@irdl_attr_definition
class CountAttr(_NumberAttr):
    """How often something is done: `#graph<count 20>`; printed bare (`20`) by ops."""

    name = "graph.count"


class ReduceKind(StrEnum):
    """How `graph.reduce` and `graph.contract` make one element of two."""

    ADD = "add"
    MUL = "mul"
    MAX = "max"
    MIN = "min"
    AND = "and"
    OR = "or"


@irdl_attr_definition
class ReduceKindAttr(EnumAttribute[ReduceKind], SpacedOpaqueSyntaxAttribute):
    """`#graph<reduce_kind add>`; printed bare (`add`) by `graph.reduce` and `graph.contract`."""

    name = "graph.reduce_kind"


class Combination(StrEnum):
    """What `graph.contract` makes of an element of each operand, before it accumulates."""

    MUL = "mul"
    ADD = "add"
    SUB = "sub"
    MAX = "max"
    MIN = "min"
    AND = "and"
    OR = "or"
    XOR = "xor"


@irdl_attr_definition
class CombinationAttr(EnumAttribute[Combination], SpacedOpaqueSyntaxAttribute):
    """`#graph<combination add>`; printed bare (`add`) by `graph.contract`."""

    name = "graph.combination"


class ScatterKind(StrEnum):
    """How `graph.scatter` puts an update to what is there."""

    SET = "set"
    ADD = "add"
    MUL = "mul"
    MAX = "max"
    MIN = "min"


@irdl_attr_definition
class ScatterKindAttr(EnumAttribute[ScatterKind], SpacedOpaqueSyntaxAttribute):
    """`#graph<scatter_kind set>`; printed bare (`set`) by `graph.scatter`."""

    name = "graph.scatter_kind"


class CumulateKind(StrEnum):
    """How `graph.cumulate` combines two elements."""

    ADD = "add"
    MUL = "mul"
    MAX = "max"
    MIN = "min"


@irdl_attr_definition
class CumulateKindAttr(EnumAttribute[CumulateKind], SpacedOpaqueSyntaxAttribute):
    """`#graph<cumulate_kind add>`; printed bare (`add`) by `graph.cumulate`."""

    name = "graph.cumulate_kind"


class SortedSide(StrEnum):
    """Where `graph.search_sorted` puts a value among those that are equal to it."""

    LEFT = "left"
    RIGHT = "right"


@irdl_attr_definition
class SideAttr(EnumAttribute[SortedSide], SpacedOpaqueSyntaxAttribute):
    """`#graph<side left>`; printed bare (`left`) by `graph.search_sorted`."""

    name = "graph.side"


VALUE_MODES = (ModeKind.VIRTUAL, ModeKind.LOCAL, ModeKind.MATERIALIZED)
"""Where a value may live: nowhere (computed where it is read), in its kernel, or in a buffer of its own."""


@irdl_attr_definition
class ModeAttr(EnumAttribute[ModeKind], SpacedOpaqueSyntaxAttribute):
    """`#graph<mode virtual>`, one of `VALUE_MODES`; a part of `MemoryModeAttr`."""

    name = "graph.mode"

    def verify(self) -> None:
        if self.data not in VALUE_MODES:
            raise VerifyException(
                f"{self.name}: {self.data.value} is for tensor nodes, a value is one of "
                f"{', '.join(VALUE_MODES)}"
            )


def _mode(value: ModeKind | ModeAttr) -> ModeAttr:
    return value if isinstance(value, ModeAttr) else _mode_of(value)


@cache
def _mode_of(kind: ModeKind) -> ModeAttr:
    return ModeAttr(kind)


def _text(value: str | StringAttr) -> StringAttr:
    return value if isinstance(value, StringAttr) else StringAttr(value)


@irdl_attr_definition
class MemoryModeAttr(ParametrizedAttribute):
    """
    Where the result of an op lives, why, and the rule that decided so, if one did:
    `#graph.memory_mode<virtual, "computed where it is read", "inline">`. Ops carry it as their attribute
    `memory_mode`.
    """

    name = "graph.memory_mode"
    mode: ModeAttr = param_def()
    why: StringAttr = param_def()
    rule: StringAttr = param_def()

    def __init__(self, mode: ModeKind | ModeAttr, why: str | StringAttr, rule: str | StringAttr = "") -> None:
        super().__init__(_mode(mode), _text(why), _text(rule))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            mode = ModeAttr(parser.parse_str_enum(ModeKind))
            parser.parse_punctuation(",")
            why = parser.parse_str_literal()
            rule = "" if parser.parse_optional_punctuation(",") is None else parser.parse_str_literal()
            return (mode, StringAttr(why), StringAttr(rule))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.mode.data.value}, ")
            printer.print_string_literal(self.why.data)
            if self.rule.data:
                printer.print_string(", ")
                printer.print_string_literal(self.rule.data)


@irdl_attr_definition
class NodeModeAttr(Data[MemoryMode]):
    """The memory mode of a tensor node: `#graph.node_mode<hosted(constant)>`; printed bare by ops."""

    name = "graph.node_mode"

    @staticmethod
    def parse_mode(parser: AttrParser) -> MemoryMode:
        """Parses a mode as `MemoryMode.parse` reads it."""
        start = parser.pos
        text = parser.parse_identifier()
        depth = 0
        while parser.parse_optional_punctuation("(") is not None:
            text += f"({parser.parse_identifier()}"
            depth += 1
        for _ in range(depth):
            parser.parse_punctuation(")")
            text += ")"
        try:
            return MemoryMode.parse(text)
        except MemoryModeError as error:
            parser.raise_error(error.message, start)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> MemoryMode:
        with parser.in_angle_brackets():
            return cls.parse_mode(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.data))
