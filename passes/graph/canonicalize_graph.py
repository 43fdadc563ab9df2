"""
Brings `graph` into canonical form: folds constants, drops what changes nothing, and makes one view of
several.

    %one = graph.constant dense<1.0> : tensor<4x8xf32>
    %a = graph.mul %one, %x : tensor<4x8xf32>                (gone: %x)
    %b = graph.permute %a [1, 0] : tensor<4x8xf32>
    %c = graph.permute %b [1, 0] : tensor<8x4xf32>      -->  (gone: %x)

The rules, each with its equation, are in passes/graph/rules: folding.py (constants), identities.py,
integers.py, ranges.py, signs.py and logic.py (arithmetic), views.py and pushing.py (movement), control.py
(control flow). None changes a bit of any result but the sign of a NaN: `x + 0.0` is not `x` where x is -0.0.
Those that may are in powers.py, which keeps to the bound of `pow` in docs/accuracy.md, and in fast_math.py,
for ops whose flags allow it.

Requires: nothing. Ensures: what the module computes is unchanged; ops without a use are gone.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..rewriting.located_rewriter import rewrite_greedily
from .rules import (
    control,
    fast_math,
    folding,
    identities,
    integers,
    logic,
    powers,
    pushing,
    ranges,
    signs,
    views,
)

PATTERNS = (
    *folding.PATTERNS,
    *identities.PATTERNS,
    *integers.PATTERNS,
    *signs.PATTERNS,
    *logic.PATTERNS,
    *ranges.PATTERNS,
    *powers.PATTERNS,
    *views.PATTERNS,
    *pushing.PATTERNS,
    *fast_math.PATTERNS,
    *control.PATTERNS,
)


@dataclass(frozen=True)
class CanonicalizeGraphPass(ModulePass):
    """Folds constants, drops identities and composes views."""

    name = "canonicalize-graph"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_greedily(op, [pattern() for pattern in PATTERNS])
