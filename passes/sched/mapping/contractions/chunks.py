"""
How much of a contraction a work-group takes at once: chunks of rows and columns, and blocks of the depth,
that the caches hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt, prod

from ....machine.target import Target
from .contraction import Contraction, products_of_all

WORK_OF_A_GROUP = 1 << 20
"""Products that a work-group should add at least, and groups of each thread, if there are as many."""
GROUPS_OF_A_THREAD = 8

MOST_NBYTES_OF_CHUNKS = 1 << 20
"""
How much of the second cache chunks are made for. With all of 2 MiB (Sapphire Rapids) a product of 2048 x 2048
takes 1.04 of the time: `python -m benchmarks.thresholds MOST_NBYTES_OF_CHUNKS`.
"""

LEAST_CHUNK = 128
"""Rows and columns of a chunk, at least, which decide how much of the depth the second cache holds."""

PRIVATE_SUMS = 96 * 96
PRIVATE_SUMS_OF_BLOCKS = 64 * 384
"""The most sums that a work-group keeps in private memory; the same where it takes blocks of panels."""

LEAST_BLOCKS = 3
"""A depth of fewer blocks is taken at once, with fewer rows."""


def depth_block(contraction: Contraction, target: Target) -> int | None:
    """Returns how many steps of the depth are taken at once, if not all of them."""
    tile, depth = contraction.tile, contraction.depth
    if len(contraction.products) > 1 or tile.rows is None or contraction.extents[0] < 4 * tile.tall:
        return None
    steps = cache_nbytes(target) // (LEAST_CHUNK * 2 * contraction.nbytes)
    inner = depth // contraction.analysis.most(contraction.products[0].dims[0])
    steps = max(steps // inner, 1) * inner
    return steps if LEAST_BLOCKS * steps <= depth else None


def prefetches(contraction: Contraction, target: Target) -> bool:
    """
    Returns whether tiles prefetch what the next ones read: where columns lie in panels, and all panels leave
    no room for anything else in the second cache.
    """
    tile = contraction.tile
    nbytes = contraction.depth * contraction.extents[-1] * contraction.nbytes
    return (
        len(contraction.products) == 1
        and tile.rows is not None
        and not tile.is_one_row
        and tile.panel is not None
        and nbytes > target.l2_nbytes // 2
    )


def chunks_of(contraction: Contraction, block: int | None, in_panels: bool, target: Target) -> list[int]:
    """
    Returns how many rows and columns a work-group takes, of `block` steps of the depth at once, None for all;
    `in_panels` is for panels that are prefetched.
    """
    chunks = _fitting_chunks(contraction, block, target)
    if in_panels:
        chunks = _chunks_of_panels(contraction, chunks, block is not None, target)
    return _smaller_chunks(contraction, chunks, GROUPS_OF_A_THREAD * target.n_threads)


def cache_nbytes(target: Target) -> int:
    """Returns how much of the second cache chunks may take."""
    return min(target.l2_nbytes, MOST_NBYTES_OF_CHUNKS)


def _fitting_chunks(contraction: Contraction, block: int | None, target: Target) -> list[int]:
    """Returns chunks of which the second cache holds one of either side beside one of the other."""
    most = cache_nbytes(target) // 2 // ((block or contraction.depth) * contraction.nbytes)
    if block is not None and contraction.has_follow_up:
        # All sums of a work-group are in its private memory then.
        most = min(most, isqrt(PRIVATE_SUMS))
    return [
        min(max(most // size, 1) * size, -(-extent // size) * size)
        for extent, size in zip(contraction.extents, contraction.sizes, strict=True)
    ]


def _chunks_of_panels(
    contraction: Contraction, chunks: Sequence[int], in_blocks: bool, target: Target
) -> list[int]:
    """
    Returns chunks of one panel, with as many rows as the cache holds beside it; of blocks of the depth,
    columns for as many sums.
    """
    rows, (tall, wide) = chunks[0], contraction.sizes
    columns = wide
    if in_blocks:
        most = cache_nbytes(target) // 2 // contraction.nbytes
        if contraction.has_follow_up:
            most = PRIVATE_SUMS_OF_BLOCKS
            rows = min(rows, max(LEAST_CHUNK // 2 // tall, 1) * tall)
        columns = max(most // rows // wide, 1) * wide
    return [rows, columns]


def _smaller_chunks(contraction: Contraction, chunks: list[int], groups: int) -> list[int]:
    """Returns chunks that give so many work-groups, where there is work for them."""
    extents, sizes = contraction.extents, contraction.sizes
    outer, wanted = (
        prod(contraction.outer_extents),
        min(groups, products_of_all(contraction) // WORK_OF_A_GROUP),
    )
    while outer * prod(-(-extent // chunk) for extent, chunk in zip(extents, chunks, strict=True)) < wanted:
        ratios = [chunk // size for chunk, size in zip(chunks, sizes, strict=True)]
        number = max(range(len(ratios)), key=lambda each: (ratios[each], each))
        if ratios[number] == 1:
            break
        chunks[number] = -(-ratios[number] // 2) * sizes[number]
    return [_even(chunk, extent, size) for chunk, extent, size in zip(chunks, extents, sizes, strict=True)]


def _even(chunk: int, extent: int, size: int) -> int:
    """Returns a chunk of whole tiles, about as large, of which the last is no much smaller one."""
    groups = -(-extent // chunk)
    return (extent + groups * size - 1) // (groups * size) * size
