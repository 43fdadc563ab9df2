"""Where the tensors of one allocation lie: in as few pools as their limit allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import OutOfMemoryError

ALIGNMENT = 64
"""Bytes that tensors within a pool, and pools, are aligned to."""

POOL_LIMIT = 1 << 32
"""The most bytes of a pool whose offsets are 32 bits."""


@dataclass(frozen=True)
class Request:
    """A tensor to place; `name` is what errors call it."""

    name: str
    nbytes: int


@dataclass(frozen=True)
class Segment:
    """One pool: `offsets` are the places of the requests of these numbers."""

    nbytes: int
    payload_nbytes: int
    offsets: dict[int, int]


def aligned(nbytes: int) -> int:
    """Returns `nbytes` rounded up to `ALIGNMENT`, and at least that: what has no elements has a place."""
    return max(-(-nbytes // ALIGNMENT), 1) * ALIGNMENT


def pack(requests: Sequence[Request], limit: int) -> list[Segment]:
    """
    Places tensors one after the other in pools of at most `limit` bytes, each in the first pool with room.

    Raises:
        OutOfMemoryError: one alone is above the limit; the message names it.
    """
    sizes: list[int] = []
    payloads: list[int] = []
    offsets: list[dict[int, int]] = []
    for number, request in enumerate(requests):
        nbytes = aligned(request.nbytes)
        if nbytes > limit:
            hint = " (hint: large_offsets=True lifts the limit)" if limit == POOL_LIMIT else ""
            raise OutOfMemoryError(
                f"{request.name}: {request.nbytes} bytes do not fit into a pool of at most {limit}{hint}"
            )
        pool = next((i for i, size in enumerate(sizes) if size + nbytes <= limit), len(sizes))
        if pool == len(sizes):
            sizes.append(0)
            payloads.append(0)
            offsets.append({})
        offsets[pool][number] = sizes[pool]
        sizes[pool] += nbytes
        payloads[pool] += request.nbytes
    return [Segment(*parts) for parts in zip(sizes, payloads, offsets, strict=True)]
