"""
Rules of arithmetic for `graph`. Each holds for every value of its element types, NaN, infinities, signed
zeros and the least integer included; a rule that would change one bit is not here.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, i1
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects import graph
from ...dialects.element_types import element_type_of, is_float, is_unsigned
from ...dialects.graph.types import tensor_type_of


def splat(value: SSAValue) -> int | float | None:
    """Returns the one value of a splat constant, None for anything else."""
    owner = value.owner
    if not isinstance(owner, graph.ConstantOp) or not owner.value.is_splat():
        return None
    return splat_of(owner.value)


def splat_of(value: DenseIntOrFPElementsAttr) -> int | float:
    """Returns the one value of a splat attribute; 1 for a true i1."""
    first = next(iter(value.iter_attrs()))
    assert isinstance(first, IntegerAttr | FloatAttr)
    number = first.value.data
    return abs(number) if value.get_element_type() == i1 else number


def _is_float(value: SSAValue) -> bool:
    return is_float(element_type_of(value.type))


class ConstantToTheRight(RewritePattern):
    """`c op x --> x op c` for commutative ops"""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if type(op) not in _COMMUTATIVE:
            return
        lhs, rhs = op.operands
        if isinstance(lhs.owner, graph.ConstantOp) and not isinstance(rhs.owner, graph.ConstantOp):
            op.operands[0], op.operands[1] = rhs, lhs
            rewriter.notify_op_modified(op)


_COMMUTATIVE = frozenset(
    (
        graph.AddOp,
        graph.MulOp,
        graph.MaxOp,
        graph.MinOp,
        graph.AndOp,
        graph.OrOp,
        graph.XorOp,
        graph.EqOp,
        graph.NeOp,
    )
)


class DropNeutralOperand(RewritePattern):
    """
    `x + 0 --> x` (integers), `x + -0.0 --> x`, `x - 0 --> x`, `x * 1 --> x`, `x / 1 --> x`, `x xor 0 --> x`,
    `x or 0 --> x`, `x and ~0 --> x`, `x shl 0 --> x`, `x shr 0 --> x`, `pow(x, 1) --> x`
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.BinaryOp):
            return
        number = splat(op.rhs)
        if number is not None and self._is_neutral(op, number):
            rewriter.replace(op, (), (op.lhs,))

    def _is_neutral(self, op: graph.BinaryOp, number: int | float) -> bool:
        match op:
            case graph.AddOp():
                return str(number) == "-0.0" if _is_float(op.lhs) else number == 0
            case graph.SubOp():
                return str(number) == "0.0" if _is_float(op.lhs) else number == 0
            case graph.MulOp() | graph.DivOp():
                return number == 1
            case graph.PowOp():
                return number == 1 and not _is_float(op.lhs)
            case graph.OrOp() | graph.XorOp() | graph.ShlOp() | graph.ShrOp():
                return number == 0
            case graph.AndOp():
                element = element_type_of(op.lhs.type)
                return number == (1 if element == i1 else 255 if is_unsigned(element) else -1)
            case _:
                return False


class AbsorbIntegers(RewritePattern):
    """`x * 0 --> 0`, `x and 0 --> 0`, on integers"""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, graph.MulOp | graph.AndOp) and not _is_float(op.lhs) and splat(op.rhs) == 0:
            rewriter.replace(op, (), (op.rhs,))


class DropIdempotent(RewritePattern):
    """`max(x, x) --> x`, `min(x, x) --> x`, `x and x --> x`, `x or x --> x`, `select(c, x, x) --> x`"""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, graph.MaxOp | graph.MinOp | graph.AndOp | graph.OrOp) and op.lhs is op.rhs:
            rewriter.replace(op, (), (op.lhs,))
        elif isinstance(op, graph.SelectOp) and op.on_true is op.on_false:
            rewriter.replace(op, (), (op.on_true,))


class CancelSelf(RewritePattern):
    """`x - x --> 0`, `x xor x --> 0`, on integers"""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, graph.SubOp | graph.XorOp) and op.lhs is op.rhs and not _is_float(op.lhs):
            type = tensor_type_of(op.lhs, op.name)
            if type.has_static_shape():
                zero = DenseIntOrFPElementsAttr.from_list(type, [0])
                rewriter.replace(op, graph.ConstantOp(zero))


class DropInverse(RewritePattern):
    """`-(-x) --> x`, `not(not x) --> x`"""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, graph.NegOp | graph.NotOp) and type(op.source.owner) is type(op):
            inner = op.source.owner
            assert isinstance(inner, graph.UnaryOp)
            rewriter.replace(op, (), (inner.source,))


class DropRepeated(RewritePattern):
    """`abs(abs x) --> abs x`, and likewise for relu, floor, ceil and trunc"""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, _REPEATABLE) and type(op.source.owner) is type(op):
            rewriter.replace(op, (), (op.source,))


_REPEATABLE = (graph.AbsOp, graph.ReluOp, graph.FloorOp, graph.CeilOp, graph.TruncOp)


class ChooseSelect(RewritePattern):
    """`select(true, x, y) --> x`, `select(false, x, y) --> y`"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SelectOp, rewriter: PatternRewriter, /) -> None:
        condition = splat(op.condition)
        if condition is not None:
            rewriter.replace(op, (), (op.on_true if condition else op.on_false,))


class DropCast(RewritePattern):
    """`cast<t>(x : t) --> x`, `cast<t>(cast<u>(x : t)) --> x` where u holds every t exactly"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CastOp, rewriter: PatternRewriter, /) -> None:
        if op.source.type == op.result.type:
            rewriter.replace(op, (), (op.source,))
            return
        inner = op.source.owner
        if (
            isinstance(inner, graph.CastOp)
            and inner.source.type == op.result.type
            and (str(element_type_of(inner.source.type)), str(element_type_of(inner.result.type))) in _EXACT
        ):
            rewriter.replace(op, (), (inner.source,))


def _exact_pairs() -> frozenset[tuple[str, str]]:
    wider = {
        "i1": "i8 ui8 i16 i32 i64 f16 bf16 f32 f64",
        "i8": "i16 i32 i64 f16 bf16 f32 f64",
        "ui8": "i16 i32 i64 f16 bf16 f32 f64",
        "i16": "i32 i64 f32 f64",
        "i32": "i64 f64",
        "f16": "f32 f64",
        "bf16": "f32 f64",
        "f32": "f64",
    }
    return frozenset((narrow, wide) for narrow, wides in wider.items() for wide in wides.split())


_EXACT = _exact_pairs()
"""Pairs (t, u) of element types for which every value of t is one of u."""

PATTERNS: tuple[type[RewritePattern], ...] = (
    ConstantToTheRight,
    DropNeutralOperand,
    AbsorbIntegers,
    DropIdempotent,
    CancelSelf,
    DropInverse,
    DropRepeated,
    ChooseSelect,
    DropCast,
)
"""The rules, each with its equation as its docstring."""
