"""The steps in which a square of lanes is turned about its diagonal, for backends to write out."""

from __future__ import annotations

from collections.abc import Iterator


def exchanges(n: int) -> Iterator[tuple[int, int, list[int], list[int]]]:
    """
    Yields the exchanges that transpose `n` rows of `n` lanes, a power of two: the numbers of two rows, and
    for each of them the lanes of both, one after the other, that it is replaced by (Eklundh, A fast computer
    method for matrix transposing, 1972).
    """
    step = 1
    while step < n:
        for first in range(n):
            if first & step:
                continue
            upper = [lane if not lane & step else n + lane - step for lane in range(n)]
            lower = [lane + step if not lane & step else n + lane for lane in range(n)]
            yield first, first + step, upper, lower
        step *= 2
