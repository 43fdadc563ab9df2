"""
Text to modules, with the place of every op, and errors that say where.

Every op and block argument without an explicit `loc(...)` gets the line and column of its name in the text.
"""

from __future__ import annotations

import difflib
import re
import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    UnregisteredAttr,
)
from xdsl.ir import (
    Attribute,
    Block,
    BlockArgument,
    Data,
    Operation,
    ParametrizedAttribute,
    Region,
    SSAValue,
    TypeAttribute,
)
from xdsl.parser.generic_parser import ParserState
from xdsl.traits import IsTerminator, NoTerminator
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError, VerifyException
from xdsl.utils.lexer import Input, Position, Span, Token
from xdsl.utils.mlir_lexer import MLIRTokenKind

from ...errors import ProgramError, TenonError
from .. import context
from ..out_of_bounds import OutOfBoundsError
from .definitions import ResourceParser
from .fast_lexer import FastLexer
from .region_kind import is_graph_region

MAX_REPORTED = 20
"""How many wrong ops `verify_module` lists."""


_PLAIN_TYPE = re.compile(
    r"(?:(?:tensor|memref|vector)<[\w?]+>|index(?![\w$.])|s?u?[if][0-9]+(?![\w$.]))", re.ASCII
)
"""Types that are all there is to them, as what they mean depends on nothing around them."""

MOST_BITS = 2**24 - 1
"""How wide an integer type may be, as in MLIR."""

_TOO_WIDE = re.compile(r"[su]?i0*(?:[1-9][0-9]{8,}|[2-9][0-9]{7}|1[7-9][0-9]{6})", re.ASCII)
"""Integer types that are wider, but for a few just above."""

_PLAIN_TYPES: dict[str, TypeAttribute] = {}
"""Those that were parsed before, by their texts."""

_MOST_PLAIN_TYPES = 4096

_IMPORTED = ("stablehlo.", "chlo.", "sdy.")

_HINTS = ("sdy.", "mhlo.")
"""Dialects whose attributes jax writes beside ops of StableHLO."""


class LocatingParser(ResourceParser):
    """xDSL's parser, which notes where ops and block arguments stand and suggests names for unknown ops."""

    def __init__(self, ctx: Context, text: str, filename: str):
        self._filename = StringAttr(filename)
        self._line_starts = [0, *(at + 1 for at, char in enumerate(text) if char == "\n")]
        self._open_ops: list[tuple[int, str | None]] = []
        super().__init__(ctx, text, filename)
        self._parser_state = ParserState(FastLexer(Input(text, filename)))

    def location_at(self, position: int) -> FileLineColLoc:
        """Returns the place of a character of the text, both counted from 1."""
        line = bisect_right(self._line_starts, position)
        column = position - self._line_starts[line - 1] + 1
        return FileLineColLoc(self._filename, IntAttr(line), IntAttr(column))

    @property
    def innermost_op(self) -> tuple[int, str | None]:
        """Where the innermost op that is being read stands, and its name; outside of ops the next token."""
        return self._open_ops[-1] if self._open_ops else (self.pos, None)

    def undefined_value(self) -> tuple[str, Attribute] | None:
        """Returns the name of a value that is used and not defined, and the location of a user."""
        for name, references in self.forward_ssa_references.items():
            for value in references.values():
                for use in value.uses:
                    return name, use.operation.location
        return None

    def parse_whole(self) -> ModuleOp:
        """Parses all of the text. No text at all is an empty module."""
        return ModuleOp([]) if self._current_token.kind is MLIRTokenKind.EOF else self.parse_module()

    def parse_optional_type(self) -> TypeAttribute | None:
        token = self._current_token
        if token.kind is not MLIRTokenKind.BARE_IDENT:
            return super().parse_optional_type()
        text = _PLAIN_TYPE.match(token.span.input.content, token.span.start)
        if text is None:
            return super().parse_optional_type()
        known = _PLAIN_TYPES.get(text[0])
        if known is not None:
            self._resume_from(text.end())
            return known
        if _TOO_WIDE.fullmatch(token.text):
            # Whatever is asked of such a type takes memory of its width.
            self.raise_error(f"integer types have at most {MOST_BITS} bits")
        parsed = super().parse_optional_type()
        if parsed is not None:
            if len(_PLAIN_TYPES) >= _MOST_PLAIN_TYPES:
                _PLAIN_TYPES.clear()
            _PLAIN_TYPES[text[0]] = parsed
        return parsed

    def parse_operation(self) -> Operation:
        op = super().parse_operation()
        position, _ = self._open_ops.pop()
        if op.location is UNKNOWN_LOC:
            op.location = self.location_at(position)
        for region in op.regions:
            for block in region.blocks:
                # Terminators that are not written are made by their op's parser, without a place.
                if (last := block.last_op) is not None and last.location is UNKNOWN_LOC:
                    last.location = op.location
        return op

    def _consume_token(self, expected_kind: MLIRTokenKind | None = None) -> Token[MLIRTokenKind, str]:
        token = self._parser_state.current_token
        if expected_kind is not None and token.kind is not expected_kind:
            # xDSL asserts it, also of text that is wrong: `dense<(0, 1]>`.
            self.raise_error(f"unexpected {token.text or 'end of the text'}")
        self._parser_state.current_token = self.lexer.lex()
        return token

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        # The one step between the start of an op and its name; each call is answered by one op.
        self._open_ops.append((self.pos, None))
        results = super()._parse_op_result_list()
        self._open_ops[-1] = (self.pos, None)
        return results

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        super()._register_ssa_definition(name, values, span)
        for value in values:
            if isinstance(value, BlockArgument) and value.location is UNKNOWN_LOC:
                value.location = self.location_at(span.start)

    def _get_op_by_name(self, name: str) -> type[Operation]:
        position, _ = self._open_ops[-1]
        op_type = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if op_type is None:
            self.raise_error(f"unknown op {name}{self._suggestion(name)}", position)
        self._open_ops[-1] = (position, op_type.name)
        return op_type

    def _parse_dialect_type_or_attribute_body(
        self, attr_name: str, is_type: bool, is_opaque: bool, starting_opaque_pos: Position | None
    ) -> UnregisteredAttr | ParametrizedAttribute | Data[Any]:
        if not is_type and attr_name.startswith(_HINTS):
            # What it says is how others place a program, and is kept as text.
            known, self.ctx.allow_unregistered = self.ctx.allow_unregistered, True
            try:
                return super()._parse_dialect_type_or_attribute_body(
                    attr_name, is_type, is_opaque, starting_opaque_pos
                )
            finally:
                self.ctx.allow_unregistered = known
        find = self.ctx.get_optional_type if is_type else self.ctx.get_optional_attr
        if "." in attr_name and find(attr_name) is None:
            kind = "type" if is_type else "attribute"
            start = self.lexer.input.content.rfind(attr_name, 0, self.pos)
            # An imported op of a type that there is not, a quantised one say, is named.
            _, name = self.innermost_op
            where = f"{name}: " if name is not None and name.startswith(_IMPORTED) else ""
            self.raise_error(f"{where}unknown {kind} {attr_name}", start)
        return super()._parse_dialect_type_or_attribute_body(
            attr_name, is_type, is_opaque, starting_opaque_pos
        )

    def _parse_block(self) -> Block:
        if self._current_token.kind is not MLIRTokenKind.CARET_IDENT:
            self.raise_error("expected an op, a block or `}`")
        return super()._parse_block()

    def _suggestion(self, name: str) -> str:
        for dialect in sorted(self.ctx.registered_dialect_names):
            if self.ctx.get_optional_dialect(dialect) is None:
                self.ctx.load_registered_dialect(dialect)
        known = sorted(op_type.name for op_type in self.ctx.loaded_ops)
        dialect, _, rest = name.partition(".")
        dialects = sorted({op_name.partition(".")[0] for op_name in known})
        if rest and dialect not in dialects:
            # An op of another dialect has another meaning, unless the name of the dialect is misspelt only.
            close = difflib.get_close_matches(dialect, dialects, 1, 0.7)
            if not close:
                return f" (there is no dialect {dialect}, but {', '.join(dialects)})"
            dialect, name = close[0], f"{close[0]}.{rest}"
        if rest:
            known = [op_name for op_name in known if op_name.startswith(f"{dialect}.")]
        nearest = difflib.get_close_matches(name, known, 1)
        return f" (hint: did you mean {nearest[0]}?)" if nearest else ""


def parse_module(text: str, filename: str = "<string>", *, ctx: Context | None = None) -> ModuleOp:
    """
    Returns the module that `text` holds; ops outside of a module are put into one. It is not verified.

    Raises `TenonError` with the place where the text is wrong.
    """
    try:
        parser = LocatingParser(context() if ctx is None else ctx, text, filename)
    except ParseError as error:
        raise _located(error) from error
    try:
        module = parser.parse_whole()
    except ParseError as error:
        if error.msg.startswith("values used but not defined") and (undefined := parser.undefined_value()):
            name, location = undefined
            raise TenonError(f"%{name} is not defined", location=location_text(location)) from error
        raise _located(error) from error
    except VerifyException as error:
        message, cause = _one_line(str(error)), error
    except (OverflowError, ValueError, struct.error) as error:
        # Numbers that do not fit their type leave xDSL's attributes as these.
        message, cause = f"number out of range ({_one_line(str(error))})", error
    except RecursionError as error:
        message, cause = "nested too deeply", error
    except RuntimeError as error:
        # What xDSL raises for numbers of types that it cannot store.
        message, cause = "cannot read numbers of more than 64 bits", error
    else:
        if module.location is UNKNOWN_LOC:
            module.location = parser.location_at(0)
        return module
    position, name = parser.innermost_op
    if name is not None and not message.startswith(name):
        message = f"{name}: {message}"
    raise TenonError(message, location=location_text(parser.location_at(position))) from cause


def _located(error: ParseError) -> TenonError:
    message = _one_line(error.msg)
    if message == "Could not parse entire input!":
        message = "expected an op"
    if "{first_char}" in message:
        message = f"expected a name after {error.span.input.content[error.span.start]}"
    if isinstance(error, MultipleSpansParseError) and error.refs:
        message += f" ({_one_line(error.ref_text or 'see')} {error.refs[0][0].get_location()})"
    return TenonError(message, location=str(error.span.get_location()))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def location_text(location: Attribute) -> str | None:
    """
    Returns `file:line:col` of a location: of the first part of a fused one that has it, of what a name stands
    for, and of the callee of a call site or else its caller. Returns None where no file is known.
    """
    match location:
        case FileLineColLoc():
            return f"{location.filename.data}:{location.line.data}:{location.column.data}"
        case NameLoc():
            return location_text(location.location)
        case CallSiteLoc():
            return location_text(location.callee) or location_text(location.caller)
        case FusedLoc(locations=ArrayAttr() as parts):
            return next((text for part in parts.data if (text := location_text(part))), None)
        case _:
            return None


def verify_module(module: ModuleOp) -> None:
    """
    Checks every op, and that values are defined before they are used, but in graph regions.

    Raises `ProgramError` with the message and the place of each wrong op, inner ones before the ops around
    them, up to `MAX_REPORTED` in all.
    """
    found: list[tuple[LocationAttr, str]] = []
    try:
        for op, message in _wrong_ops(module, set()):
            found.append((op.location, message))
            if len(found) == MAX_REPORTED:
                break
    except RecursionError:
        found.append((module.location, f"{module.name}: nested too deeply"))
    if found:
        (location, message), *others = found
        raise ProgramError(
            message,
            [TenonError(text, location=location_text(place)) for place, text in others],
            location=location_text(location),
        )


def _wrong_ops(op: Operation, visible: set[SSAValue]) -> Iterator[tuple[Operation, str]]:
    """Yields every wrong op in `op`, itself last, with what is wrong. `visible` are the values it may use."""
    for position, operand in enumerate(op.operands):
        if operand not in visible:
            name = f"%{operand.name_hint}" if operand.name_hint else f"a {operand.type}"
            yield op, f"{op.name}: operand {position} is used before it is defined ({name})"
    for region in op.regions:
        yield from _wrong_ops_in_region(region, visible)
    try:
        op.verify_()
    except VerifyException as error:
        message = _one_line(str(error))
        if isinstance(error, OutOfBoundsError):
            yield error.op, message
        else:
            yield op, message if message.startswith(op.name) else f"{op.name}: {message}"
    if message := _structural_error(op):
        yield op, message


def _wrong_ops_in_region(region: Region, visible: set[SSAValue]) -> Iterator[tuple[Operation, str]]:
    defined: list[SSAValue] = [argument for block in region.blocks for argument in block.args]
    if len(region.blocks) > 1 or is_graph_region(region):
        # Order between blocks is a matter of control flow, which no op of ours has.
        defined += [result for block in region.blocks for op in block.ops for result in op.results]
    visible.update(defined)
    for block in region.blocks:
        for op in block.ops:
            yield from _wrong_ops(op, visible)
            defined.extend(op.results)
            visible.update(op.results)
    visible.difference_update(defined)


def _structural_error(op: Operation) -> str | None:
    """Returns what is wrong with where `op` stands in its block, or with an empty block of its own."""
    for region in op.regions:
        for block in region.blocks:
            if block.is_empty and len(region.blocks) == 1 and not op.has_trait(NoTerminator):
                return f"{op.name}: its block is empty, expected a terminator at the end"
    block = op.parent
    if block is None or block.parent is None:
        return None
    is_last = block.last_op is op
    if op.successors and not is_last:
        return f"{op.name}: an op with successors must be the last one of its block"
    if any(successor.parent is not block.parent for successor in op.successors):
        return f"{op.name}: branches to a block of another region"
    if is_last and not op.has_trait(IsTerminator) and _needs_terminator(block):
        return f"{op.name}: it ends its block but is not a terminator"
    return None


def _needs_terminator(block: Block) -> bool:
    region = block.parent
    assert region is not None, "a block outside of a region"
    around = region.parent
    return len(region.blocks) > 1 or (around is not None and not around.has_trait(NoTerminator))
