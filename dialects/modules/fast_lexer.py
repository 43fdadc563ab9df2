"""Tokens of MLIR text, most of them found by one regular expression."""

from __future__ import annotations

import re

from xdsl.utils.lexer import Span, Token
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRLexer, MLIRTokenKind

_TOKEN = re.compile(
    r"(?:\s++|//[^\n]*+\n?+)*+"
    r"(?:([a-zA-Z_][a-zA-Z0-9_$.]*)"
    r"|(%(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*))"
    r"|([:,()}\[\]<>=+/*?|]|->|-(?!>)|\{(?!-#))"
    r"|((?:[1-9][0-9]*|0(?!x))(?![.0-9])))",
    re.ASCII,
)
"""Blanks and comments, then a bare identifier, a value, punctuation or a plain whole number."""

_KINDS = (None, MLIRTokenKind.BARE_IDENT, MLIRTokenKind.PERCENT_IDENT, None, MLIRTokenKind.INTEGER_LIT)
"""What the groups of `_TOKEN` are; of punctuation it depends on the spelling."""


class FastLexer(MLIRLexer):
    """xDSL's lexer, and its tokens: those that need a closer look it takes itself."""

    def lex(self) -> Token[MLIRTokenKind, str]:
        found = _TOKEN.match(self.input.content, self.pos)
        if found is None:
            return super().lex()
        group = found.lastindex
        assert group is not None, "a token of no kind"
        start, self.pos = found.span(group)
        kind = _KINDS[group] or KIND_BY_PUNCTUATION_SPELLING[found[group]]
        return Token(kind, Span(start, self.pos, self.input))
