"""What a tile prefetches of what the next one reads."""

from __future__ import annotations

import pytest
from tenon.passes.low.lowering.tiles.tile_prefetch import Prefetched, prefetched


def covered(found: Prefetched, depth: int, shares: int) -> set[int]:
    return {
        tile * found.share + k * found.step + number
        for tile in range(shares)
        for k in range(depth)
        for number in range(found.count)
    }


CASES = {
    "a panel": (100, 48, 48, 1, 1),
    "a panel for many tiles": (100, 48, 48, 1, 16),
    "a panel for more tiles than it has columns": (10, 16, 16, 1, 40),
    "rows one behind the other": (100, 1, 8, 100, 1),
    "rows with some room between them": (100, 1, 8, 150, 1),
    "rows in a panel": (100, 8, 8, 1, 1),
    "columns of rows far apart": (100, 1024, 48, 1, 1),
    "one step": (1, 5, 4, 1, 3),
}


@pytest.mark.parametrize("name", CASES)
def test_all_that_the_next_tile_reads_is_prefetched(name: str):
    depth, depth_step, tile, stride, shares = CASES[name]
    found = prefetched(depth, depth_step, tile, stride, shares)
    assert found is not None
    reads = {k * depth_step + number * stride for k in range(depth) for number in range(tile)}
    fetched = covered(found, depth, shares)
    assert reads <= fetched
    assert len(fetched) <= 2 * len(reads) + depth * shares


def test_what_lies_scattered_is_not_prefetched():
    assert prefetched(100, 1, 8, 1000, 1) is None
    assert prefetched(100, 1024, 48, 1, 2) is None
    assert prefetched(100, 7, 8, 1000, 1) is None
