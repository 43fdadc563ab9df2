"""Greedy pattern rewriting that keeps source locations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from ...semantics.errors import describe
from .debug_counter import APPLY_PATTERN, debug_counter
from .op_effects import is_removable
from .rewrite_counts import rewrite_counter


class _ByRoot(RewritePattern):
    """
    Erases an op that is dead, else runs the patterns that may match it, in order, until one does. A pattern
    whose class has a tuple `ROOTS` may match ops of those classes only.
    """

    def __init__(self, patterns: Sequence[RewritePattern]):
        self.patterns = patterns
        self.by_type: dict[type[Operation], tuple[RewritePattern, ...]] = {}
        self.counts = rewrite_counter()
        self.debug_counter = debug_counter(APPLY_PATTERN)

    def patterns_for(self, op: Operation) -> tuple[RewritePattern, ...]:
        """Returns the patterns that may match an op."""
        patterns = self.by_type.get(type(op))
        if patterns is None:
            patterns = self.by_type[type(op)] = tuple(
                [pattern for pattern in self.patterns if _may_match(type(pattern), type(op))]
            )
        return patterns

    def concerns(self, op: Operation) -> bool:
        """Returns whether there is anything to do at an op, perhaps."""
        return bool(self.patterns_for(op)) or _is_dead(op)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if _is_dead(op):
            rewriter.erase(op)
            return
        for pattern in self.patterns_for(op):
            if self.debug_counter is not None and not self.debug_counter.should_execute():
                continue
            pattern.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                self._note(pattern, op)
                return

    def _note(self, pattern: RewritePattern, op: Operation) -> None:
        """Counts that a pattern has rewritten an op."""
        name = type(pattern).__name__
        if self.counts is not None:
            self.counts[name] += 1
        if self.debug_counter is not None:
            self.debug_counter.last = f"{name} on {describe(op)}"


@cache
def _may_match(pattern: type[RewritePattern], op: type[Operation]) -> bool:
    return issubclass(op, getattr(pattern, "ROOTS", Operation))


def _is_dead(op: Operation) -> bool:
    for result in op.results:
        if result.first_use is not None:
            return False
    return is_removable(type(op)) and is_trivially_dead(op)


class _Walker(PatternRewriteWalker):
    """Looks only at the ops that a pattern may match, and those that may be erased."""

    def __init__(self, pattern: _KeepLocation, listener: PatternRewriterListener) -> None:
        super().__init__(pattern, listener=listener)
        self._concerns = pattern.inner.concerns

    def _populate_worklist(self, op: Operation | Region | Block) -> None:
        for inner in op.walk(reverse=True, region_first=True):
            if self._concerns(inner):
                self._worklist.push(inner)


class _KeepLocation(RewritePattern):
    """Runs a pattern, and gives every op it inserts without a location that of the op it matched."""

    def __init__(self, inner: _ByRoot):
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
    return _Walker(keeper, listener).rewrite_module(module)
