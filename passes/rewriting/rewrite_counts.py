"""Counts of the rules that fired, for whoever asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_COUNTED: ContextVar[Counter[str] | None] = ContextVar("rules that fired", default=None)


@contextmanager
def counted_rewrites(counts: Counter[str]) -> Generator[None]:
    """Counts in `counts`, by the names of their classes, the rules that fire inside."""
    token = _COUNTED.set(counts)
    try:
        yield
    finally:
        _COUNTED.reset(token)


def rewrite_counter() -> Counter[str] | None:
    """Returns where rules that fire are counted now, None where nobody asked."""
    return _COUNTED.get()
