"""Greedy pattern rewriting that keeps source locations."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)


class _KeepLocation(RewritePattern):
    """Runs a pattern, and gives every op it inserts without a location that of the op it matched."""

    def __init__(self, inner: RewritePattern):
        self.inner = inner
        self.location: LocationAttr = UNKNOWN_LOC

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        self.location = op.location
        self.inner.match_and_rewrite(op, rewriter)

    def inserted(self, op: Operation) -> None:
        if op.location is UNKNOWN_LOC or op.location == UNKNOWN_LOC:
            op.location = self.location


def rewrite_greedily(module: ModuleOp, patterns: Sequence[RewritePattern]) -> bool:
    """
    Applies `patterns` until none matches, and erases pure ops without uses. Returns whether anything changed.
    New ops take the location of the op that was matched.
    """
    keeper = _KeepLocation(GreedyRewritePatternApplier(list(patterns), dce_enabled=True))
    listener = PatternRewriterListener(operation_insertion_handler=[keeper.inserted])
    return PatternRewriteWalker(keeper, listener=listener).rewrite_module(module)
