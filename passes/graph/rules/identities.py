"""
Rules of arithmetic for `graph`. Each holds for every value of its element types, NaN, infinities, signed
zeros and the least integer included; a rule that would change one bit is not here.
"""

from __future__ import annotations

from math import inf
from typing import ClassVar

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ....dialects import graph
from ....dialects.element_types import element_type_of, is_float, is_unsigned, width_of
from ....dialects.graph.types import tensor_type_of
from .splats import has_floats, splat


def all_bits(element: Attribute) -> int:
    """Returns the integer of a type that has every bit set."""
    return (1 << width_of(element)) - 1 if is_unsigned(element) else -1


def least_of(element: Attribute) -> int | float:
    """Returns the least value of an element type."""
    if is_float(element):
        return -inf
    return 0 if is_unsigned(element) else -(1 << (width_of(element) - 1))


def greatest_of(element: Attribute) -> int | float:
    """Returns the greatest value of an element type."""
    if is_float(element):
        return inf
    return (1 << (width_of(element) - (0 if is_unsigned(element) else 1))) - 1


_COMMUTATIVE = (
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


class ConstantToTheRight(RewritePattern):
    """`c op x --> x op c` for commutative ops"""

    ROOTS: ClassVar = _COMMUTATIVE

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if type(op) not in _COMMUTATIVE:
            return
        lhs, rhs = op.operands
        if isinstance(lhs.owner, graph.ConstantOp) and not isinstance(rhs.owner, graph.ConstantOp):
            op.operands[0], op.operands[1] = rhs, lhs
            rewriter.notify_op_modified(op)


class DropNeutralOperand(RewritePattern):
    """
    `x + 0 --> x` (integers), `x + -0.0 --> x`, `x - 0 --> x`, `x * 1 --> x`, `x / 1 --> x`, `x xor 0 --> x`,
    `x or 0 --> x`, `x and ~0 --> x`, `x shl 0 --> x`, `x shr 0 --> x`, `pow(x, 1) --> x` (integers),
    `max(x, least) --> x`, `min(x, greatest) --> x`
    """

    ROOTS: ClassVar = (graph.BinaryOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.BinaryOp):
            return
        number = splat(op.rhs)
        if number is not None and self._is_neutral(op, number):
            rewriter.replace(op, (), (op.lhs,))

    def _is_neutral(self, op: graph.BinaryOp, number: int | float) -> bool:
        match op:
            case graph.AddOp():
                return str(number) == "-0.0" if has_floats(op.lhs) else number == 0
            case graph.SubOp():
                return str(number) == "0.0" if has_floats(op.lhs) else number == 0
            case graph.MulOp() | graph.DivOp():
                return number == 1
            case graph.PowOp():
                return number == 1 and not has_floats(op.lhs)
            case graph.OrOp() | graph.XorOp() | graph.ShlOp() | graph.ShrOp():
                return number == 0
            case graph.AndOp():
                return number == all_bits(element_type_of(op.lhs.type))
            case graph.MaxOp():
                return number == least_of(element_type_of(op.lhs.type))
            case graph.MinOp():
                return number == greatest_of(element_type_of(op.lhs.type))
            case _:
                return False


class AbsorbIntegers(RewritePattern):
    """
    `x * 0 --> 0`, `x and 0 --> 0`, `x or ~0 --> ~0`, `max(x, greatest) --> greatest`,
    `min(x, least) --> least`, on integers
    """

    ROOTS: ClassVar = (graph.BinaryOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.BinaryOp) or has_floats(op.lhs):
            return
        number = splat(op.rhs)
        if number is not None and number == self._absorbing(op):
            rewriter.replace(op, (), (op.rhs,))

    def _absorbing(self, op: graph.BinaryOp) -> int | float | None:
        element = element_type_of(op.lhs.type)
        match op:
            case graph.MulOp() | graph.AndOp():
                return 0
            case graph.OrOp():
                return all_bits(element)
            case graph.MaxOp():
                return greatest_of(element)
            case graph.MinOp():
                return least_of(element)
            case _:
                return None


class DropIdempotent(RewritePattern):
    """`max(x, x) --> x`, `min(x, x) --> x`, `x and x --> x`, `x or x --> x`, `select(c, x, x) --> x`"""

    ROOTS: ClassVar = (graph.MaxOp, graph.MinOp, graph.AndOp, graph.OrOp, graph.SelectOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, graph.MaxOp | graph.MinOp | graph.AndOp | graph.OrOp) and op.lhs is op.rhs:
            rewriter.replace(op, (), (op.lhs,))
        elif isinstance(op, graph.SelectOp) and op.on_true is op.on_false:
            rewriter.replace(op, (), (op.on_true,))


class CancelSelf(RewritePattern):
    """`x - x --> 0`, `x xor x --> 0`, on integers"""

    ROOTS: ClassVar = (graph.SubOp, graph.XorOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, graph.SubOp | graph.XorOp) and op.lhs is op.rhs and not has_floats(op.lhs):
            type = tensor_type_of(op.lhs, op.name)
            if type.has_static_shape():
                zero = DenseIntOrFPElementsAttr.from_list(type, [0])
                rewriter.replace(op, graph.ConstantOp(zero))


class DropInverse(RewritePattern):
    """`-(-x) --> x`, `not(not x) --> x`"""

    ROOTS: ClassVar = (graph.NegOp, graph.NotOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, graph.NegOp | graph.NotOp) and type(op.source.owner) is type(op):
            inner = op.source.owner
            assert isinstance(inner, graph.UnaryOp)
            rewriter.replace(op, (), (inner.source,))


_REPEATABLE = (graph.AbsOp, graph.ReluOp, graph.FloorOp, graph.CeilOp, graph.TruncOp)


class DropRepeated(RewritePattern):
    """`abs(abs x) --> abs x`, and likewise for relu, floor, ceil and trunc"""

    ROOTS: ClassVar = _REPEATABLE

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, _REPEATABLE) and type(op.source.owner) is type(op):
            rewriter.replace(op, (), (op.source,))


class ChooseSelect(RewritePattern):
    """`select(true, x, y) --> x`, `select(false, x, y) --> y`"""

    ROOTS: ClassVar = (graph.SelectOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SelectOp, rewriter: PatternRewriter, /) -> None:
        condition = splat(op.condition)
        if condition is not None:
            rewriter.replace(op, (), (op.on_true if condition else op.on_false,))


class ComposeCasts(RewritePattern):
    """
    `cast<t>(cast<u>(x : s)) --> cast<t>(x)` where u holds every s exactly, and t and u are both floats, or
    both integers, or s is a float (what saturates from a float u would wrap from an integer s)
    """

    ROOTS: ClassVar = (graph.CastOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CastOp, rewriter: PatternRewriter, /) -> None:
        inner = op.source.owner
        if not isinstance(inner, graph.CastOp) or inner.source.type == op.result.type:
            return
        narrow, wide = element_type_of(inner.source.type), element_type_of(inner.result.type)
        is_same_kind = has_floats(op.result) == has_floats(op.source)
        if (str(narrow), str(wide)) in EXACT and (is_same_kind or has_floats(inner.source)):
            rewriter.replace(op, graph.CastOp(inner.source, tensor_type_of(op.result, op.name)))


class DropCast(RewritePattern):
    """`cast<t>(x : t) --> x`, `cast<t>(cast<u>(x : t)) --> x` where u holds every t exactly"""

    ROOTS: ClassVar = (graph.CastOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CastOp, rewriter: PatternRewriter, /) -> None:
        if op.source.type == op.result.type:
            rewriter.replace(op, (), (op.source,))
            return
        inner = op.source.owner
        if (
            isinstance(inner, graph.CastOp)
            and inner.source.type == op.result.type
            and (str(element_type_of(inner.source.type)), str(element_type_of(inner.result.type))) in EXACT
        ):
            rewriter.replace(op, (), (inner.source,))


class ComposeBitcasts(RewritePattern):
    """`bitcast<t>(x : t) --> x`, `bitcast<t>(bitcast<u>(x)) --> bitcast<t>(x)`"""

    ROOTS: ClassVar = (graph.BitcastOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.BitcastOp, rewriter: PatternRewriter, /) -> None:
        inner = op.source.owner
        source = inner.source if isinstance(inner, graph.BitcastOp) else op.source
        if source.type == op.result.type:
            rewriter.replace(op, (), (source,))
        elif source is not op.source:
            rewriter.replace(op, graph.BitcastOp(source, tensor_type_of(op.result, op.name)))


def _exact_pairs() -> frozenset[tuple[str, str]]:
    wider = {
        "i1": "i8 ui8 i16 ui16 i32 ui32 i64 ui64 f8E5M2 f8E4M3FN f8E4M3 f16 bf16 f32 f64",
        "i8": "i16 i32 i64 f16 bf16 f32 f64",
        "ui8": "i16 ui16 i32 ui32 i64 ui64 f16 bf16 f32 f64",
        "i16": "i32 i64 f32 f64",
        "ui16": "i32 ui32 i64 ui64 f32 f64",
        "i32": "i64 f64",
        "ui32": "i64 ui64 f64",
        "f8E5M2": "f16 bf16 f32 f64",
        "f8E4M3FN": "f16 bf16 f32 f64",
        "f8E4M3": "f16 bf16 f32 f64",
        "f16": "f32 f64",
        "bf16": "f32 f64",
        "f32": "f64",
    }
    return frozenset((narrow, wide) for narrow, wides in wider.items() for wide in wides.split())


EXACT = _exact_pairs()
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
    ComposeCasts,
    DropCast,
    ComposeBitcasts,
)
"""The rules, each with its equation as its docstring."""
