"""The attributes of the `graph` dialect."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, Data, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum


@irdl_attr_definition
class IntsAttr(Data[tuple[int, ...]]):
    """One integer per axis, or a list of axes: `#graph.ints[1, 0]`; printed bare (`[1, 0]`) by ops."""

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
class AxisAttr(Data[int], SpacedOpaqueSyntaxAttribute):
    """An axis of a tensor: `#graph<axis 1>`; printed bare (`1`) by ops."""

    name = "graph.axis"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> int:
        return parser.parse_integer(allow_boolean=False)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_int(self.data)


class ReduceKind(StrEnum):
    """How `graph.reduce` combines two elements."""

    ADD = "add"
    MUL = "mul"
    MAX = "max"
    MIN = "min"
    AND = "and"
    OR = "or"


@irdl_attr_definition
class ReduceKindAttr(EnumAttribute[ReduceKind], SpacedOpaqueSyntaxAttribute):
    """`#graph<reduce_kind add>`; printed bare (`add`) by `graph.reduce`."""

    name = "graph.reduce_kind"


class MemoryMode(StrEnum):
    """Where a value lives: nowhere (computed where it is read), in its kernel, or in a buffer of its own."""

    VIRTUAL = "virtual"
    LOCAL = "local"
    MATERIALIZED = "materialized"


@irdl_attr_definition
class ModeAttr(EnumAttribute[MemoryMode], SpacedOpaqueSyntaxAttribute):
    """`#graph<mode virtual>`; a part of `MemoryModeAttr`."""

    name = "graph.mode"


def _mode(value: MemoryMode | ModeAttr) -> ModeAttr:
    return value if isinstance(value, ModeAttr) else ModeAttr(value)


def _text(value: str | StringAttr) -> StringAttr:
    return value if isinstance(value, StringAttr) else StringAttr(value)


@irdl_attr_definition
class MemoryModeAttr(ParametrizedAttribute):
    """
    Where the result of an op lives, and why: `#graph.memory_mode<virtual, "read once">`. Ops carry it as
    their attribute `memory_mode`.
    """

    name = "graph.memory_mode"
    mode: ModeAttr = param_def(converter=_mode)
    why: StringAttr = param_def(converter=_text)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            mode = ModeAttr(parser.parse_str_enum(MemoryMode))
            parser.parse_punctuation(",")
            return (mode, StringAttr(parser.parse_str_literal()))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.mode.data.value}, ")
            printer.print_string_literal(self.why.data)
