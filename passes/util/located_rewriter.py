"""Greedy pattern rewriting that keeps source locations."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from .rewrite_counts import rewrite_counter


class _ByRoot(RewritePattern):
    """
    Erases an op that is dead, else runs the patterns that may match it, in order, until one does. A pattern
    with a tuple `ROOTS` may match ops of those classes only.
    """

    def __init__(self, patterns: Sequence[RewritePattern]):
        self.patterns = patterns
        self.by_type: dict[type[Operation], tuple[RewritePattern, ...]] = {}
        self.counts = rewrite_counter()

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if is_trivially_dead(op):
            rewriter.erase(op)
            return
        patterns = self.by_type.get(type(op))
        if patterns is None:
            patterns = self.by_type[type(op)] = tuple(
                pattern for pattern in self.patterns if isinstance(op, getattr(pattern, "ROOTS", Operation))
            )
        for pattern in patterns:
            pattern.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                if self.counts is not None:
                    self.counts[type(pattern).__name__] += 1
                return


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
    keeper = _KeepLocation(_ByRoot(patterns))
    listener = PatternRewriterListener(operation_insertion_handler=[keeper.inserted])
    return PatternRewriteWalker(keeper, listener=listener).rewrite_module(module)
