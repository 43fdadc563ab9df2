"""How an axis is cut into pieces that work-groups take."""

from __future__ import annotations

from .....dialects.dims.expressions import Extent

TILE = 64
"""The most elements of a piece."""


def tiled(extent: Extent) -> tuple[int, Extent]:
    """
    Returns how many pieces of how many elements an axis is cut into: whole pieces that are good vectors, else
    one piece, as where the extent varies.
    """
    if not isinstance(extent, int):
        return 1, extent
    for size in (TILE, 32, 16, 8):
        if extent > size and extent % size == 0:
            return extent // size, size
    return 1, extent
