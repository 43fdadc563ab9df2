"""
Aliases and locations as MLIR writes them: aliases that are defined below, ranges of a file, fused metadata.

    %y = stablehlo.add %x, %x : tensor<f32> loc(#loc3)
    ...
    #loc3 = loc("add"("model.py":5:6 to :97))
"""

from __future__ import annotations

import re
from typing import Any

from xdsl.dialects.builtin import (
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.mlir_lexer import MLIRTokenKind

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
