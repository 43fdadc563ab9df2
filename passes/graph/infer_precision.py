"""
Computes in the narrowest element type that gives the same bits.

    %a = graph.cast %x : tensor<4xf16> -> tensor<4xf32>
    %b = graph.cast %y : tensor<4xf16> -> tensor<4xf32>
    %c = graph.add %a, %b : tensor<4xf32>
    %d = graph.cast %c : tensor<4xf32> -> tensor<4xf16>

-->

    %d = graph.add %x, %y : tensor<4xf16>

The rules and why they hold are in passes/graph/rules/precision.py, of masks, which compare indices in 32
bits, in index_widths.py, of sums of narrow integers in narrow_sums.py. Programs from elsewhere are full of
such casts; without them values take less memory, and more of them fit a vector.

Requires: nothing. Ensures: what the module computes is unchanged, to the last bit.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..rewriting.located_rewriter import rewrite_greedily
from .rules import index_widths, narrow_sums, precision

PATTERNS = (*precision.PATTERNS, *index_widths.PATTERNS, *narrow_sums.PATTERNS)


@dataclass(frozen=True)
class InferPrecisionPass(ModulePass):
    """Computes in the narrowest element type that gives the same bits."""

    name = "infer-precision"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_greedily(op, [pattern() for pattern in PATTERNS])
