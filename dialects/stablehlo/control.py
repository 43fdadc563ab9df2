"""Control flow, and what ends a region."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.ir import Attribute, Region
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from .base import StablehloOp, TypeStyle, WrittenOp

__all__ = ["CaseOp", "EndOp", "IfOp", "ReturnOp", "WhileOp"]


class EndOp(WrittenOp, ABC):
    """What ends a region: the values that it gives."""

    N_RESULTS: ClassVar = 0
    STYLE: ClassVar = TypeStyle.OPERANDS
    traits = traits_def(IsTerminator(), Pure())

    @classmethod
    def finished(
        cls, parser: Parser, operands: Sequence[UnresolvedOperand], properties: dict[str, Attribute]
    ) -> Self:
        attributes = parser.parse_optional_attr_dict()
        types: list[Attribute] = []
        start = parser.pos
        if operands:
            parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        resolved = parser.resolve_operands(operands, types, start)
        return cls.create(operands=resolved, attributes=attributes)


@irdl_op_definition
class ReturnOp(EndOp):
    """
    Ends a region.

    ```mlir
    stablehlo.return %x : tensor<f32>
    ```
    """

    name = "stablehlo.return"


@irdl_op_definition
class WhileOp(WrittenOp):
    """
    Carries values as long as a condition holds.

    ```mlir
    %n = stablehlo.while(%i = %i0) : tensor<i32>
    cond {
      %more = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next : tensor<i32>
    }
    ```
    """

    name = "stablehlo.while"
    N_RESULTS: ClassVar = None
    N_REGIONS: ClassVar = 2
    traits = traits_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        def binding() -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
            argument = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            return argument, parser.parse_unresolved_operand()

        carried = parser.parse_comma_separated_list(parser.Delimiter.PAREN, binding)
        start, types = parser.pos, list[Attribute]()
        if carried:
            parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        if len(types) != len(carried):
            parser.raise_error(f"{len(carried)} carried values but {len(types)} types", start)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        operands = parser.resolve_operands([operand for _, operand in carried], types, start)
        regions: list[Region] = []
        for keyword in ("cond", "do"):
            parser.parse_keyword(keyword)
            arguments = [
                Parser.Argument(argument.name, type, None)
                for (argument, _), type in zip(carried, types, strict=True)
            ]
            regions.append(parser.parse_region(arguments))
        return cls.create(
            operands=operands,
            result_types=types,
            regions=regions,
            attributes={} if attributes is None else dict(attributes.data),
        )

    def print(self, printer: Printer) -> None:
        condition, body = (region.block for region in self.regions)
        names: list[str] = []
        with printer.in_parens():
            for number, (argument, operand) in enumerate(zip(condition.args, self.operands, strict=True)):
                printer.print_string(", " if number else "")
                names.append(printer.print_ssa_value(argument))
                printer.print_string(" = ")
                printer.print_operand(operand)
        # One name stands for the arguments of both regions.
        for argument, name in zip(body.args, names, strict=True):
            printer._ssa_values[argument] = name  # pyright: ignore[reportPrivateUsage]
        if self.operands:
            printer.print_string(" : ")
            printer.print_list(self.operands, lambda value: printer.print_attribute(value.type))
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" cond ")
        printer.print_region(self.regions[0], print_entry_block_args=False)
        printer.print_string(" do ")
        printer.print_region(self.regions[1], print_entry_block_args=False)

    def verify_(self) -> None:
        super().verify_()
        types = [value.type for value in self.operands]
        for region, what in zip(self.regions, ("condition", "body"), strict=True):
            if len(region.blocks) != 1 or [argument.type for argument in region.block.args] != types:
                raise VerifyException(f"{self.name}: the {what} does not take the carried values")
        if list(self.result_types) != types:
            raise VerifyException(f"{self.name}: the results are not of the types of the carried values")


@irdl_op_definition
class IfOp(StablehloOp):
    """What one of two regions returns."""

    name = "stablehlo.if"
    N_OPERANDS: ClassVar = 1
    N_RESULTS: ClassVar = None
    N_REGIONS: ClassVar = 2
    traits = traits_def()


@irdl_op_definition
class CaseOp(StablehloOp):
    """What the region of a number returns; the last one where the number is out of range."""

    name = "stablehlo.case"
    N_OPERANDS: ClassVar = 1
    N_RESULTS: ClassVar = None
    N_REGIONS: ClassVar = None
    traits = traits_def()

    def verify_(self) -> None:
        super().verify_()
        if not self.regions:
            raise VerifyException(f"{self.name}: there is no branch")
