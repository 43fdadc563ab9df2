"""What docs/accuracy.md says that ops of `graph` may be off."""

from __future__ import annotations

import re
from pathlib import Path

ACCURACY = Path(__file__).parents[2] / "docs" / "accuracy.md"


def stated_bounds() -> dict[str, dict[str, float]]:
    """
    Returns the bounds in units in the last place by op and element type; those of sums are for one term. A
    column may be that of several types. An op that takes no floats has none.
    """
    text = ACCURACY.read_text(encoding="utf-8")
    head, *rows = re.findall(r"^\| (op of `graph`|`\w+`.*?) \| (.*) \|$", text, re.MULTILINE)
    types = head[1].split(" | ")
    bounds: dict[str, dict[str, float]] = {}
    for ops, cells in rows:
        columns = zip(types, cells.split(" | "), strict=True)
        found = {type: cell for named, cell in columns for type in named.split() if cell != "-"}
        for op in re.findall(r"\w+", ops):
            assert op not in bounds, f"{op} is there twice"
            bounds[op] = {type: float(cell.removesuffix(" √n")) for type, cell in found.items()}
    return bounds


BOUNDS = stated_bounds()
