"""How many partial results a reduction has that runs as vectors."""

from __future__ import annotations

MOST_OF_FEW = 1024
"""
Of a number of elements that varies up to here, many are few: with 16 partial results and not 32 a softmax
over 16 to 48 elements of 512 takes 0.7 to 0.8 of the time (AVX-512), a norm over 20 to 48 0.6, a sum of
1000 1.4.
"""


def partial_results(extent: int, varies: bool = False) -> int:
    """
    Returns how many partial results a reduction over that many elements has, or over any number up to there.

    It must not depend on the width of the vectors: the order of combination does, and with it the last bits.
    """
    is_many = extent >= 96 and not (varies and extent <= MOST_OF_FEW)
    return 32 if is_many else 16 if extent >= 32 else 8 if extent >= 8 else 4
