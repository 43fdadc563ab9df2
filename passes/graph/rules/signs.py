"""
Rules of signs for `graph`. Each holds for every value, signed zeros, subnormals and the least integer
included, but for the sign of a NaN, which no op of `graph` defines.
"""

from __future__ import annotations

from math import frexp
from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ....dialects import graph
from ....dialects.element_types import element_type_of, is_unsigned
from ....dialects.graph.base import fastmath_of
from ....dialects.graph.types import tensor_type_of
from .splats import constant_like, has_floats, splat


def _is_unsigned(value: SSAValue) -> bool:
    return is_unsigned(element_type_of(value.type))


class NegateByOp(RewritePattern):
    """`x * -1 --> -x`, `x / -1 --> -x`, `0 - x --> -x` (integers), `-0.0 - x --> -x`"""

    ROOTS: ClassVar = (graph.MulOp, graph.DivOp, graph.SubOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        match op:
            case graph.MulOp() | graph.DivOp() if splat(op.rhs) == -1 and not _is_unsigned(op.lhs):
                rewriter.replace(op, graph.NegOp(op.lhs, fastmath_of(op)))
            case graph.SubOp() if str(splat(op.lhs)) == ("-0.0" if has_floats(op.lhs) else "0"):
                rewriter.replace(op, graph.NegOp(op.rhs, fastmath_of(op)))
            case _:
                pass


class MergeNegation(RewritePattern):
    """
    `x + -y --> x - y`, `-x + y --> y - x`, `x - -y --> x + y`, `-x * -y --> x * y`, `abs(-x) --> abs(x)`
    (not unsigned), `-x / -y --> x / y` on floats
    """

    ROOTS: ClassVar = (graph.AddOp, graph.SubOp, graph.MulOp, graph.DivOp, graph.AbsOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, graph.AbsOp):
            source = _negated(op.source)
            if source is not None and not _is_unsigned(source):
                rewriter.replace(op, graph.AbsOp(source, fastmath_of(op)))
            return
        if not isinstance(op, graph.AddOp | graph.SubOp | graph.MulOp | graph.DivOp):
            return
        flags, lhs, rhs = fastmath_of(op), _negated(op.lhs), _negated(op.rhs)
        match op:
            case graph.AddOp() if rhs is not None:
                rewriter.replace(op, graph.SubOp(op.lhs, rhs, flags))
            case graph.AddOp() if lhs is not None:
                rewriter.replace(op, graph.SubOp(op.rhs, lhs, flags))
            case graph.SubOp() if rhs is not None:
                rewriter.replace(op, graph.AddOp(op.lhs, rhs, flags))
            case graph.MulOp() if lhs is not None and rhs is not None:
                rewriter.replace(op, graph.MulOp(lhs, rhs, flags))
            case graph.DivOp() if lhs is not None and rhs is not None and has_floats(lhs):
                rewriter.replace(op, graph.DivOp(lhs, rhs, flags))
            case _:
                pass


def _negated(value: SSAValue) -> SSAValue | None:
    """
    Returns x where `value` is -x. The negative of a constant is none, as it folds to a constant, and other
    rules subtract constants by adding their negatives; a broadcast of one number is a constant to them.
    """
    owner = value.owner
    if not isinstance(owner, graph.NegOp) or isinstance(owner.source.owner, graph.ConstantOp):
        return None
    if splat(owner.source) is not None:
        return None
    return owner.source


class MultiplyByReciprocal(RewritePattern):
    """`x / 2**k --> x * 2**-k`, on floats, where 2**-k is a normal number of the element type"""

    ROOTS: ClassVar = (graph.DivOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.DivOp, rewriter: PatternRewriter, /) -> None:
        number = splat(op.rhs)
        if not has_floats(op.lhs) or number is None or not isinstance(op.rhs.owner, graph.ConstantOp):
            return
        fraction, exponent = frexp(number)
        least = _LEAST_EXPONENTS.get(str(element_type_of(op.lhs.type)))
        if abs(fraction) != 0.5 or number in (1, -1) or least is None or not least <= 1 - exponent <= -least:
            return
        if not tensor_type_of(op.rhs, op.name).has_static_shape():
            return
        factor = constant_like(op.rhs, 1 / number)
        rewriter.replace(op, (factor, graph.MulOp(op.lhs, factor.result, fastmath_of(op))))


_LEAST_EXPONENTS = {"f64": -1022, "f32": -126, "f16": -14, "bf16": -126}
"""The exponent of the least normal number; its opposite is an exponent of the type too."""


PATTERNS: tuple[type[RewritePattern], ...] = (NegateByOp, MergeNegation, MultiplyByReciprocal)
"""The rules, each with its equation as its docstring."""
