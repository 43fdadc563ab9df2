"""
What ranks lack of values that several views read, fetched once.

A stencil reads an array at some distances. Those of a star lie along one dim each, and what each lacks is
sent by itself. What those of a box lack overlaps: the corners come with the rows, the columns with the
corners. It is sent together there, a dim after the other: rows first, then columns as long as the rows make
them, in which the corners come from the neighbour that has got them. A view is cut out of what a rank has and
got then. A padded value that is read in so many ways that it is an array of its own is one array, too, of
all that its views want of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from ...dialects.sharding import Interval
from ...dialects.sharding.blocks import length
from .exchange import exchange_of
from .part import Part, Wants

MOST_READS = 4
"""In how many ways one kernel reads a padded value at most that is no array of its own (`many-reads`)."""

Box = tuple[Interval | None, ...]
"""The indices along each dim of a value; None for all of a dim that is whole."""


@dataclass(frozen=True)
class Piece:
    """A value that a rank has, and which indices of another one that is."""

    value: SSAValue
    box: Box


@dataclass(frozen=True)
class Pieces:
    """Pieces one after the other along a dim, each with the indices that are taken of it."""

    dim: int
    parts: tuple[tuple[Interval, Piece | Pieces], ...]


def are_halos(wants: Wants, home: Wants) -> bool:
    """Returns whether each dim is wanted along the axes that split it, and not alike by all."""
    return all(
        (want is None) == (own is None)
        and (want is None or own is None or (want.axes == own.axes and len(set(want.intervals)) > 1))
        for want, own in zip(wants, home, strict=True)
    )


def hulls_of(asked: Sequence[Wants], home: Wants) -> dict[Wants, Wants]:
    """
    Returns for wants of one value, which the ranks have as its home says, those that are better fetched with
    others: in what. Wants are taken together for as long as that sends fewer elements.
    """
    n_sent = {wants: _n_sent(wants, home) for wants in dict.fromkeys(asked)}
    groups: list[tuple[Wants, int, list[Wants]]] = []
    for wants in n_sent:
        _add(groups, (wants, n_sent[wants], [wants]), home)
    while True:
        before = len(groups)
        for group in list(groups):
            if group in groups:
                groups.remove(group)
                _add(groups, group, home)
        if len(groups) == before:
            return {wants: hull for hull, _, members in groups if len(members) > 1 for wants in members}


def spans_of(asked: Sequence[Wants]) -> dict[Wants, Wants]:
    """
    Returns for wants of one padded value, each as often as it is read, those that are better made together:
    in what. Each of them would be an array of its own, as it is read in many ways.
    """
    many = [wants for wants, count in Counter(asked).items() if count > MOST_READS]
    axes = {tuple(None if part is None else part.axes for part in wants) for wants in many}
    if len(many) < 2 or len(axes) > 1:
        return {}
    span = many[0]
    for wants in many[1:]:
        span = tuple(_hull(one, other) for one, other in zip(span, wants, strict=True))
    return dict.fromkeys(many, span)


def _add(
    groups: list[tuple[Wants, int, list[Wants]]], new: tuple[Wants, int, list[Wants]], home: Wants
) -> None:
    """Adds wants to the first group that they are better fetched with, or as one of their own."""
    wants, count, members = new
    for number, (hull, own, others) in enumerate(groups):
        both = tuple(_hull(one, other) for one, other in zip(hull, wants, strict=True))
        if (together := _n_sent(both, home)) < own + count:
            groups[number] = both, together, [*others, *members]
            return
    groups.append(new)


def _hull(one: Part | None, other: Part | None) -> Part | None:
    if one is None or other is None:
        return None
    pairs = zip(one.intervals, other.intervals, strict=True)
    return Part(
        one.axes,
        tuple(
            (min(a[0], b[0]), max(a[1], b[1])) if length(a) and length(b) else a if length(a) else b
            for a, b in pairs
        ),
    )


def _n_sent(wants: Wants, home: Wants) -> int:
    """Returns how many elements all ranks send, of dims that are whole one index, a dim after the other."""
    dims = [
        (want, own) for want, own in zip(wants, home, strict=True) if want is not None and own is not None
    ]
    totals = [sum(map(length, own.intervals)) for _, own in dims]
    count = 0
    for number, (want, own) in enumerate(dims):
        n_indices = exchange_of(own.intervals, want.intervals).n_indices
        count += n_indices * prod(total for other, total in enumerate(totals) if other != number)
        totals[number] = sum(map(length, want.intervals))
    return count
