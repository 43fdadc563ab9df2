"""
Counts actions of passes, and stops some of them: mlir-opt's debug counters, by which one bisects.

An action has a tag. `apply-pattern` is to try a rule of greedy rewriting at an op, `pass-execution` to run a
pass. A counter skips the first actions of its tag, executes the next ones, and stops those after them.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from ...errors import TenonError

APPLY_PATTERN = "apply-pattern"
PASS_EXECUTION = "pass-execution"

TAGS = (APPLY_PATTERN, PASS_EXECUTION)


@dataclass
class DebugCounter:
    """
    Executes none of the first `skip` actions, then `limit` of them, or all where it is negative. With a
    negative `skip` all are executed. `last` is the last one that did something, in words.
    """

    skip: int = 0
    limit: int = -1
    n_actions: int = field(default=0, init=False)
    last: str = field(default="", init=False)

    def should_execute(self) -> bool:
        """Counts one more action and returns whether it is to be executed."""
        self.n_actions += 1
        if self.skip < 0:
            return True
        return self.n_actions > self.skip and (self.limit < 0 or self.n_actions <= self.skip + self.limit)


class DebugCounters:
    """The counters that text like `apply-pattern-skip=5,apply-pattern-count=1` describes, by their tags."""

    def __init__(self, text: str) -> None:
        """Raises TenonError for what is no such text, and for unknown tags."""
        self._text = text
        self.by_tag: dict[str, DebugCounter] = {}
        for argument in filter(None, text.split(",")):
            name, equals, value = argument.partition("=")
            if not (equals and value.removeprefix("-").isdecimal()):
                raise TenonError(f"debug counter: expected tag-skip=N or tag-count=N, found '{argument}'")
            tag, _, what = name.rpartition("-")
            if tag not in TAGS or what not in ("skip", "count"):
                choice = ", ".join(f"{tag}-{what}" for tag in TAGS for what in ("skip", "count"))
                raise TenonError(f"debug counter: '{name}' is not one of {choice}")
            counter = self.by_tag.setdefault(tag, DebugCounter())
            if what == "skip":
                counter.skip = int(value)
            else:
                counter.limit = int(value)

    def __str__(self) -> str:
        return self._text

    def report(self) -> str:
        """
        Returns what mlir-opt prints: a line for each counter, with the number of actions, of those to skip
        and of those to execute. What the last one did stands below.
        """
        lines = ["DebugCounter counters:"]
        for tag, counter in sorted(self.by_tag.items()):
            lines.append(f"{tag:<32}: {{{counter.n_actions},{counter.skip},{counter.limit}}}")
            if counter.last:
                lines.append(f"  last: {counter.last}")
        return "\n".join(lines) + "\n"


_ACTIVE: ContextVar[DebugCounters | None] = ContextVar("debug counters", default=None)


@contextmanager
def counting_actions(counters: DebugCounters) -> Generator[None]:
    """Lets `counters` decide about the actions inside."""
    token = _ACTIVE.set(counters)
    try:
        yield
    finally:
        _ACTIVE.reset(token)


def debug_counter(tag: str) -> DebugCounter | None:
    """Returns the counter that decides about the actions of a tag now, None where none does."""
    counters = _ACTIVE.get()
    return None if counters is None else counters.by_tag.get(tag)
