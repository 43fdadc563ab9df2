"""Ops on numbers in the text with a form of their own: constants and slices."""

from __future__ import annotations

from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from .base import TypeStyle, WrittenOp
from .clauses import ints_attribute

__all__ = ["ConstantOp", "SliceOp"]


@irdl_op_definition
class ConstantOp(WrittenOp):
    """
    A constant.

    ```mlir
    %c = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
    """

    name = "stablehlo.constant"
    N_OPERANDS: ClassVar = 0
    value = prop_def()
    traits = traits_def(ConstantLike(), Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        start = parser.pos
        value = attributes.pop("value", None) or parser.parse_attribute()
        if not isinstance(value, DenseIntOrFPElementsAttr):
            parser.raise_error(f"{cls.name}: expected dense<...>", start)
        constant = cast(Any, value)
        return cls.create(
            result_types=(constant.type,), properties={"value": constant}, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)


@irdl_op_definition
class SliceOp(WrittenOp):
    """
    A box of its operand.

    ```mlir
    %y = stablehlo.slice %x [0:4, 1:8:2] : (tensor<4x8xf32>) -> tensor<4x4xf32>
    ```
    """

    name = "stablehlo.slice"
    N_OPERANDS: ClassVar = 1
    STYLE: ClassVar = TypeStyle.FUNCTION
    REQUIRED: ClassVar = ("start_indices", "limit_indices")
    start_indices = opt_prop_def()
    limit_indices = opt_prop_def()
    strides = opt_prop_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()

        def part() -> tuple[int, int, int]:
            begin = parser.parse_integer(allow_boolean=False)
            parser.parse_punctuation(":")
            end = parser.parse_integer(allow_boolean=False)
            step = parser.parse_optional_punctuation(":")
            return begin, end, 1 if step is None else parser.parse_integer(allow_boolean=False)

        parts = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, part)
        names = ("start_indices", "limit_indices", "strides")
        columns = zip(*parts, strict=True) if parts else ((), (), ())
        lists: dict[str, Attribute] = {
            n: ints_attribute(tuple(c)) for n, c in zip(names, columns, strict=True)
        }
        return cls.finished(parser, (operand,), lists)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        begins, ends = self.ints("start_indices") or (), self.ints("limit_indices") or ()
        steps = self.ints("strides") or (1,) * len(begins)
        parts = (
            f"{begin}:{end}" if step == 1 else f"{begin}:{end}:{step}"
            for begin, end, step in zip(begins, ends, steps, strict=True)
        )
        printer.print_string(f" [{', '.join(parts)}]")
        self.print_rest(printer, {"start_indices", "limit_indices", "strides"})

    def verify_(self) -> None:
        super().verify_()
        lists = [self.ints(name) for name in ("start_indices", "limit_indices", "strides")]
        if len({len(each) for each in lists if each is not None}) != 1:
            raise VerifyException(f"{self.name}: start, limit and strides are not of one length")
