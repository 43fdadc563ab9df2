"""Passes from outside of Tenon that have bugs, each of another kind."""

from dataclasses import dataclass

from tenon.compiler.custom import graph, register_pass, rewrite_greedily
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import Rewriter


@register_pass
@dataclass(frozen=True)
class DividePass(ModulePass):
    """Divides by zero."""

    name = "divide"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        print(1 // 0)


@register_pass
@dataclass(frozen=True)
class MistakePass(ModulePass):
    """Takes neg for abs."""

    name = "mistake"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, graph.NegOp):
                Rewriter.replace_op(inner, graph.AbsOp(inner.operands[0]))


@register_pass
@dataclass(frozen=True)
class DropReturnPass(ModulePass):
    """Leaves functions that do not end in a return."""

    name = "drop-return"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp):
                Rewriter.erase_op(function.body.block.last_op)


class DropDoubleNegation(RewritePattern):
    """`-(-x) --> x`"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.NegOp, rewriter: PatternRewriter, /):
        if isinstance(inner := op.source.owner, graph.NegOp):
            rewriter.replace(op, (), [inner.source])


class ForgetSign(RewritePattern):
    """`abs(x) --> x`, which is wrong."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.AbsOp, rewriter: PatternRewriter, /):
        rewriter.replace(op, (), [op.source])


@register_pass
@dataclass(frozen=True)
class DropSignsPass(ModulePass):
    """Has one rule that is right and one that is not."""

    name = "drop-signs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_greedily(op, [DropDoubleNegation(), ForgetSign()])


@register_pass
@dataclass(frozen=True)
class SwapSubtractionPass(ModulePass):
    """Takes a - b for b - a, in kernels."""

    name = "swap-subtraction"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if isinstance(inner, arith.SubfOp):
                inner.operands = (inner.rhs, inner.lhs)


@register_pass
@dataclass(frozen=True)
class MoveIndicesPass(ModulePass):
    """Takes 1 for the index 0, in kernels."""

    name = "move-indices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if isinstance(inner, arith.ConstantOp) and inner.value == IntegerAttr(0, IndexType()):
                inner.properties["value"] = IntegerAttr(1, IndexType())
