"""
Brings `graph` into canonical form: folds constants, drops what changes nothing, and makes one view of
several.

    %one = graph.constant dense<1.0> : tensor<4x8xf32>
    %a = graph.mul %one, %x : tensor<4x8xf32>                (gone: %x)
    %b = graph.permute %a [1, 0] : tensor<4x8xf32>
    %c = graph.permute %b [1, 0] : tensor<8x4xf32>      -->  (gone: %x)

The rules are in passes/util/graph_identities.py (arithmetic), passes/util/graph_views.py (movement) and
passes/util/graph_folding.py (constants). None changes a bit of any result: `x + 0.0` is not `x` where x is
-0.0.

Requires: nothing. Ensures: what the module computes is unchanged; ops without a use are gone.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .util import graph_folding, graph_identities, graph_views
from .util.located_rewriter import rewrite_greedily

PATTERNS = (*graph_folding.PATTERNS, *graph_identities.PATTERNS, *graph_views.PATTERNS)


@dataclass(frozen=True)
class CanonicalizeGraphPass(ModulePass):
    """Folds constants, drops identities and composes views."""

    name = "canonicalize-graph"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_greedily(op, [pattern() for pattern in PATTERNS])
