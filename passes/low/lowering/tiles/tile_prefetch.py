"""Which elements of what the next register tile reads are prefetched at which step of this one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prefetched:
    """
    Step k of the depth prefetches `count` elements from `start + k * step` on, where `start` is `share`
    elements further on for each tile that fetches a share.
    """

    share: int
    step: int
    count: int


def prefetched(depth: int, depth_step: int, tile: int, stride: int, shares: int) -> Prefetched | None:
    """
    Returns how `shares` tiles, of `depth` steps each, prefetch what one tile reads of one side: `tile`
    elements `stride` apart, and those `depth_step` further on for each step of the depth. None where these
    lie scattered: with more elements between them than there are, and more than one tile to share them.
    """
    width = (tile - 1) * stride + 1
    whole = width + (depth - 1) * depth_step
    if whole <= 2 * tile * depth:
        step = -(-whole // (depth * shares))
        return Prefetched(depth * step, step, step)
    if width <= 2 * tile and shares == 1:
        return Prefetched(0, depth_step, width)
    return None
