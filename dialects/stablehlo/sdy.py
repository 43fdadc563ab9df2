"""
The dialect `sdy`, Shardy's, as jax writes it beside StableHLO: over which devices programs are spread.

    sdy.mesh @mesh = <["x"=2, "y"=2]>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<4x8xf32>
"""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar, Self

from xdsl.dialects.builtin import FunctionType, StringAttr
from xdsl.ir import Attribute, BlockArgument
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, RecursiveMemoryEffect, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from .base import StablehloOp
from .control import EndOp
from .sdy_attributes import (
    ManualAxesAttr,
    MeshAttr,
    ShardingAttr,
    ShardingPerValueAttr,
    axes_in_braces,
    axes_text,
)

__all__ = [
    "AnnotationOp",
    "ManualAxesAttr",
    "ManualComputationOp",
    "MeshAttr",
    "MeshOp",
    "ReshardOp",
    "ReturnOp",
    "SdyOp",
    "ShardingAttr",
    "ShardingConstraintOp",
    "ShardingPerValueAttr",
]


class SdyOp(StablehloOp, ABC):
    """An op of `sdy`."""


@irdl_op_definition
class MeshOp(IRDLOperation):
    """
    A mesh of devices.

    ```mlir
    sdy.mesh @mesh = <["x"=2, "y"=2]>
    ```
    """

    name = "sdy.mesh"
    sym_name = prop_def(StringAttr)
    mesh = prop_def(MeshAttr)
    traits = traits_def(SymbolOpInterface())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        parser.parse_punctuation("=")
        mesh = MeshAttr(MeshAttr.parse_parameter(parser))
        attributes = parser.parse_optional_attr_dict()
        return cls.create(properties={"sym_name": name, "mesh": mesh}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" = ")
        self.mesh.print_parameter(printer)
        printer.print_op_attributes(self.attributes)


class AnnotationOp(SdyOp, ABC):
    """What its operand is, split so."""

    N_OPERANDS: ClassVar = 1
    sharding = prop_def(ShardingAttr)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()
        sharding = ShardingAttr(ShardingAttr.parse_parameter(parser))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        return cls.create(
            operands=[parser.resolve_operand(operand, type)],
            result_types=[type],
            properties={"sharding": sharding},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        printer.print_string(" ")
        self.sharding.print_parameter(printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result_types[0])

    def verify_(self) -> None:
        super().verify_()
        if self.operands[0].type != self.result_types[0]:
            raise VerifyException(f"{self.name}: the result is {self.result_types[0]}, the operand is not")


@irdl_op_definition
class ShardingConstraintOp(AnnotationOp):
    """
    Its operand, which is to be split so.

    ```mlir
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<4x8xf32>
    ```
    """

    name = "sdy.sharding_constraint"


@irdl_op_definition
class ReshardOp(AnnotationOp):
    """
    Its operand, split so from here on.

    ```mlir
    %1 = sdy.reshard %0 <@mesh, [{"x"}, {}]> : tensor<4x8xf32>
    ```
    """

    name = "sdy.reshard"


@irdl_op_definition
class ReturnOp(EndOp):
    """
    Ends the region of a `sdy.manual_computation`.

    ```mlir
    sdy.return %x : tensor<2xf32>
    ```
    """

    name = "sdy.return"


@irdl_op_definition
class ManualComputationOp(SdyOp):
    """
    What each device makes of its parts of the operands, which exchanges with the others what it names itself.

    ```mlir
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>]
        manual_axes={"x"} (%arg: tensor<2xf32>) {
      sdy.return %arg : tensor<2xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "sdy.manual_computation"
    N_RESULTS: ClassVar = None
    N_REGIONS: ClassVar = 1
    in_shardings = prop_def(ShardingPerValueAttr)
    out_shardings = prop_def(ShardingPerValueAttr)
    manual_axes = prop_def(ManualAxesAttr)
    traits = traits_def(IsolatedFromAbove(), RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        properties: dict[str, Attribute] = {}
        for name in ("in_shardings", "out_shardings"):
            parser.parse_keyword(name)
            parser.parse_punctuation("=")
            properties[name] = ShardingPerValueAttr(ShardingPerValueAttr.parse_list(parser))
        parser.parse_keyword("manual_axes")
        parser.parse_punctuation("=")
        properties["manual_axes"] = ManualAxesAttr(axes_in_braces(parser))
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _argument(parser))
        region = parser.parse_region(arguments)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        start = parser.pos
        type = parser.parse_type()
        if not isinstance(type, FunctionType):
            parser.raise_error(f"{cls.name}: {type} is no function type", start)
        return cls.create(
            operands=parser.resolve_operands(operands, type.inputs.data, start),
            result_types=type.outputs.data,
            properties=properties,
            regions=[region],
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_operands(self.operands)
        for name, shardings in (("in", self.in_shardings), ("out", self.out_shardings)):
            printer.print_string(f" {name}_shardings=")
            shardings.print_list(printer)
        printer.print_string(f" manual_axes={axes_text(self.manual_axes.data)} ")
        region = self.regions[0]
        with printer.in_parens():
            printer.print_list(region.block.args, lambda each: _print_argument(printer, each))
        printer.print_string(" ")
        printer.print_region(region, print_entry_block_args=False)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        inputs: list[Any] = [value.type for value in self.operands]
        printer.print_attribute(FunctionType.from_lists(inputs, list(self.result_types)))

    def verify_(self) -> None:
        super().verify_()
        last = self.regions[0].block.last_op
        if not isinstance(last, ReturnOp):
            raise VerifyException(f"{self.name}: the region ends in no sdy.return")
        for what, found, wanted in (
            ("in_shardings", len(self.in_shardings.data), len(self.operands)),
            ("out_shardings", len(self.out_shardings.data), len(self.results)),
            ("arguments", len(self.regions[0].block.args), len(self.operands)),
            ("values that the region gives", len(last.operands), len(self.results)),
        ):
            if found != wanted:
                raise VerifyException(f"{self.name}: {found} {what}, expected {wanted}")


def _argument(parser: Parser) -> Parser.Argument:
    found = parser.parse_argument()
    return Parser.Argument(found.name, found.type, parser.parse_optional_location())


def _print_argument(printer: Printer, argument: BlockArgument) -> None:
    printer.print_block_argument(argument)
    if printer.print_debuginfo:
        printer.print_string(" ")
        printer.print_attribute(argument.location)
