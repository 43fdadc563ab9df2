"""How large the register tile of a contraction is."""

from __future__ import annotations

from functools import cache

LATENCY = 8
"""Multiply-adds that must be under way for none to wait for another: two at a time, four cycles each."""

ONCE = 0.975
"""What is left of the time where a tile has all columns: the factors of its rows are loaded once then."""

MOST_ROWS = 30
MOST_VECTORS_OF_A_ROW = 16


@cache
def tile_shape(rows: int, columns: int, vector_nbytes: int, nbytes: int) -> tuple[int, int]:
    """
    Returns the rows and columns of the tile that takes the least time for a result of `rows` x `columns`
    elements of `nbytes`, what fills no whole tile included.
    """
    lanes = max(1, vector_nbytes // nbytes)
    vectors = -(-columns // lanes)
    best: tuple[float, int, int] | None = None
    for tall in range(1, min(rows, MOST_ROWS) + 1):
        for wide in range(1, min(vectors, most_vectors(tall, vector_nbytes)) + 1):
            cost = _time(rows, vectors, tall, wide) * (ONCE if wide == vectors else 1)
            if best is None or (cost, -tall * wide) < (best[0], -best[1] * best[2]):
                best = cost, tall, wide
    assert best is not None, f"no tile for {rows} x {columns}"
    _, tall, wide = best
    return tall, min(wide * lanes, columns)


def most_vectors(rows: int, vector_nbytes: int) -> int:
    """Returns how many vectors wide a tile of that many rows can be, with one row of factors beside it."""
    registers = 32 if vector_nbytes >= 64 else 16
    return MOST_VECTORS_OF_A_ROW if rows == 1 else (registers - 1) // (rows + 1)


def _time(rows: int, vectors: int, tall: int, wide: int) -> float:
    """Returns about how many half cycles one step of the depth takes for all tiles of a result."""
    total = 0.0
    for height, times in ((tall, rows // tall), (rows % tall, 1)):
        for width, across in ((wide, vectors // wide), (vectors % wide, 1)):
            if height and width:
                total += times * across * _step(height, width)
    return total


def _step(tall: int, wide: int) -> float:
    """Two multiply-adds or two loads a cycle; vectors that the next row of tiles loads again are far away."""
    return max(tall * wide, tall + wide, LATENCY) + wide / 4
