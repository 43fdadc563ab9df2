"""
What the ops of `stablehlo` and `chlo` have in common: any number of operands and results, and one way to be
written.

    stablehlo.add %x, %y : tensor<4xf32>
    stablehlo.compare LT, %x, %y, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    chlo.erf %x : tensor<4xf32> -> tensor<4xf32>

What has regions is written in the generic form, but for ops that have a form of their own. Verifiers say
whether an op has what it needs; whether its types fit one another is found where it is converted.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from enum import Enum as PythonEnum
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import ComplexType, FunctionType, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, traits_def, var_operand_def, var_region_def, var_result_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .clauses import Clause, DimsOfDot, StringClause

__all__ = ["StablehloOp", "TypeStyle", "WrittenOp"]


class TypeStyle(PythonEnum):
    """How the types of an op are written."""

    SAME = "one type, if all are the same"
    FUNCTION = "(operands) -> results"
    ARROW = "operands -> results"
    SELECT = "the type of the first operand and that of the result"
    RESULTS = "those of the results"
    OPERANDS = "those of the operands, which the results have too"
    PARTS = "that of the result, of complex numbers whose parts the operands are"


class StablehloOp(IRDLOperation, ABC):
    """An op of `stablehlo` or `chlo`."""

    N_OPERANDS: ClassVar[int | None] = None
    """How many operands there are; None is any number from `LEAST_OPERANDS` on."""
    LEAST_OPERANDS: ClassVar[int] = 0
    N_RESULTS: ClassVar[int | None] = 1
    N_REGIONS: ClassVar[int | None] = 0
    REQUIRED: ClassVar[tuple[str, ...]] = ()
    """The properties that must be there."""

    arguments = var_operand_def()
    res = var_result_def()
    parts = var_region_def()
    traits = traits_def(Pure())

    def ints(self, name: str) -> tuple[int, ...] | None:
        """Returns a property that lists numbers, None where it is not there."""
        from .properties import ints_of

        value = self.properties.get(name)
        return None if value is None else ints_of(self.name, name, value)

    def number(self, name: str, default: int) -> int:
        """Returns a property that is a number, `default` where it is not there."""
        from .properties import number_of

        value = self.properties.get(name)
        return default if value is None else number_of(self.name, name, value)

    def rows(self, name: str) -> tuple[tuple[int, ...], ...]:
        """Returns a property that is a matrix of numbers, no rows where it is not there."""
        from .properties import rows_of

        value = self.properties.get(name)
        return () if value is None else rows_of(self.name, name, value)

    def verify_(self) -> None:
        for what, found, wanted in (
            ("operands", len(self.operands), self.N_OPERANDS),
            ("results", len(self.results), self.N_RESULTS),
            ("regions", len(self.regions), self.N_REGIONS),
        ):
            if wanted is not None and found != wanted:
                raise VerifyException(f"{self.name}: {found} {what}, expected {wanted}")
        if len(self.operands) < self.LEAST_OPERANDS:
            raise VerifyException(
                f"{self.name}: {len(self.operands)} operands, expected {self.LEAST_OPERANDS} or more"
            )
        for region in self.regions:
            if len(region.blocks) != 1 or region.block.last_op is None:
                raise VerifyException(f"{self.name}: a region is not one block of ops")
        for name in self.REQUIRED:
            if name not in self.properties:
                raise VerifyException(f"{self.name}: there is no {name}")


class WrittenOp(StablehloOp, ABC):
    """An op with the form that the module's docstring shows, or one of its own."""

    STYLE: ClassVar[TypeStyle] = TypeStyle.SAME
    LEADING: ClassVar[Clause | None] = None
    """What stands before the operands."""
    CLAUSES: ClassVar[tuple[Clause, ...]] = ()
    """What stands after them."""
    IN_PARENS: ClassVar[bool] = False
    """Whether operands and clauses are in parentheses."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands: list[UnresolvedOperand] = []
        properties: dict[str, Attribute] = {}
        if cls.IN_PARENS:
            parser.parse_punctuation("(")
        if cls.LEADING is not None:
            properties.update(cls.LEADING.parse(parser))
            parser.parse_optional_punctuation(",")
        _parse_arguments(cls, parser, operands, properties)
        if cls.IN_PARENS:
            parser.parse_punctuation(")")
        return cls.finished(parser, operands, properties)

    @classmethod
    def finished(
        cls, parser: Parser, operands: Sequence[UnresolvedOperand], properties: dict[str, Attribute]
    ) -> Self:
        """Parses attributes and types, and returns the op."""
        attributes = parser.parse_optional_attr_dict()
        known = cls.get_irdl_definition().properties
        for name in [*attributes]:
            if name in known and name not in properties:
                properties[name] = attributes.pop(name)
        parser.parse_punctuation(":")
        start = parser.pos
        inputs, results = parse_types(parser, cls.STYLE, len(operands))
        return cls.create(
            operands=parser.resolve_operands(operands, inputs, start),
            result_types=results,
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string("(" if self.IN_PARENS else " ")
        written: set[str] = set()
        parts = 0
        if self.LEADING is not None and self.LEADING.prop in self.properties:
            self.LEADING.print(printer, self.properties[self.LEADING.prop])
            written.add(self.LEADING.prop)
            if isinstance(self.LEADING, StringClause):
                printer.print_string(" ")
            else:
                parts = 1
        for operand in self.operands:
            printer.print_string(", " if parts else "")
            printer.print_operand(operand)
            parts += 1
        for clause in self.CLAUSES:
            value = self.properties.get(clause.prop)
            if value is None or (isinstance(clause, DimsOfDot) and not clause.is_written(value)):
                continue
            printer.print_string(", " if parts else "")
            printer.print_string("" if clause.keyword is None else f"{clause.keyword} = ")
            clause.print(printer, value)
            written.add(clause.prop)
            parts += 1
        if self.IN_PARENS:
            printer.print_string(")")
        self.print_rest(printer, written)

    def print_rest(self, printer: Printer, written: set[str]) -> None:
        """Prints the properties that are not `written` yet, the attributes and the types."""
        rest = {name: value for name, value in self.properties.items() if name not in written}
        printer.print_op_attributes(rest | self.attributes)
        if self.STYLE is TypeStyle.OPERANDS and not self.operands:
            return
        printer.print_string(" : ")
        print_types(printer, self.STYLE, self.operands, self.results)


def _parse_arguments(
    cls: type[WrittenOp],
    parser: Parser,
    operands: list[UnresolvedOperand],
    properties: dict[str, Attribute],
) -> None:
    """Parses operands, and then clauses in any order, with commas in between."""
    by_keyword = {clause.keyword: clause for clause in cls.CLAUSES if clause.keyword is not None}
    bare = [clause for clause in cls.CLAUSES if clause.keyword is None]
    first = True
    while first or parser.parse_optional_punctuation(",") is not None:
        operand = parser.parse_optional_unresolved_operand() if not properties or cls.LEADING else None
        if operand is not None:
            operands.append(operand)
            first = False
            continue
        start = parser.pos
        keyword = next((word for word in by_keyword if parser.parse_optional_keyword(word)), None)
        if keyword is not None:
            parser.parse_punctuation("=")
            found = by_keyword[keyword].parse(parser)
        elif bare:
            found = bare.pop(0).parse(parser)
        elif first:
            return
        else:
            wanted = ", ".join((*by_keyword, "an operand"))
            parser.raise_error(f"{cls.name}: expected one of {wanted}", start)
        first = False
        for name, value in found.items():
            before = properties.get(name)
            properties[name] = value if before is None else _merged(parser, start, before, value)


def _merged(parser: Parser, start: int, before: Attribute, value: Attribute) -> Attribute:
    from .attributes import DotAttr

    if isinstance(before, DotAttr) and isinstance(value, DotAttr):
        fields = dict(before.data)
        if not any(name in fields for name, _ in value.data):
            return DotAttr(DotAttr.of(fields | dict(value.data)))
    parser.raise_error("given twice", start)


def parse_types(
    parser: Parser, style: TypeStyle, n_operands: int
) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
    """Parses the types of an op with so many operands: those of the operands, and those of the results."""
    start = parser.pos
    if parser.parse_optional_punctuation("(") is not None:
        inputs: list[Attribute] = []
        if parser.parse_optional_punctuation(")") is None:
            inputs = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            parser.parse_punctuation(")")
        parser.parse_punctuation("->")
        return inputs, _parse_results(parser)
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    if parser.parse_optional_punctuation("->") is not None:
        return types, _parse_results(parser)
    match style:
        case TypeStyle.RESULTS:
            return [], types
        case TypeStyle.OPERANDS:
            return types, types
        case TypeStyle.PARTS if len(types) == 1:
            return [_part_of(types[0])] * n_operands, types
        case TypeStyle.SELECT if len(types) == 2:
            return [types[0], *types[1:] * (n_operands - 1)], types[1:]
        case _ if len(types) == 1:
            return types * n_operands, types
        case _:
            parser.raise_error(f"{len(types)} types, expected one or a function type", start)


def _parse_results(parser: Parser) -> list[Attribute]:
    results = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if results is None else list(results)


def _part_of(type: Attribute) -> Attribute:
    """Returns the type of the real parts of a tensor, which is its own where it is of no complex numbers."""
    if not isinstance(type, TensorType):
        return type
    tensor = cast("TensorType[Attribute]", type)
    element = tensor.element_type
    if not isinstance(element, ComplexType):
        return tensor
    part = cast("ComplexType[Any]", element).element_type
    return TensorType(part, tensor.get_shape(), tensor.encoding)


def print_types(
    printer: Printer, style: TypeStyle, operands: Sequence[SSAValue], results: Sequence[SSAValue]
) -> None:
    """Prints the types of an op."""
    inputs, outputs = [value.type for value in operands], [value.type for value in results]
    match style:
        case TypeStyle.SAME if len(outputs) == 1 and all(each == outputs[0] for each in inputs):
            printer.print_attribute(outputs[0])
        case TypeStyle.RESULTS if not inputs:
            printer.print_list(outputs, printer.print_attribute)
        case TypeStyle.OPERANDS if inputs == outputs or not outputs:
            printer.print_list(inputs, printer.print_attribute)
        case TypeStyle.PARTS if len(outputs) == 1 and all(each == _part_of(outputs[0]) for each in inputs):
            printer.print_attribute(outputs[0])
        case TypeStyle.SELECT if len(inputs) == 3 and inputs[1:] == outputs * 2:
            printer.print_list((inputs[0], outputs[0]), printer.print_attribute)
        case TypeStyle.ARROW:
            printer.print_list(inputs, printer.print_attribute)
            printer.print_string(" -> ")
            if len(outputs) == 1:
                printer.print_attribute(outputs[0])
            else:
                with printer.in_parens():
                    printer.print_list(outputs, printer.print_attribute)
        case _:
            printer.print_attribute(FunctionType.from_lists(inputs, outputs))


def tensor_type(who: str, value: SSAValue) -> TensorType[Any]:
    """Returns the type of a value. Raises `VerifyException`, naming `who`, where it is no tensor."""
    if not isinstance(value.type, TensorType):
        raise VerifyException(f"{who}: {value.type} is not a tensor")
    return cast(TensorType[Any], value.type)
