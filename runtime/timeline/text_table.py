"""Tables for people."""

from __future__ import annotations

from collections.abc import Sequence


def text_table(header: Sequence[str], alignment: str, rows: Sequence[Sequence[str]]) -> list[str]:
    """
    Returns the lines of a table: the header and the rows, in columns two blanks apart. `alignment` has one
    character for each column, `<` for text and `>` for numbers.
    """
    assert all(len(row) == len(header) == len(alignment) for row in rows), f"rows of other than {header}"
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    formats = [f"{side}{width}" for side, width in zip(alignment, widths, strict=True)]
    return [
        "  ".join(format(cell, form) for cell, form in zip(row, formats, strict=True)).rstrip()
        for row in (header, *rows)
    ]
