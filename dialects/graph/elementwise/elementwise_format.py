"""
How elementwise ops are written: `%x, %y fastmath<contract> {attributes} : type`.

Written out once for all of them: of an `assembly_format` xDSL makes a parser and a printer for each class
when it is defined, which took most of the time that these modules take to import.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer

from ..base import fastmath_of


def parse_elementwise(
    parser: Parser, name: str, count: int
) -> tuple[list[SSAValue], dict[str, Attribute], dict[str, Attribute], Attribute]:
    """
    Parses `count` operands of one type, fast-math flags, attributes and that type, which is a tensor. Returns
    the operands, the properties, the attributes and the type.
    """
    unresolved = [parser.parse_unresolved_operand()]
    for _ in range(count - 1):
        parser.parse_punctuation(",")
        unresolved.append(parser.parse_unresolved_operand())
    properties: dict[str, Attribute] = {}
    if parser.parse_optional_keyword("fastmath") is not None:
        properties["fastmath"] = FastMathFlagsAttr(FastMathFlagsAttr.parse_parameter(parser))
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    start = parser.pos
    type: Attribute = parser.parse_type()
    if not isinstance(type, TensorType):
        parser.raise_error(f"{name}: {type} is not a tensor", start)
    operands = [parser.resolve_operand(each, cast(Attribute, type)) for each in unresolved]
    return operands, properties, attributes, cast(Attribute, type)


def print_elementwise(op: IRDLOperation, printer: Printer) -> None:
    """Prints what `parse_elementwise` parses."""
    printer.print_string(" ")
    printer.print_list(op.operands, printer.print_operand)
    flags = fastmath_of(op)
    if flags is not None:
        printer.print_string(" fastmath")
        flags.print_parameter(printer)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_attribute(op.results[0].type)
