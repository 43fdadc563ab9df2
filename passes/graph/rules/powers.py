"""
Rules for powers of floats whose exponent is known. A product keeps to the bound that docs/accuracy.md has for
`pow`, but need not be the same bits.
"""

from __future__ import annotations

from math import inf
from typing import ClassVar

from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.dialects.utils import FastMathFlag
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ....dialects import graph
from ....dialects.element_types import element_type_of
from ....dialects.graph.base import fastmath_of
from .fast_math import ROOT_FLAGS, allows
from .splats import constant_like, has_floats, splat


class PowerByMultiplying(RewritePattern):
    """
    `pow(x, 1) --> x`, `pow(x, 2) --> x * x`, `pow(x, -1) --> 1 / x`, `pow(x, 3) --> (x * x) * x`, the last
    on f32 and f64, or with `afn`; `pow(x, 0.5) --> select(x == -inf, inf, sqrt(x + 0.0))` on f16, bf16, f32
    and f64
    """

    ROOTS: ClassVar = (graph.PowOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.PowOp, rewriter: PatternRewriter, /) -> None:
        if not has_floats(op.lhs):
            return
        x, flags = op.lhs, fastmath_of(op)
        match splat(op.rhs):
            case 1:
                rewriter.replace(op, (), (x,))
            case 2:
                rewriter.replace(op, graph.MulOp(x, x, flags))
            case -1:
                rewriter.replace(op, graph.RecipOp(x, flags))
            case 3 if element_type_of(x.type) in (f32, f64) or allows(op, FastMathFlag.APPROX_FUNC):
                square = graph.MulOp(x, x, flags)
                rewriter.replace(op, (square, graph.MulOp(square.result, x, flags)))
            case 0.5 if element_type_of(x.type) in (f16, bf16, f32, f64) and not allows(op, *ROOT_FLAGS):
                least, greatest, zero = constant_like(x, -inf), constant_like(x, inf), constant_like(x, 0.0)
                is_least = graph.EqOp(x, least.result)
                sum = graph.AddOp(x, zero.result, flags)
                root = graph.SqrtOp(sum.result, flags)
                chosen = graph.SelectOp(is_least.result, greatest.result, root.result)
                rewriter.replace(op, (least, greatest, zero, is_least, sum, root, chosen))
            case _:
                pass


PATTERNS: tuple[type[RewritePattern], ...] = (PowerByMultiplying,)
"""The rules, each with its equation as its docstring."""
