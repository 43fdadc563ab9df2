"""
What text defines elsewhere than where it is used, as MLIR writes it: aliases, and bytes of large constants.

    %y = stablehlo.add %x, %x : tensor<f32> loc(#loc3)
    %w = stablehlo.constant dense_resource<weights> : tensor<2xf32>
    ...
    #loc3 = loc("add"("model.py":5:6 to :97))
    {-#
      dialect_resources: {
        builtin: {
          weights: "0x040000000000803F00000040"
        }
      }
    #-}

The first four bytes of a resource are its alignment, the others the elements. Such a constant is read as the
`dense<...>` of these elements, and is printed as that. Locations may be ranges of a file, and have metadata.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import (
    BytesAttr,
    CallSiteLoc,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    IntegerType,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
    i1,
)
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.lexer import Position
from xdsl.utils.mlir_lexer import MLIRTokenKind

from ..xdsl_fixes import checked_dense_type

_DEFINITION = re.compile(r"^[ \t]*([#!][A-Za-z_][\w$.]*)[ \t]*=(?!=)", re.MULTILINE | re.ASCII)


class AliasParser(Parser):
    """xDSL's parser, which finds aliases wherever they are defined."""

    _definitions: dict[str, int] | None = None
    """Where the value of each alias begins, once one was missing."""
    _found_below: frozenset[str] | set[str] = frozenset()

    def _parse_extended_type_or_attribute(self, attr_or_dialect_name: str, is_type: bool) -> Any:
        name = ("!" if is_type else "#") + attr_or_dialect_name
        if "." not in name and name not in self.attribute_aliases:
            self._find_below(name)
        return super()._parse_extended_type_or_attribute(attr_or_dialect_name, is_type)

    def _find_below(self, name: str) -> None:
        """Reads the definition of an alias that was not met yet, if there is one."""
        if self._definitions is None:
            text = self.lexer.input.content
            self._definitions = {found[1]: found.end() for found in _DEFINITION.finditer(text)}
            self._found_below = set()
        place = self._definitions.get(name)
        # The rest belongs to a dialect's own syntax, `#graph<axis 1>`.
        if place is None:
            return
        here = self.pos
        self._resume_from(place)
        self.attribute_aliases[name] = self.parse_attribute()
        self._resume_from(here)
        assert isinstance(self._found_below, set), "made above"
        self._found_below.add(name)

    def _parse_alias_def(self) -> None:
        name = self._current_token.text
        if name in self._found_below:
            self.attribute_aliases.pop(name)
        super()._parse_alias_def()

    def _parse_location(self) -> LocationAttr:
        name = self.parse_optional_str_literal()
        if name is not None:
            return self._parse_named(StringAttr(name))
        if self._current_token.kind is MLIRTokenKind.HASH_IDENT:
            start = self.pos
            attribute = self.parse_attribute()
            if not isinstance(attribute, LocationAttr):
                self.raise_error("expected a location", start)
            return attribute
        start = self.pos
        match self.parse_optional_identifier():
            case "unknown":
                return UnknownLoc()
            case "callsite":
                with self.in_parens():
                    callee = self._parse_location()
                    self.parse_identifier("at")
                    return CallSiteLoc(callee, self._parse_location())
            case "fused":
                metadata: Attribute = NoneAttr()
                if self.parse_optional_punctuation("<") is not None:
                    metadata = self.parse_attribute()
                    self.parse_punctuation(">")
                parts = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
                return FusedLoc(tuple(parts), metadata)
            case _:
                self.raise_error("expected a location", start)

    def _parse_named(self, name: StringAttr) -> LocationAttr:
        """Parses what follows a string: a place in a file of that name, or what the name stands for."""
        if self.parse_optional_punctuation(":") is None:
            if self._current_token.kind is not MLIRTokenKind.L_PAREN:
                return NameLoc(name, NoneAttr())
            with self.in_parens():
                return NameLoc(name, self._parse_location())
        line = self._parse_place()
        column = self._parse_place() if self.parse_optional_punctuation(":") is not None else 0
        # A range is where it begins.
        if self.parse_optional_keyword("to") is not None:
            if self.parse_optional_punctuation(":") is None:
                self._parse_place()
                self.parse_punctuation(":")
            self._parse_place()
        return FileLineColLoc(name, IntAttr(line), IntAttr(column))

    def _parse_place(self) -> int:
        return self.parse_integer(allow_boolean=False, allow_negative=False)


_SECTION = re.compile(r'"(?:[^"\\\n]|\\.)*+"|//[^\n]*+|(\{-#)')
"""The beginning of a section, and what only looks like one: strings and comments."""

_ALIGNMENT_NBYTES = 4


def _is_part_of_byte(element_type: Attribute) -> bool:
    """Returns whether elements are integers of 2 to 7 bits."""
    return isinstance(element_type, IntegerType) and 1 < cast("IntegerType[Any]", element_type).width.data < 8


@dataclass
class _Resources:
    """Where literals of resources stand, by key, and the ends of sections that were read, by their starts."""

    literals: dict[str, tuple[Position, Position]] = field(
        default_factory=dict[str, "tuple[Position, Position]"]
    )
    ends: dict[Position, Position] = field(default_factory=dict[Position, Position])
    is_complete: bool = False


class ResourceParser(AliasParser):
    """A parser that reads constants from the sections of its text, wherever they stand."""

    _resources: _Resources | None = None

    def _parse_builtin_dense_resource_attr(self) -> Attribute:  # pyright: ignore[reportIncompatibleMethodOverride]
        start = self.pos
        self.parse_punctuation("<", " in dense_resource attribute")
        key = self._parse_key()
        self.parse_punctuation(">", " in dense_resource attribute")
        self.parse_punctuation(":", " in dense_resource attribute")
        type: Any = self.parse_type()
        element_type, _, count = checked_dense_type(self, type, start)
        if _is_part_of_byte(element_type):
            self.raise_error(
                f"dense_resource: elements of {element_type} are no whole bytes", start, self.pos
            )
        data = self._bytes_of(key, start)
        wanted = count * element_type.compile_time_size
        if len(data) != wanted:
            self.raise_error(
                f"dense_resource: {key} has {len(data)} bytes, expected {wanted} of {type}", start, self.pos
            )
        # Constants are compared by their bytes: true has the form that `true` of a text has.
        if element_type == i1:
            data = bytes(0xFF if byte else 0 for byte in data)
        return DenseIntOrFPElementsAttr(type, BytesAttr(data))

    def _parse_key(self) -> str:
        text = self.parse_optional_str_literal()
        return self.parse_identifier(" for a resource") if text is None else text

    def _bytes_of(self, key: str, used_at: Position) -> bytes:
        """Returns the elements of a resource."""
        found = self._all_resources().literals.get(key)
        if found is None:
            self.raise_error(f"dense_resource: the text has no resource {key}", used_at, self.pos)
        begin, end = found
        literal = self.lexer.input.content[begin + 1 : end - 1]
        try:
            data = bytes.fromhex(literal[2:]) if literal.startswith("0x") else None
        except ValueError:
            data = None
        if data is None:
            self.raise_error(f"resource {key} is no hex string that starts with 0x", begin, end)
        alignment = int.from_bytes(data[:_ALIGNMENT_NBYTES], "little")
        if len(data) < _ALIGNMENT_NBYTES or alignment & (alignment - 1):
            self.raise_error(f"resource {key} does not begin with its alignment in 4 bytes", begin, end)
        return data[_ALIGNMENT_NBYTES:]

    def _all_resources(self) -> _Resources:
        """Returns the resources of the whole text."""
        known = self._known_resources()
        if not known.is_complete:
            known.is_complete = True
            here = self.pos
            for found in _SECTION.finditer(self.lexer.input.content):
                if found[1] and found.start() not in known.ends:
                    self._resume_from(found.start())
                    self._parse_file_metadata_dictionary()
            self._resume_from(here)
        return known

    def _known_resources(self) -> _Resources:
        if self._resources is None:
            self._resources = _Resources()
        return self._resources

    def _parse_file_metadata_dictionary(self) -> None:
        ends, start = self._known_resources().ends, self.pos
        if start in ends:
            self._resume_from(ends[start])
            return
        super()._parse_file_metadata_dictionary()
        ends[start] = self.pos

    def _parse_external_resources(self) -> None:
        self.raise_error("external resources cannot be read")

    def _parse_single_dialect_resources(self) -> None:
        start = self.pos
        name = self.parse_identifier(" of a dialect")
        if name != "builtin":
            self.raise_error(f"resources of dialect {name} cannot be read", start)
        self.parse_punctuation(":")
        self.parse_comma_separated_list(self.Delimiter.BRACES, self._parse_one)

    def _parse_one(self) -> None:
        start = self.pos
        key = self._parse_key()
        self.parse_punctuation(":")
        literals = self._known_resources().literals
        if key in literals:
            self.raise_error(f"resource {key} is given twice", start)
        token = self._parse_token(MLIRTokenKind.STRING_LIT, "expected a hex string")
        literals[key] = (token.span.start, token.span.end)
