"""The arguments of kernels and programs as text: `(%x: memref<8xf32>, ...)`, with their places if asked."""

from __future__ import annotations

from xdsl.ir import Block
from xdsl.parser import Parser
from xdsl.printer import Printer


def parse_arguments(parser: Parser) -> list[Parser.Argument]:
    """Parses a list of arguments in parentheses, each with or without a `loc(...)`."""
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_argument(parser))


def _parse_argument(parser: Parser) -> Parser.Argument:
    argument = parser.parse_argument()
    argument.location = parser.parse_optional_location()
    return argument


def print_arguments(printer: Printer, block: Block) -> None:
    """Prints the arguments of a block as `parse_arguments` reads them."""
    with printer.in_parens():
        printer.print_list(block.args, printer.print_block_argument)
