"""The names of values in printed text."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, SSAValue


def value_names(op: Operation) -> dict[SSAValue, str]:
    """
    Returns what the values in an op are called where it is printed alone, without the `%`: their hints, those
    that are taken with a number after them, and numbers for values without one, in the order of the text.
    """
    names: dict[SSAValue, str] = {}
    taken: dict[str, int] = {}
    n_unnamed = 0
    for value in values_in(op):
        hint = value.name_hint
        if hint is None:
            names[value] = str(n_unnamed)
            n_unnamed += 1
            continue
        number = taken.get(hint, 0)
        taken[hint] = number + 1
        names[value] = f"{hint}_{number}" if number else hint
    return names


def values_in(op: Operation) -> Iterator[SSAValue]:
    """Yields the results of an op and the values in its regions, in the order in which they are printed."""
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.args
            for inner in block.ops:
                yield from values_in(inner)
