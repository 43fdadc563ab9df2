"""Extents as text: `8`, `n`, `2 * n + 1`, `n floordiv 2`, `max(n, m)`."""

from __future__ import annotations

from xdsl.parser import AttrParser

from .expressions import Extent, dim, greatest, is_at_least, least, quotient, remainder


def parse_extent(parser: AttrParser) -> Extent:
    """Parses a sum of products. Division is by what is positive for some value of its dims."""
    value = -_term(parser) if parser.parse_optional_punctuation("-") is not None else _term(parser)
    while True:
        if parser.parse_optional_punctuation("+") is not None:
            value = value + _term(parser)
        elif parser.parse_optional_punctuation("-") is not None:
            value = value - _term(parser)
        else:
            return value


def _term(parser: AttrParser) -> Extent:
    value = _factor(parser)
    while True:
        if parser.parse_optional_punctuation("*") is not None:
            value = value * _factor(parser)
            continue
        start = parser.pos
        divide = (
            quotient
            if parser.parse_optional_keyword("floordiv") is not None
            else remainder
            if parser.parse_optional_keyword("mod") is not None
            else None
        )
        if divide is None:
            return value
        divisor = _factor(parser)
        if is_at_least(0, divisor):
            parser.raise_error(f"a division by {divisor}, expected a positive divisor", start)
        value = divide(value, divisor)


def _factor(parser: AttrParser) -> Extent:
    if parser.parse_optional_punctuation("(") is not None:
        value = parse_extent(parser)
        parser.parse_punctuation(")")
        return value
    number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
    if number is not None:
        return number
    start = parser.pos
    name = parser.parse_identifier(" of a dim")
    if name not in ("max", "min"):
        if name in ("floordiv", "mod"):
            parser.raise_error(f"'{name}' is no name of a dim", start)
        return dim(name)
    parser.parse_punctuation("(")
    first = parse_extent(parser)
    parser.parse_punctuation(",")
    second = parse_extent(parser)
    parser.parse_punctuation(")")
    return greatest(first, second) if name == "max" else least(first, second)
