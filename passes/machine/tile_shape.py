"""How large the register tile of a contraction is: the microkernel's rows and columns."""

from __future__ import annotations

from functools import lru_cache
from math import gcd

LATENCY = 8
"""Multiply-adds that must be under way for none to wait for another: two at a time, four cycles each."""

ONCE = 0.975
"""The factor of the time of a tile with all columns: it loads the factors of its rows once."""

ABOUT = 1.005
"""Shapes within so many times the least time are equal: the most multiply-adds per load win then."""

MOST_ROWS = 30
WAY_NBYTES = 4096
LEAST_ROWS_IN_ONE_PLACE = 6
"""Lines so many bytes apart share a place in the first cache, which holds at least so many rows of them."""

REGISTERS_FOR_A_SUM = 2
"""
How many registers there are for each sum of a tile of one row, whose other side is read once: with AVX2's 16,
where 16 sums leave no register for what is loaded, 8 of them take 0.79 of an LSTM's time and 0.83 of GPT-2's
(Zen 3, medians): `python -m benchmarks.thresholds REGISTERS_FOR_A_SUM`.
"""

VECTORS_OF_CHANNELS = 2
"""How many vectors of output channels a tile of a convolution is wide."""


def most_rows(row_nbytes: int, l1_nbytes: int) -> int:
    """
    Returns how many rows a tile may have that are `row_nbytes` apart, for the first cache to hold a line of
    each beside what else is read.
    """
    return min(rows_held(row_nbytes, l1_nbytes), MOST_ROWS)


def rows_held(row_nbytes: int, l1_nbytes: int) -> int:
    """Returns of how many rows `row_nbytes` apart the first cache holds a line beside what else is read."""
    in_one_place = max(l1_nbytes // WAY_NBYTES * 2 // 3, LEAST_ROWS_IN_ONE_PLACE)
    return in_one_place * (WAY_NBYTES // gcd(row_nbytes, WAY_NBYTES))


@lru_cache(1024)
def tile_shape(
    rows: int, columns: int, lanes: int, registers: int, most_rows: int = MOST_ROWS
) -> tuple[int, int]:
    """
    Returns the rows, up to `most_rows`, and columns of the tile that takes the least time for a result of
    `rows` x `columns` elements, in vectors of `lanes` of which there are `registers`; what fills no whole
    tile is included.
    """
    vectors = -(-columns // lanes)
    shapes = [
        (_time(rows, vectors, tall, wide) * (ONCE if wide == vectors else 1), tall, wide)
        for tall in range(1, min(rows, most_rows) + 1)
        for wide in range(1, min(vectors, most_vectors(tall, registers)) + 1)
    ]
    least, tall, wide = min(shapes, key=lambda shape: (shape[0], -shape[1] * shape[2]))
    if wide < vectors:
        equal = [shape[1:] for shape in shapes if shape[0] <= ABOUT * least]
        tall, wide = max(equal, key=lambda shape: shape[0] * shape[1] / (shape[0] + shape[1] * lanes))
    return tall, min(wide * lanes, columns)


def rows_beside(
    wide: int, rows: int, columns: int, lanes: int, registers: int, most_rows: int = MOST_ROWS
) -> int:
    """
    Returns the rows of a tile that has `wide` columns, which need not be the best: those of the best tile,
    and where that is not as wide, no more of them than there are registers for.
    """
    tall, own = tile_shape(rows, columns, lanes, registers, most_rows)
    while own != wide and tall > 1 and most_vectors(tall, registers) * lanes < wide:
        tall -= 1
    return tall


def most_vectors(rows: int, registers: int) -> int:
    """Returns how many vectors wide a tile of that many rows can be, with one row of factors beside it."""
    return max(registers // REGISTERS_FOR_A_SUM, 1) if rows == 1 else (registers - 1) // (rows + 1)


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
