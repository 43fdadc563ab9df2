"""
Brings `graph` into canonical form: folds constants, drops what changes nothing, and makes one view of
several.

    %one = graph.constant dense<1.0> : tensor<4x8xf32>
    %a = graph.mul %one, %x : tensor<4x8xf32>                (gone: %x)
    %b = graph.permute %a [1, 0] : tensor<4x8xf32>
    %c = graph.permute %b [1, 0] : tensor<8x4xf32>      -->  (gone: %x)

The rules, each with its equation, are in passes/util: graph_folding.py (constants), graph_identities.py,
graph_integers.py, graph_signs.py and graph_logic.py (arithmetic), graph_views.py and graph_pushing.py
(movement). None changes a bit of any result but the sign of a NaN: `x + 0.0` is not `x` where x is -0.0.
Those that may are in graph_fast_math.py and ask for the flags that allow it.

Requires: nothing. Ensures: what the module computes is unchanged; ops without a use are gone.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .util import (
    graph_fast_math,
    graph_folding,
    graph_identities,
    graph_integers,
    graph_logic,
    graph_pushing,
    graph_signs,
    graph_views,
)
from .util.located_rewriter import rewrite_greedily

PATTERNS = (
    *graph_folding.PATTERNS,
    *graph_identities.PATTERNS,
    *graph_integers.PATTERNS,
    *graph_signs.PATTERNS,
    *graph_logic.PATTERNS,
    *graph_views.PATTERNS,
    *graph_pushing.PATTERNS,
    *graph_fast_math.PATTERNS,
)


@dataclass(frozen=True)
class CanonicalizeGraphPass(ModulePass):
    """Folds constants, drops identities and composes views."""

    name = "canonicalize-graph"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_greedily(op, [pattern() for pattern in PATTERNS])
