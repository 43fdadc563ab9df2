"""Where the index arithmetic below an axis changes from one linear form to another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType

from .....dialects import sched
from ....indices.analysis import IndexAnalysis
from ....indices.expressions import (
    Atom,
    Axis,
    Clamp,
    Element,
    FloorDiv,
    IndexExpr,
    Leaf,
    Mod,
    Opaque,
    axes_of,
    opaque,
    variable,
)

PIECES_LIMIT = 16
"""An axis with more pieces is left whole: each is a copy of the code."""

LEAST_LANES = 4
"""A shorter piece is no vector."""

PERIODS_LIMIT = 4
"""An index that wraps around more often than this along the axis is left as it is."""


@dataclass(frozen=True, slots=True)
class Piece:
    """
    Some iterations of an axis. In a linear piece accesses have stride 0 or 1, around other axes any one, and
    comparisons one result.
    """

    begin: int
    end: int
    is_linear: bool

    @property
    def extent(self) -> int:
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Indices:
    """What the code below an axis uses indices for."""

    addresses: tuple[tuple[IndexExpr, bool], ...]
    """Of each access, and whether it is a store."""
    compared: tuple[tuple[IndexExpr, tuple[int, ...]], ...]
    """What is compared, and the least values from which on the comparison has another result."""


_THRESHOLDS = {
    "slt": (0,),
    "sge": (0,),
    "sle": (1,),
    "sgt": (1,),
    "eq": (0, 1),
    "ne": (0, 1),
}


def indices_below(axis: sched.AxisOp, analysis: IndexAnalysis) -> Indices | None:
    """Returns the indices that the code below an axis uses, or None where something else decides."""
    addresses: list[tuple[IndexExpr, bool]] = []
    compared: list[tuple[IndexExpr, tuple[int, ...]]] = []
    for op in axis.walk():
        if isinstance(op, memref.LoadOp | memref.StoreOp):
            addresses.append((analysis.address(op), isinstance(op, memref.StoreOp)))
        elif isinstance(op, arith.CmpiOp) and isinstance(op.lhs.type, IndexType):
            thresholds = _THRESHOLDS.get(_predicate(op))
            if thresholds is None:
                return None
            compared.append((analysis.expr(op.lhs) - analysis.expr(op.rhs), thresholds))
    return Indices(tuple(addresses), tuple(compared))


def _predicate(op: arith.CmpiOp) -> str:
    return arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]


def decided(op: arith.CmpiOp, analysis: IndexAnalysis) -> bool | None:
    """Returns the result of a comparison of indices, if the ranges of these give it."""
    difference = analysis.expr(op.lhs) - analysis.expr(op.rhs)
    low, high = difference.low, difference.high
    if not isinstance(low, int) or not isinstance(high, int):
        return None
    match _predicate(op):
        case "slt" | "sge" as name:
            return None if low < 0 <= high else (high < 0) == (name == "slt")
        case "sle" | "sgt" as name:
            return None if low <= 0 < high else (high <= 0) == (name == "sle")
        case "eq" | "ne" as name:
            if low == high == 0:
                return name == "eq"
            return name == "ne" if low > 0 or high < 0 else None
        case _:
            return None


def pieces_of(axis: Axis, indices: Indices, is_innermost: bool = True) -> list[Piece]:
    """
    Returns the pieces of an axis, in order. Neighbours that are not linear are one piece; so is the whole
    axis where there would be too many.
    """
    assert isinstance(axis.extent, int), f"{axis} varies"
    whole = [Piece(0, axis.extent, _is_linear(axis, indices, is_innermost))]
    found: list[Piece] = []
    waiting = [(0, axis.extent)]
    while waiting:
        begin, end = waiting.pop()
        part = Axis(end - begin, axis.hint)
        moved = _moved(indices, axis, variable(part) + begin)
        cuts = sorted(_cuts(part, moved))
        if not cuts:
            is_linear = end - begin == 1 or _is_linear(part, moved, is_innermost)
            found.append(Piece(begin, end, is_linear))
        else:
            bounds = [begin, *(begin + cut for cut in cuts), end]
            waiting.extend(reversed(list(pairwise(bounds))))
        if len(found) + len(waiting) > PIECES_LIMIT:
            return whole
    return found


def joined_pieces(pieces: Iterable[Piece], least: int = LEAST_LANES) -> list[Piece]:
    """Joins neighbours that are no linear ones of `least` iterations."""
    joined: list[Piece] = []
    for piece in pieces:
        is_linear = piece.is_linear and piece.extent >= least
        if joined and not is_linear and not joined[-1].is_linear:
            joined[-1] = Piece(joined[-1].begin, piece.end, False)
        else:
            joined.append(Piece(piece.begin, piece.end, is_linear))
    return joined


def _moved(indices: Indices, axis: Axis, place: IndexExpr) -> Indices:
    def replace(leaf: Leaf) -> IndexExpr:
        if leaf is axis:
            return place
        return opaque(leaf.value, leaf.along) if isinstance(leaf, Opaque) else variable(leaf)

    return Indices(
        tuple((address.substitute(replace), is_store) for address, is_store in indices.addresses),
        tuple((expr.substitute(replace), thresholds) for expr, thresholds in indices.compared),
    )


def _is_linear(axis: Axis, indices: Indices, is_innermost: bool) -> bool:
    for address, is_store in indices.addresses:
        stride = address.stride(axis)
        if stride is None or (is_innermost and stride not in ((1,) if is_store else (0, 1))):
            return False
    return all(
        expr.stride(axis) == 0 or _is_decided(expr, thresholds) for expr, thresholds in indices.compared
    )


def _is_decided(expr: IndexExpr, thresholds: Iterable[int]) -> bool:
    low, high = expr.low, expr.high
    if not isinstance(low, int) or not isinstance(high, int):
        return False
    return all(low >= threshold or high < threshold for threshold in thresholds)


def _cuts(axis: Axis, indices: Indices) -> set[int]:
    """Returns the iterations at which an index or a comparison begins to be, or may begin to be, another."""
    cuts: set[int] = set()
    for address, _ in indices.addresses:
        _cut_expr(axis, address, cuts)
    for expr, thresholds in indices.compared:
        _cut_expr(axis, expr, cuts)
        for threshold in thresholds:
            cuts.update(_crossings(axis, expr, threshold))
    assert isinstance(axis.extent, int), f"{axis} varies"
    return {cut for cut in cuts if 0 < cut < axis.extent}


def _cut_expr(axis: Axis, expr: IndexExpr, cuts: set[int]) -> None:
    for atom in expr.terms:
        if not isinstance(atom, Axis) and axis in axes_of(atom):
            _cut_atom(axis, atom, cuts)


def _cut_atom(axis: Axis, atom: Atom, cuts: set[int]) -> None:
    if isinstance(atom, Axis | Opaque | Element):
        return
    operand = atom.operand
    if operand.stride(axis) is None:
        _cut_expr(axis, operand, cuts)
        return
    if isinstance(atom, Clamp):
        if isinstance(atom.last, int):
            cuts.update(_crossings(axis, operand, 0), _crossings(axis, operand, atom.last + 1))
        return
    assert isinstance(atom, FloorDiv | Mod)
    low, high, divisor = operand.low, operand.high, atom.divisor
    if not isinstance(low, int) or not isinstance(high, int) or not isinstance(divisor, int):
        return
    periods = range(low // divisor + 1, high // divisor + 1)
    if len(periods) <= PERIODS_LIMIT:
        for period in periods:
            cuts.update(_crossings(axis, operand, period * divisor))


def _crossings(axis: Axis, expr: IndexExpr, threshold: int) -> set[int]:
    """Returns from where on `expr >= threshold` may have another result, and from where on it must have."""
    step = expr.stride(axis)
    if not isinstance(step, int) or step == 0:
        return set()
    rest = expr - variable(axis) * step
    low, high = rest.low, rest.high
    if not isinstance(low, int) or not isinstance(high, int):
        return set()
    if step > 0:
        return {-((bound - threshold) // step) for bound in (low, high)}
    return {(bound - threshold) // -step + 1 for bound in (low, high)}
