"""The words that an explanation is made of."""

from __future__ import annotations

import re

from ...dialects import sched
from ...dialects.sched import Level, MappingAttr


def list_text(words: list[str]) -> str:
    """Returns `a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def rule_words(class_name: str) -> str:
    """Returns the name of a rule in words: `drop neutral operand` for `DropNeutralOperand`."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", class_name).lower()


def place_text(place: str) -> str:
    """Returns `file:line` of `path/to/file:line:column`."""
    path, _, rest = place.rpartition("/")
    name, _, _ = (rest if path or rest else place).rpartition(":")
    return name


def axis_text(op: sched.AxisOp | sched.ReduceOp, name: str) -> str:
    """Returns what an axis does and how it runs, in words."""
    mapping = op.mapping
    if isinstance(op, sched.ReduceOp):
        what = f"combine by {op.kind.data.value} for {name} < {op.extent}"
        return f"{what}: {_reduction_words(mapping)}"
    return f"for {name} < {op.extent}: {_axis_words(mapping)}"


def _reduction_words(mapping: MappingAttr) -> str:
    partials = mapping.partials
    return _axis_words(mapping) + (f", so {partials} partial results" if partials > 1 else "")


def _axis_words(mapping: MappingAttr) -> str:
    words: list[str] = []
    chunk = mapping.chunk.data
    match mapping.level.data:
        case Level.BLOCK:
            words.append("a work-group each" if chunk == 1 else f"work-groups of {chunk}")
        case Level.THREAD:
            words.append("a work-item each" if chunk == 1 else f"work-items of {chunk}")
        case Level.SERIAL:
            pass
    if mapping.tile.data:
        words.append(f"register tiles of {mapping.tile.data}")
    if mapping.prefetch.data:
        words.append("the next one fetched meanwhile")
    if mapping.items.data > 1:
        words.append(f"shared by {mapping.items.data} work-items")
    if mapping.vector.data > 1:
        words.append(f"vectors of {mapping.vector.data}")
    if mapping.unroll.data > 1:
        words.append(f"{mapping.unroll.data} side by side")
    return ", ".join(words) or "one after the other"
