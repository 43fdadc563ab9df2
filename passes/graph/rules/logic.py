"""Rules for the comparisons, negations and selects of `graph`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ....dialects import graph
from ....dialects.element_types import element_type_of
from .splats import has_floats, splat

_SWAPPED: dict[type[Operation], type[graph.CompareOp]] = {
    graph.LtOp: graph.GtOp,
    graph.GtOp: graph.LtOp,
    graph.LeOp: graph.GeOp,
    graph.GeOp: graph.LeOp,
}
"""The comparison of y with x that holds just where that of x with y does."""

_OPPOSITE: dict[type[Operation], type[graph.CompareOp]] = {
    graph.EqOp: graph.NeOp,
    graph.NeOp: graph.EqOp,
    graph.LtOp: graph.GeOp,
    graph.GeOp: graph.LtOp,
    graph.GtOp: graph.LeOp,
    graph.LeOp: graph.GtOp,
}
"""The comparison that holds just where the other does not, where no operand is NaN."""


class ComparedConstantToTheRight(RewritePattern):
    """`c < x --> x > c`, and likewise for <=, > and >="""

    ROOTS: ClassVar = tuple(_SWAPPED)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        swapped = _SWAPPED.get(type(op))
        if swapped is None:
            return
        lhs, rhs = op.operands
        if isinstance(lhs.owner, graph.ConstantOp) and not isinstance(rhs.owner, graph.ConstantOp):
            rewriter.replace(op, swapped(rhs, lhs))


class NegateComparison(RewritePattern):
    """`not(x == y) --> x != y` and back; `not(x < y) --> x >= y` and so on where NaN is not possible"""

    ROOTS: ClassVar = (graph.NotOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.NotOp, rewriter: PatternRewriter, /) -> None:
        inner = op.source.owner
        if not isinstance(inner, graph.CompareOp):
            return
        if isinstance(inner, graph.EqOp | graph.NeOp) or not has_floats(inner.lhs):
            rewriter.replace(op, _OPPOSITE[type(inner)](inner.lhs, inner.rhs))


class SelectOfBooleans(RewritePattern):
    """`select(c, true, false) --> c`, `select(c, false, true) --> not(c)`"""

    ROOTS: ClassVar = (graph.SelectOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SelectOp, rewriter: PatternRewriter, /) -> None:
        if str(element_type_of(op.result.type)) != "i1":
            return
        match splat(op.on_true), splat(op.on_false):
            case (1, 0):
                rewriter.replace(op, (), (op.condition,))
            case (0, 1):
                rewriter.replace(op, graph.NotOp(op.condition))
            case _:
                pass


class SelectByNegation(RewritePattern):
    """`select(not(c), x, y) --> select(c, y, x)`"""

    ROOTS: ClassVar = (graph.SelectOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SelectOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(op.condition.owner, graph.NotOp):
            rewriter.replace(op, graph.SelectOp(op.condition.owner.source, op.on_false, op.on_true))


class SelectOfSelect(RewritePattern):
    """
    `select(c, select(c, x, y), z) --> select(c, x, z)`, `select(c, x, select(c, y, z)) --> select(c, x, z)`
    """

    ROOTS: ClassVar = (graph.SelectOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SelectOp, rewriter: PatternRewriter, /) -> None:
        on_true, on_false = op.on_true, op.on_false
        if isinstance(on_true.owner, graph.SelectOp) and on_true.owner.condition is op.condition:
            on_true = on_true.owner.on_true
        if isinstance(on_false.owner, graph.SelectOp) and on_false.owner.condition is op.condition:
            on_false = on_false.owner.on_false
        if on_true is not op.on_true or on_false is not op.on_false:
            rewriter.replace(op, graph.SelectOp(op.condition, on_true, on_false))


PATTERNS: tuple[type[RewritePattern], ...] = (
    ComparedConstantToTheRight,
    NegateComparison,
    SelectOfBooleans,
    SelectByNegation,
    SelectOfSelect,
)
"""The rules, each with its equation as its docstring."""
