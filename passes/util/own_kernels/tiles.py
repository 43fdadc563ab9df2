"""How an axis is cut into pieces that work-groups take."""

from __future__ import annotations

TILE = 64
"""The most elements of a piece."""


def tiled(extent: int) -> tuple[int, int]:
    """
    Returns how many pieces of how many elements an axis is cut into: whole pieces that are good vectors, else
    one piece.
    """
    for size in (TILE, 32, 16, 8):
        if extent > size and extent % size == 0:
            return extent // size, size
    return 1, extent
