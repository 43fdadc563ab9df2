"""`chlo.scan`: what a region makes of slices of arrays, one after the other."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, opt_prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .base import TypeStyle, WrittenOp, parse_types, print_types

__all__ = ["ScanOp"]


@irdl_op_definition
class ScanOp(WrittenOp):
    """
    Gives a region a slice of each input along a dim, and what is carried; the region gives a slice of each
    output, and what is carried on. The results are the outputs, and then what is carried at the end.

    ```mlir
    %y, %s = chlo.scan(%x) inits(%zero) dimension = 0 {
    ^bb0(%row: tensor<f32>, %sum: tensor<f32>):
      %next = stablehlo.add %row, %sum : tensor<f32>
      stablehlo.return %next, %next : tensor<f32>, tensor<f32>
    } : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>)
    ```
    """

    name = "chlo.scan"
    N_RESULTS: ClassVar = None
    N_REGIONS: ClassVar = 1
    STYLE: ClassVar = TypeStyle.FUNCTION
    REQUIRED: ClassVar = ("dimension", "operandSegmentSizes")
    dimension = opt_prop_def()
    scan_dim_size = opt_prop_def()
    is_reverse = opt_prop_def()
    is_associative = opt_prop_def()
    operandSegmentSizes = opt_prop_def()
    resultSegmentSizes = opt_prop_def()

    @property
    def n_carried(self) -> int:
        """How many values are carried."""
        sizes = self.ints("operandSegmentSizes") or ()
        return sizes[1] if len(sizes) == 2 else 0

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        inputs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        parser.parse_keyword("inits")
        initial = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        parser.parse_keyword("dimension")
        parser.parse_punctuation("=")
        properties: dict[str, Attribute] = {"dimension": IntegerAttr(parser.parse_integer(), i64)}
        given = parser.parse_optional_attr_dict_with_keyword()
        attributes = {} if given is None else dict(given.data)
        for name in ("scan_dim_size", "is_reverse", "is_associative"):
            if name in attributes:
                properties[name] = attributes.pop(name)
        region = parser.parse_region()
        parser.parse_punctuation(":")
        start = parser.pos
        types, results = parse_types(parser, cls.STYLE, len(inputs) + len(initial))
        for name, count in (("operand", len(inputs)), ("result", len(results) - len(initial))):
            sizes: DenseArrayBase[Any] = DenseArrayBase.from_list(i32, [max(count, 0), len(initial)])
            properties[f"{name}SegmentSizes"] = sizes
        return cls.create(
            operands=parser.resolve_operands([*inputs, *initial], types, start),
            result_types=results,
            properties=properties,
            attributes=attributes,
            regions=(region,),
        )

    def print(self, printer: Printer) -> None:
        n = len(self.operands) - self.n_carried
        with printer.in_parens():
            printer.print_list(self.operands[:n], printer.print_operand)
        printer.print_string(" inits(")
        printer.print_list(self.operands[n:], printer.print_operand)
        printer.print_string(f") dimension = {self.number('dimension', 0)}")
        written = ("dimension", "operandSegmentSizes", "resultSegmentSizes")
        rest = {name: value for name, value in self.properties.items() if name not in written}
        printer.print_op_attributes(rest | self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.regions[0])
        printer.print_string(" : ")
        print_types(printer, self.STYLE, self.operands, self.results)

    def verify_(self) -> None:
        super().verify_()
        n = self.n_carried
        sizes = self.ints("operandSegmentSizes") or ()
        if sum(sizes) != len(self.operands) or len(sizes) != 2 or n > len(self.results):
            raise VerifyException(
                f"{self.name}: {len(self.operands)} operands and {len(self.results)} results, of which "
                f"{n} are carried"
            )
        if len(self.regions[0].block.args) != len(self.operands):
            raise VerifyException(
                f"{self.name}: the region takes {len(self.regions[0].block.args)} values, expected "
                f"{len(self.operands)}"
            )
