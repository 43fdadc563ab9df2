"""The text of what is printed: that of `str.format`, with a number for each value."""

from __future__ import annotations

from collections.abc import Iterator
from string import Formatter


def check_format(format: str, count: int) -> str | None:
    """Returns what is wrong with a text for `count` values, None where nothing is."""
    try:
        for name in _names_in(format):
            if not name.isdecimal():
                return f"field {{{name}}} has no number in {format!r}"
            if int(name) >= count:
                return f"field {{{name}}} in {format!r} is for none of the {count} values"
    except ValueError as error:
        return f"{format!r} is no format ({error})"
    return None


def _names_in(format: str) -> Iterator[str]:
    """Yields what the fields of a text begin with, those in the specifications of others too."""
    for _, field, specification, _ in Formatter().parse(format):
        if field is not None:
            yield field.partition(".")[0].partition("[")[0]
            yield from _names_in(specification or "")
