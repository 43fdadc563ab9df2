"""What ops of `stablehlo` write between their operands and their types: `dims = [0, 1]`, `LT`, `k = 2`."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    i32,
    i64,
)
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from .attributes import DotAttr, Precision, PrecisionAttr


def parse_ints(parser: Parser) -> tuple[int, ...]:
    """Parses `[0, -1]`."""
    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))


def parse_flags(parser: Parser) -> tuple[int, ...]:
    """Parses `[true, 0]` as ones and zeros."""

    def flag() -> int:
        boolean = parser.parse_optional_boolean()
        return parser.parse_integer(allow_boolean=False) if boolean is None else int(boolean)

    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, flag))


def ints_attribute(values: tuple[int, ...]) -> DenseArrayBase[Any]:
    """Returns `array<i64: ...>`."""
    return DenseArrayBase.from_list(i64, list(values))


_FLOAT_FORMAT = re.compile(r"e([0-9]{1,4})m([0-9]{1,4})")


@dataclass(frozen=True)
class Clause(ABC):
    """A property, and the keyword it is written with; none for one that stands by itself."""

    keyword: str | None
    prop: str

    @abstractmethod
    def parse(self, parser: Parser) -> dict[str, Attribute]:
        """Parses what follows the keyword and `=`."""

    @abstractmethod
    def print(self, printer: Printer, value: Attribute) -> None:
        """Prints what follows the keyword and `=`."""


@dataclass(frozen=True)
class Ints(Clause):
    """A list of numbers, `array<i64: ...>`."""

    def parse(self, parser: Parser) -> dict[str, Attribute]:
        return {self.prop: ints_attribute(parse_ints(parser))}

    def print(self, printer: Printer, value: Attribute) -> None:
        printer.print_string(str(list(cast(DenseArrayBase[Any], value).get_values())))


@dataclass(frozen=True)
class Int(Clause):
    """A number, an i64."""

    def parse(self, parser: Parser) -> dict[str, Attribute]:
        return {self.prop: IntegerAttr(parser.parse_integer(allow_boolean=False), i64)}

    def print(self, printer: Printer, value: Attribute) -> None:
        printer.print_int(cast("IntegerAttr[Any]", value).value.data)


@dataclass(frozen=True)
class Bool(Clause):
    """true or false."""

    def parse(self, parser: Parser) -> dict[str, Attribute]:
        return {self.prop: BoolAttr.from_bool(parser.parse_boolean())}

    def print(self, printer: Printer, value: Attribute) -> None:
        printer.print_string("true" if cast(BoolAttr, value).value.data else "false")


@dataclass(frozen=True)
class Enum(Clause):
    """One name of several."""

    kind: type[EnumAttribute[Any]]

    def parse(self, parser: Parser) -> dict[str, Attribute]:
        return {self.prop: self.kind(self.kind.parse_parameter(parser))}

    def print(self, printer: Printer, value: Attribute) -> None:
        cast(EnumAttribute[Any], value).print_parameter(printer)


@dataclass(frozen=True)
class StringClause(Clause):
    """A string."""

    def parse(self, parser: Parser) -> dict[str, Attribute]:
        return {self.prop: StringAttr(parser.parse_str_literal())}

    def print(self, printer: Printer, value: Attribute) -> None:
        printer.print_attribute(value)


@dataclass(frozen=True)
class Precisions(Clause):
    """`[DEFAULT, HIGHEST]`, for each operand."""

    def parse(self, parser: Parser) -> dict[str, Attribute]:
        names = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: PrecisionAttr(parser.parse_str_enum(Precision))
        )
        return {self.prop: ArrayAttr(names)}

    def print(self, printer: Printer, value: Attribute) -> None:
        with printer.in_square_brackets():
            names = cast("ArrayAttr[PrecisionAttr]", value)
            printer.print_list(names, lambda name: printer.print_string(name.data.value))


@dataclass(frozen=True)
class Fields(Clause):
    """`<lhs_precision_type = tf32, num_primitive_operations = 1>`: a dictionary."""

    def parse(self, parser: Parser) -> dict[str, Attribute]:
        fields: dict[str, Attribute] = {}

        def field() -> None:
            name = parser.parse_identifier()
            parser.parse_punctuation("=")
            fields[name] = parser.parse_attribute()

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, field)
        return {self.prop: DictionaryAttr(fields)}

    def print(self, printer: Printer, value: Attribute) -> None:
        with printer.in_angle_brackets():
            fields = [*cast(DictionaryAttr, value).data.items()]
            for number, (name, each) in enumerate(fields):
                printer.print_string(", " if number else "")
                printer.print_string(f"{name} = ")
                printer.print_attribute(each)


@dataclass(frozen=True)
class DimsOfDot(Clause):
    """`[1] x [0]`: the dims of lhs and of rhs that are contracted, or batched."""

    role: str

    def parse(self, parser: Parser) -> dict[str, Attribute]:
        lhs = parse_ints(parser)
        parser.parse_keyword("x")
        fields = {f"lhs_{self.role}_dimensions": lhs, f"rhs_{self.role}_dimensions": parse_ints(parser)}
        return {self.prop: DotAttr(DotAttr.of(fields))}

    def print(self, printer: Printer, value: Attribute) -> None:
        numbers = cast(DotAttr, value)
        lhs, rhs = (numbers.dims(f"{side}_{self.role}_dimensions") for side in ("lhs", "rhs"))
        printer.print_string(f"{list(lhs)} x {list(rhs)}")

    def is_written(self, value: Attribute) -> bool:
        """Returns whether there are such dims: contracted ones are written in any case."""
        numbers = cast(DotAttr, value)
        return self.role == "contracting" or bool(numbers.dims(f"lhs_{self.role}_dimensions"))


@dataclass(frozen=True)
class FloatFormat(Clause):
    """`e5m2`: how many bits the exponent and the mantissa of a float have."""

    def parse(self, parser: Parser) -> dict[str, Attribute]:
        start = parser.pos
        found = _FLOAT_FORMAT.fullmatch(parser.parse_identifier())
        if found is None:
            parser.raise_error("expected a format like e5m2", start)
        return {
            name: IntegerAttr(int(bits), i32)
            for name, bits in zip(("exponent_bits", "mantissa_bits"), found.groups(), strict=True)
        }

    def print(self, printer: Printer, value: Attribute) -> None:
        raise AssertionError("printed by the op")
