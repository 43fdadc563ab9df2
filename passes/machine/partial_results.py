"""How many partial results a reduction has that runs as vectors."""

from __future__ import annotations


def partial_results(extent: int) -> int:
    """
    Returns how many partial results a reduction over that many elements has.

    It must not depend on the width of the vectors: the order of combination does, and with it the last bits.
    """
    return 32 if extent >= 96 else 16 if extent >= 32 else 8 if extent >= 8 else 4
