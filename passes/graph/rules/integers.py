"""
Rules that gather the constants of integer `graph` ops. Integers wrap, so that sums and products may be
regrouped; floats may be where nothing rounds, in max and min.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ....dialects import graph
from ....dialects.graph.types import tensor_type_of
from .splats import constant_like, has_floats, splat

_ASSOCIATIVE = (graph.AddOp, graph.MulOp, graph.AndOp, graph.OrOp, graph.XorOp)
_ALWAYS_ASSOCIATIVE = (graph.MaxOp, graph.MinOp)


class GatherConstants(RewritePattern):
    """
    `(x op c) op d --> x op (c op d)` for add, mul, and, or and xor of integers, and for max and min
    """

    ROOTS: ClassVar = (*_ASSOCIATIVE, *_ALWAYS_ASSOCIATIVE)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, (*_ASSOCIATIVE, *_ALWAYS_ASSOCIATIVE)):
            return
        inner = op.lhs.owner
        if type(inner) is not type(op) or splat(op.rhs) is None:
            return
        assert isinstance(inner, graph.BinaryOp)
        if splat(inner.rhs) is None or (has_floats(op.lhs) and not isinstance(op, _ALWAYS_ASSOCIATIVE)):
            return
        constants = type(op)(inner.rhs, op.rhs)
        rewriter.replace(op, (constants, type(op)(inner.lhs, constants.result)))


class SubtractByAdding(RewritePattern):
    """`x - c --> x + -c`, on integers"""

    ROOTS: ClassVar = (graph.SubOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SubOp, rewriter: PatternRewriter, /) -> None:
        if has_floats(op.lhs) or splat(op.rhs) in (None, 0):
            return
        negative = graph.NegOp(op.rhs)
        rewriter.replace(op, (negative, graph.AddOp(op.lhs, negative.result)))


class CompareWithItself(RewritePattern):
    """
    `x < x --> false`, `x > x --> false`; on integers also `x != x --> false`, and `x == x`, `x <= x`,
    `x >= x --> true`
    """

    ROOTS: ClassVar = (graph.CompareOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.CompareOp) or op.lhs is not op.rhs:
            return
        if not tensor_type_of(op.lhs, op.name).has_static_shape():
            return
        if isinstance(op, graph.LtOp | graph.GtOp):
            rewriter.replace(op, constant_like(op.result, 0))
        elif not has_floats(op.lhs):
            rewriter.replace(op, constant_like(op.result, 0 if isinstance(op, graph.NeOp) else 1))


PATTERNS: tuple[type[RewritePattern], ...] = (GatherConstants, SubtractByAdding, CompareWithItself)
"""The rules, each with its equation as its docstring."""
