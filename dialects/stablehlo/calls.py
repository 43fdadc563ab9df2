"""Calls of what is elsewhere, and values that order effects or hold several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, SymbolRefAttr, TupleType, i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, opt_prop_def, traits_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from .base import TypeStyle, WrittenOp
from .clauses import StringClause

__all__ = [
    "AfterAllOp",
    "CompositeOp",
    "CreateTokenOp",
    "CustomCallOp",
    "GetTupleElementOp",
    "OptimizationBarrierOp",
    "TupleOp",
]


@irdl_op_definition
class CustomCallOp(WrittenOp):
    """
    What somebody else's function makes of its operands.

    ```mlir
    stablehlo.custom_call @shape_assertion(%holds, %n) {has_side_effect = true}
        : (tensor<i1>, tensor<i32>) -> ()
    ```
    """

    name = "stablehlo.custom_call"
    N_RESULTS: ClassVar = None
    STYLE: ClassVar = TypeStyle.FUNCTION
    REQUIRED: ClassVar = ("call_target_name",)
    call_target_name = opt_prop_def(StringAttr)
    has_side_effect = opt_prop_def()
    backend_config = opt_prop_def()
    api_version = opt_prop_def()
    called_computations = opt_prop_def()
    operand_layouts = opt_prop_def()
    result_layouts = opt_prop_def()
    output_operand_aliases = opt_prop_def()
    traits = traits_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        return cls.finished(parser, operands, {"call_target_name": name})

    @property
    def target(self) -> str:
        """The name of the function."""
        return "" if self.call_target_name is None else self.call_target_name.data

    @property
    def computations(self) -> tuple[str, ...]:
        """The names of the functions of the module that it calls."""
        found = self.called_computations
        names = cast("ArrayAttr[Attribute]", found) if isinstance(found, ArrayAttr) else ()
        return tuple(each.string_value() for each in names if isinstance(each, SymbolRefAttr))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.target)
        printer.print_operands(self.operands)
        self.print_rest(printer, {"call_target_name"})


@irdl_op_definition
class CompositeOp(WrittenOp):
    """
    An op that a function of the module says the meaning of.

    ```mlir
    %y = stablehlo.composite "my.op" %x {decomposition = @my_op} : (tensor<f32>) -> tensor<f32>
    ```
    """

    name = "stablehlo.composite"
    N_RESULTS: ClassVar = None
    STYLE: ClassVar = TypeStyle.FUNCTION
    LEADING: ClassVar = StringClause(None, "name")
    REQUIRED: ClassVar = ("decomposition",)
    composite_name = opt_prop_def(StringAttr, prop_name="name")
    composite_attributes = opt_prop_def()
    decomposition = opt_prop_def()
    version = opt_prop_def()
    composite_regions = opt_prop_def()


@irdl_op_definition
class OptimizationBarrierOp(WrittenOp):
    """
    Its operands, past which nothing is moved.

    ```mlir
    %a, %b = stablehlo.optimization_barrier %x, %y : tensor<4xf32>, tensor<i32>
    ```
    """

    name = "stablehlo.optimization_barrier"
    N_RESULTS: ClassVar = None
    STYLE: ClassVar = TypeStyle.OPERANDS


@irdl_op_definition
class TupleOp(WrittenOp):
    """Its operands as one value."""

    name = "stablehlo.tuple"

    @classmethod
    def finished(
        cls, parser: Parser, operands: Sequence[UnresolvedOperand], properties: dict[str, Attribute]
    ) -> Self:
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        start = parser.pos
        type = parser.parse_type()
        if not isinstance(type, TupleType):
            parser.raise_error(f"{cls.name}: expected a tuple type", start)
        resolved = parser.resolve_operands(operands, type.types.data, start)
        return cls.create(operands=resolved, result_types=(type,), attributes=attributes)

    def print_rest(self, printer: Printer, written: set[str]) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.results[0].type)


@irdl_op_definition
class GetTupleElementOp(WrittenOp):
    """
    One value of a tuple.

    ```mlir
    %x = stablehlo.get_tuple_element %t[0] : (tuple<tensor<4xf32>, tensor<i32>>) -> tensor<4xf32>
    ```
    """

    name = "stablehlo.get_tuple_element"
    N_OPERANDS: ClassVar = 1
    STYLE: ClassVar = TypeStyle.FUNCTION
    REQUIRED: ClassVar = ("index",)
    index = opt_prop_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            index = parser.parse_integer(allow_boolean=False)
        return cls.finished(parser, (operand,), {"index": IntegerAttr(index, i32)})

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        printer.print_string(f"[{self.number('index', 0)}]")
        self.print_rest(printer, {"index"})


@irdl_op_definition
class AfterAllOp(WrittenOp):
    """A token that comes after others."""

    name = "stablehlo.after_all"


@irdl_op_definition
class CreateTokenOp(WrittenOp):
    """A token."""

    name = "stablehlo.create_token"
    N_OPERANDS: ClassVar = 0
    STYLE: ClassVar = TypeStyle.RESULTS
