"""
A pass that is defined outside of Tenon: it writes `x * 2` as `x + x`, which is the same number.

    %two = graph.constant dense<2.0> : tensor<4xf32>
    %y = graph.mul %x, %two : tensor<4xf32>

-->

    %y = graph.add %x, %x : tensor<4xf32>
"""

from dataclasses import dataclass

from tenon.compiler.custom import graph, register_pass, rewrite_greedily
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern


class DoublingByAdding(RewritePattern):
    """`x * 2 --> x + x`"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MulOp, rewriter: PatternRewriter, /):
        factor = op.rhs.owner
        if not isinstance(factor, graph.ConstantOp) or not factor.value.is_splat():
            return
        if factor.value.get_values()[0] == 2:
            rewriter.replace(op, graph.AddOp(op.lhs, op.lhs))


@register_pass
@dataclass(frozen=True)
class ExpandDoublingPass(ModulePass):
    """Writes multiplications by 2 as additions."""

    name = "expand-doubling"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_greedily(op, [DoublingByAdding()])
