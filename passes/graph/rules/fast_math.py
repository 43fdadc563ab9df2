"""
Rules for `graph` that change results in their last bits or at the edges, each for ops whose fast-math flags
allow just that: `reassoc` other groupings, `nnan`, `ninf` and `nsz` not to care for NaN, infinities and
signed zeros, `arcp` reciprocals, `afn` other algorithms for functions. The flags are LLVM's.
"""

from __future__ import annotations

from math import isfinite
from typing import ClassVar

from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ....dialects import graph
from ....dialects.graph.base import fastmath_of
from ....dialects.graph.types import tensor_type_of
from .splats import constant_like, has_floats, splat


def allows(op: Operation, *flags: FastMathFlag) -> bool:
    """Returns whether an op has all of these flags."""
    found = fastmath_of(op)
    return found is not None and all(flag in found.data for flag in flags)


class RegroupConstants(RewritePattern):
    """`(x + c) + d --> x + (c + d)`, `(x * c) * d --> x * (c * d)`, both with `reassoc`"""

    ROOTS: ClassVar = (graph.AddOp, graph.MulOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.AddOp | graph.MulOp) or not allows(op, FastMathFlag.REASSOC):
            return
        inner = op.lhs.owner
        if not isinstance(inner, graph.AddOp | graph.MulOp) or type(inner) is not type(op):
            return
        if not allows(inner, FastMathFlag.REASSOC) or splat(op.rhs) is None or splat(inner.rhs) is None:
            return
        constants = type(op)(inner.rhs, op.rhs, fastmath_of(op))
        rewriter.replace(op, (constants, type(op)(inner.lhs, constants.result, fastmath_of(op))))


class DropSignedZero(RewritePattern):
    """`x + 0.0 --> x`, `x - -0.0 --> x`, with `nsz`"""

    ROOTS: ClassVar = (graph.AddOp, graph.SubOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.AddOp | graph.SubOp) or splat(op.rhs) != 0:
            return
        if allows(op, FastMathFlag.NO_SIGNED_ZEROS):
            rewriter.replace(op, (), (op.lhs,))


class AbsorbZero(RewritePattern):
    """`x * 0.0 --> 0.0` with `nnan` and `nsz`; `x - x --> 0.0` with `nnan`; `x / x --> 1.0` with `nnan`"""

    ROOTS: ClassVar = (graph.MulOp, graph.SubOp, graph.DivOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.MulOp | graph.SubOp | graph.DivOp) or not has_floats(op.lhs):
            return
        if not allows(op, FastMathFlag.NO_NANS) or not tensor_type_of(op.lhs, op.name).has_static_shape():
            return
        if isinstance(op, graph.MulOp):
            if splat(op.rhs) == 0 and allows(op, FastMathFlag.NO_SIGNED_ZEROS):
                rewriter.replace(op, (), (op.rhs,))
        elif op.lhs is op.rhs:
            rewriter.replace(op, constant_like(op.lhs, 0.0 if isinstance(op, graph.SubOp) else 1.0))


class DivideByMultiplying(RewritePattern):
    """`x / c --> x * (1 / c)`, with `arcp`, for finite c that are not 0"""

    ROOTS: ClassVar = (graph.DivOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.DivOp, rewriter: PatternRewriter, /) -> None:
        number = splat(op.rhs)
        if number is None or not allows(op, FastMathFlag.ALLOW_RECIP):
            return
        if number in (0, 1) or not isfinite(number):
            return
        reciprocal = graph.RecipOp(op.rhs, fastmath_of(op))
        rewriter.replace(op, (reciprocal, graph.MulOp(op.lhs, reciprocal.result, fastmath_of(op))))


ROOT_FLAGS = (FastMathFlag.APPROX_FUNC, FastMathFlag.NO_SIGNED_ZEROS, FastMathFlag.NO_INFS)
"""What has to be allowed for a power of 0.5 to be no more than a square root."""


class PowerBySquareRoot(RewritePattern):
    """`pow(x, 0.5) --> sqrt(x)` with `afn`, `nsz` and `ninf`"""

    ROOTS: ClassVar = (graph.PowOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.PowOp, rewriter: PatternRewriter, /) -> None:
        if has_floats(op.lhs) and allows(op, *ROOT_FLAGS) and splat(op.rhs) == 0.5:
            rewriter.replace(op, graph.SqrtOp(op.lhs, fastmath_of(op)))


PATTERNS: tuple[type[RewritePattern], ...] = (
    RegroupConstants,
    DropSignedZero,
    AbsorbZero,
    DivideByMultiplying,
    PowerBySquareRoot,
)
"""The rules, each with its equation as its docstring."""
