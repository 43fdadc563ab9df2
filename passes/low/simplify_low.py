"""
Simplifies kernels of explicit loops.

    %a = arith.addi %i, %c0 : index              (gone: %i)
    %q = arith.divui %i, %c8 : index      -->    %q = arith.shrui %i, %c3 : index
    scf.for %j = %c0 to %c8 step %c8 {           ... the body once, with %c0 for %j

Every rule holds for all values, NaN and infinities and signed zeros included; what a rule leaves without a
use is erased.

Requires: nothing. Ensures: what the module computes is unchanged, bit for bit.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from ...dialects import low
from ...dialects.element_types import width_of
from ...dialects.low import Conversion
from ...dialects.low.constant_integer import constant_integer
from ...dialects.xdsl_fixes import dense_values
from ..rewriting.located_rewriter import rewrite_greedily


def _float(value: SSAValue) -> float | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, FloatAttr):
        return owner.value.value.data
    return None


def _wrap(value: int, type: Attribute) -> int:
    """Brings an integer into the signed range of its type; an index has 64 bits."""
    width = width_of(type)
    if width == 1:
        return value & 1
    half = 1 << (width - 1)
    return (value + half) % (2 * half) - half


def _constant(value: int, type: Attribute) -> arith.ConstantOp:
    assert isinstance(type, IntegerType | IndexType)
    attribute = IntegerAttr(value, cast("IntegerType | IndexType", type), truncate_bits=True)
    op = arith.ConstantOp.create(result_types=(attribute.type,), properties={"value": attribute})
    op.results[0].name_hint = f"c{value}" if value >= 0 else f"cm{-value}"
    return op


_FOLDS: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: int.__add__,
    arith.SubiOp: int.__sub__,
    arith.MuliOp: int.__mul__,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
    arith.AndIOp: int.__and__,
    arith.OrIOp: int.__or__,
    arith.XOrIOp: int.__xor__,
}


class FoldIntegers(RewritePattern):
    """`c1 op c2 --> c3` for sums, products, extrema and bit operations of integer constants"""

    ROOTS = tuple(_FOLDS)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        fold = _FOLDS.get(type(op))
        if fold is None:
            return
        lhs, rhs = constant_integer(op.operands[0]), constant_integer(op.operands[1])
        if lhs is not None and rhs is not None:
            result = op.results[0].type
            rewriter.replace(op, _constant(_wrap(fold(lhs, rhs), result), result))


_COMPARES: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


class FoldComparison(RewritePattern):
    """`c1 < c2 --> true` or `false`, for all ways to compare integer constants, signed and unsigned"""

    ROOTS = (arith.CmpiOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.CmpiOp, rewriter: PatternRewriter, /) -> None:
        lhs, rhs = constant_integer(op.lhs), constant_integer(op.rhs)
        if lhs is None or rhs is None:
            return
        predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
        end = 1 << width_of(op.lhs.type)
        lhs, rhs = lhs % end, rhs % end
        if predicate[0] == "s":
            lhs, rhs = (value - end if 2 * value >= end else value for value in (lhs, rhs))
        holds = _COMPARES[predicate if predicate in _COMPARES else predicate[1:]](lhs, rhs)
        rewriter.replace(op, _constant(int(holds), op.result.type))


class DropBitIdentity(RewritePattern):
    """`x & 1..1 --> x`, `x & 0 --> 0`, `x | 0 --> x`, `x | 1..1 --> 1..1`, `x ^ 0 --> x`, and mirrored"""

    ROOTS = (arith.AndIOp, arith.OrIOp, arith.XOrIOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, arith.AndIOp | arith.OrIOp | arith.XOrIOp):
            return
        type = op.result.type
        if not isinstance(type, IntegerType | IndexType):
            return
        ones = (1 << width_of(type)) - 1
        neutral = ones if isinstance(op, arith.AndIOp) else 0
        for value, other in (op.operands, tuple(reversed(op.operands))):
            number = constant_integer(value)
            if number is None:
                continue
            if number & ones == neutral:
                rewriter.replace(op, (), (other,))
                return
            if number & ones == ones - neutral and not isinstance(op, arith.XOrIOp):
                rewriter.replace(op, (), (value,))
                return


class DropIntegerIdentity(RewritePattern):
    """
    `x + 0 --> x`, `x - 0 --> x`, `x * 1 --> x`, `x * 0 --> 0`, `x / 1 --> x`, and the first three mirrored
    """

    ROOTS = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.DivUIOp, arith.DivSIOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, arith.AddiOp | arith.SubiOp | arith.MuliOp | arith.DivUIOp | arith.DivSIOp):
            return
        lhs, rhs = op.operands
        neutral = 0 if isinstance(op, arith.AddiOp | arith.SubiOp) else 1
        if constant_integer(rhs) == neutral:
            rewriter.replace(op, (), (lhs,))
        elif isinstance(op, arith.AddiOp | arith.MuliOp) and constant_integer(lhs) == neutral:
            rewriter.replace(op, (), (rhs,))
        elif isinstance(op, arith.MuliOp) and 0 in (constant_integer(lhs), constant_integer(rhs)):
            rewriter.replace(op, _constant(0, op.results[0].type))


class DivideByShifting(RewritePattern):
    """`x divui 2^k --> x shrui k`, `x remui 2^k --> x andi (2^k - 1)`"""

    ROOTS = (arith.DivUIOp, arith.RemUIOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, arith.DivUIOp | arith.RemUIOp):
            return
        divisor, type = constant_integer(op.operands[1]), op.results[0].type
        if divisor is None or divisor < 2 or divisor & (divisor - 1):
            return
        by = divisor.bit_length() - 1 if isinstance(op, arith.DivUIOp) else divisor - 1
        amount = rewriter.insert(_constant(by, type))
        new_type = arith.ShRUIOp if isinstance(op, arith.DivUIOp) else arith.AndIOp
        operands = (op.operands[0], amount.results[0])
        rewriter.replace(op, new_type.create(operands=operands, result_types=(type,)))


class DropFloatIdentity(RewritePattern):
    """`x * 1.0 --> x`, `1.0 * x --> x`, `x / 1.0 --> x`, `x - 0.0 --> x`, `x + -0.0 --> x`"""

    ROOTS = (arith.MulfOp, arith.DivfOp, arith.SubfOp, arith.AddfOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, arith.MulfOp | arith.DivfOp | arith.SubfOp | arith.AddfOp):
            return
        lhs, rhs = op.operands
        number = _float(rhs)
        if isinstance(op, arith.MulfOp) and _float(lhs) == 1.0:
            rewriter.replace(op, (), (rhs,))
        elif number is not None and (
            (isinstance(op, arith.MulfOp | arith.DivfOp) and number == 1.0)
            or (isinstance(op, arith.SubfOp) and str(number) == "0.0")
            or (isinstance(op, arith.AddfOp) and str(number) == "-0.0")
        ):
            rewriter.replace(op, (), (lhs,))


class DropDoubleNegation(RewritePattern):
    """`-(-x) --> x`"""

    ROOTS = (arith.NegfOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.NegfOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(op.operand.owner, arith.NegfOp):
            rewriter.replace(op, (), (op.operand.owner.operand,))


class DropExactRoundTrip(RewritePattern):
    """`truncf(extf(x)) --> x` where the types agree: widening is exact"""

    ROOTS = (arith.TruncFOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.TruncFOp, rewriter: PatternRewriter, /) -> None:
        widened = op.input.owner
        if isinstance(widened, arith.ExtFOp) and widened.input.type == op.result.type:
            rewriter.replace(op, (), (widened.input,))


class DropStoredBoolean(RewritePattern):
    """`(extui b) != 0 --> b`, of vectors too"""

    ROOTS = (arith.CmpiOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.CmpiOp, rewriter: PatternRewriter, /) -> None:
        widened = op.lhs.owner
        if (
            arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data] == "ne"
            and isinstance(widened, low.ConvertOp)
            and widened.conversion.data is Conversion.EXTUI
            and widened.source.type == op.result.type
            and _is_zero(op.rhs)
        ):
            rewriter.replace(op, (), (widened.source,))


def _is_zero(value: SSAValue) -> bool:
    """Returns whether an integer is 0, or each lane of a vector of integers."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, DenseIntOrFPElementsAttr):
        return not any(dense_values(owner.value))
    return constant_integer(value) == 0


class FoldSelect(RewritePattern):
    """`select c, x, x --> x`, `select true, x, y --> x`, `select false, x, y --> y`"""

    ROOTS = (low.SelectOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: low.SelectOp, rewriter: PatternRewriter, /) -> None:
        condition = constant_integer(op.condition)
        if op.on_true is op.on_false or (condition is not None and condition != 0):
            rewriter.replace(op, (), (op.on_true,))
        elif condition == 0:
            rewriter.replace(op, (), (op.on_false,))


class InlineShortLoop(RewritePattern):
    """A loop that runs never is its initial values; one that runs once is its body."""

    ROOTS = (scf.ForOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ForOp, rewriter: PatternRewriter, /) -> None:
        begin, end, step = constant_integer(op.lb), constant_integer(op.ub), constant_integer(op.step)
        if begin is None or end is None or step is None:
            return
        if begin >= end:
            rewriter.replace(op, (), op.iter_args)
        elif begin + step >= end:
            block = op.body.block
            last = block.last_op
            assert isinstance(last, scf.YieldOp), "scf.for: body ends in no scf.yield"
            arguments = [op.lb, *op.iter_args]
            by_argument: dict[SSAValue, SSAValue] = dict(zip(block.args, arguments, strict=True))
            results = [by_argument.get(value, value) for value in last.operands]
            rewriter.erase(last)
            rewriter.inline_block(block, InsertPoint.before(op), arguments)
            rewriter.replace(op, (), results)


PATTERNS: tuple[type[RewritePattern], ...] = (
    FoldIntegers,
    FoldComparison,
    DropBitIdentity,
    DropIntegerIdentity,
    DivideByShifting,
    DropFloatIdentity,
    DropDoubleNegation,
    DropExactRoundTrip,
    DropStoredBoolean,
    FoldSelect,
    InlineShortLoop,
)
"""The rules, each with its equation as its docstring."""


@dataclass(frozen=True)
class SimplifyLowPass(ModulePass):
    """Folds and simplifies the scalar code and the loops of `low` kernels."""

    name = "simplify-low"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_greedily(op, [pattern() for pattern in PATTERNS])
