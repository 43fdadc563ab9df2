"""Reductions, whose region is written as the one op that is all of it, or as a reducer."""

from __future__ import annotations

from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Region
from xdsl.irdl import irdl_op_definition, opt_prop_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .base import TypeStyle, WrittenOp, parse_types, print_types
from .clauses import ints_attribute, parse_ints
from .control import ReturnOp

__all__ = ["ReduceOp"]


@irdl_op_definition
class ReduceOp(WrittenOp):
    """
    What a region makes of all elements along some dims, for one or several operands at once.

    ```mlir
    %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    ```
    """

    name = "stablehlo.reduce"
    N_RESULTS: ClassVar = None
    N_REGIONS: ClassVar = 1
    STYLE: ClassVar = TypeStyle.FUNCTION
    REQUIRED: ClassVar = ("dimensions",)
    dimensions = opt_prop_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        pairs: list[tuple[UnresolvedOperand, UnresolvedOperand]] = []
        while not pairs or parser.parse_optional_punctuation(",") is not None:
            with parser.in_parens():
                operand = parser.parse_unresolved_operand()
                parser.parse_keyword("init")
                parser.parse_punctuation(":")
                pairs.append((operand, parser.parse_unresolved_operand()))
        start, applied = parser.pos, None
        if parser.parse_optional_keyword("applies") is not None:
            applied = parser._get_op_by_name(parser.parse_identifier())  # pyright: ignore[reportPrivateUsage]
        parser.parse_keyword("across")
        parser.parse_keyword("dimensions")
        parser.parse_punctuation("=")
        dimensions = ints_attribute(parse_ints(parser))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        at = parser.pos
        inputs, results = parse_types(parser, cls.STYLE, 2 * len(pairs))
        operands = [*(first for first, _ in pairs), *(init for _, init in pairs)]
        region = _parse_reducer(parser, len(pairs)) if applied is None else None
        resolved = parser.resolve_operands(operands, inputs, at)
        if applied is not None:
            type = results[0] if results else None
            if not isinstance(type, TensorType) or len(pairs) != 1:
                parser.raise_error(f"{cls.name}: applies is for one tensor", start)
            element = TensorType(cast("TensorType[Any]", type).element_type, [])
            block = Block(arg_types=(element, element))
            made = applied.create(operands=block.args, result_types=(element,))
            block.add_ops((made, ReturnOp.create(operands=made.results)))
            region = Region(block)
        assert region is not None, "neither written nor applied"
        return cls.create(
            operands=resolved,
            result_types=results,
            properties={"dimensions": dimensions},
            attributes=attributes,
            regions=(region,),
        )

    def print(self, printer: Printer) -> None:
        n = len(self.operands) // 2
        for number in range(n):
            printer.print_string(", (" if number else "(")
            printer.print_operand(self.operands[number])
            printer.print_string(" init: ")
            printer.print_operand(self.operands[n + number])
            printer.print_string(")")
        applied = self._applied()
        if applied is not None:
            printer.print_string(f" applies {applied}")
        printer.print_string(f" across dimensions = {list(self.ints('dimensions') or ())}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        print_types(printer, self.STYLE, self.operands, self.results)
        if applied is not None:
            return
        arguments = self.regions[0].block.args
        printer.print_string(" reducer")
        for first, second in zip(arguments[:n], arguments[n:], strict=True):
            with printer.in_parens():
                printer.print_list((first, second), printer.print_block_argument)
            printer.print_string(" ")
        printer.print_region(self.regions[0], print_entry_block_args=False)

    def _applied(self) -> str | None:
        """Returns the op that is all of the region, None where there is more to say."""
        block = self.regions[0].block
        first, last = block.first_op, block.last_op
        if first is None or last is None or first.next_op is not last or len(first.results) != 1:
            return None
        elements = {value.type for value in (*block.args, *first.results)}
        is_plain = not first.properties and not first.attributes and not first.regions
        is_whole = tuple(first.operands) == tuple(block.args) and tuple(last.operands) == tuple(first.results)
        return first.name if len(block.args) == 2 and len(elements) == 1 and is_plain and is_whole else None

    def verify_(self) -> None:
        super().verify_()
        n, odd = divmod(len(self.operands), 2)
        if odd or not n or len(self.results) != n:
            raise VerifyException(
                f"{self.name}: {len(self.operands)} operands and {len(self.results)} results, expected as "
                "many initial values and results as inputs"
            )
        if len(self.regions[0].blocks) != 1 or len(self.regions[0].block.args) != 2 * n:
            raise VerifyException(f"{self.name}: the region does not take two elements of each input")


def _parse_reducer(parser: Parser, n: int) -> Region:
    parser.parse_keyword("reducer")
    pairs: list[tuple[Parser.Argument, Parser.Argument]] = []
    for _ in range(n):
        with parser.in_parens():
            first = _parse_argument(parser)
            parser.parse_punctuation(",")
            pairs.append((first, _parse_argument(parser)))
    return parser.parse_region([*(first for first, _ in pairs), *(second for _, second in pairs)])


def _parse_argument(parser: Parser) -> Parser.Argument:
    argument = parser.parse_argument()
    location = parser.parse_optional_location()
    return Parser.Argument(argument.name, argument.type, location)
