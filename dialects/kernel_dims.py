"""The named dims of kernels: `dims [n, m]` after the arguments, the first of which are their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IndexType, MemRefType, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .buffer_size import dims_of_buffer
from .dims.expressions import symbols_of

Dims = ArrayAttr[StringAttr] | None


def dims_properties(dims: Sequence[str]) -> dict[str, Attribute]:
    """Returns the property that holds the names; none for a kernel without dims."""
    return {"dims": ArrayAttr([StringAttr(name) for name in dims])} if dims else {}


def sizes_of(dims: Dims, block: Block) -> dict[str, BlockArgument]:
    """Returns the arguments of a kernel's block that are the values of its dims, by name."""
    if dims is None:
        return {}
    return {name.data: argument for name, argument in zip(dims.data, block.args, strict=False)}


def parse_dims(parser: Parser) -> list[str]:
    """Parses `dims [n, m]`, if it is there."""
    if parser.parse_optional_keyword("dims") is None:
        return []
    return parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: parser.parse_identifier(" of a dim")
    )


def print_dims(printer: Printer, dims: Dims) -> None:
    """Prints what `parse_dims` reads."""
    if dims is not None:
        printer.print_string(f" dims [{', '.join(name.data for name in dims.data)}]")


def verify_dims(op: Operation, name: str, dims: Dims, block: Block) -> None:
    """
    Raises `VerifyException` unless the first arguments of a kernel are one index for each of its dims, and
    its buffers are written with no other dims.
    """
    names = [] if dims is None else [each.data for each in dims.data]
    if len(set(names)) != len(names):
        raise VerifyException(f"{op.name}: @{name} has a dim twice ({', '.join(names)})")
    for position, dim in enumerate(names):
        found = block.args[position].type if position < len(block.args) else "missing"
        if not isinstance(found, IndexType):
            raise VerifyException(
                f"{op.name}: argument {position} of @{name} is {found}, expected an index, the value of dim "
                f"{dim}"
            )
    for argument in block.args[len(names) :]:
        type: Attribute = argument.type
        if isinstance(type, MemRefType):
            for dim in symbols_of(dims_of_buffer(cast(Attribute, type)) or ()):
                if dim not in names:
                    raise VerifyException(
                        f"{op.name}: argument {argument.index} of @{name} is {type}, but {dim} is not among "
                        f"its dims [{', '.join(names)}]"
                    )
