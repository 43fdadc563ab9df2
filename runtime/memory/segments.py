"""The layout of the tensors of one allocation: in as few pools as their limit allows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...dialects.buffer_size import in_a_row
from ...errors import OutOfMemoryError

POOL_LIMIT = 1 << 32
"""The most bytes of a pool whose offsets are 32 bits."""


@dataclass(frozen=True)
class Request:
    """A tensor to place; `name` is what errors call it."""

    name: str
    nbytes: int


@dataclass(frozen=True)
class Segment:
    """One pool: `offsets` are those of the requests of these numbers."""

    nbytes: int
    payload_nbytes: int
    offsets: dict[int, int]


def aligned(nbytes: int) -> int:
    """Returns `nbytes` rounded up to the alignment, and at least that: what has no elements has a place."""
    return offsets_of([nbytes])[-1]


def offsets_of(sizes: Iterable[int]) -> list[int]:
    """Returns what `in_a_row` of dialects/buffer_size.py does, where what has no elements has a place too."""
    return in_a_row(max(nbytes, 1) for nbytes in sizes)


def pack(requests: Sequence[Request], limit: int) -> list[Segment]:
    """
    Places tensors one after the other in pools of at most `limit` bytes, each in the first pool with room.

    Raises:
        OutOfMemoryError: one alone is above the limit; the message names it.
    """
    sizes: list[int] = []
    pools: list[list[int]] = []
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
            pools.append([])
        pools[pool].append(number)
        sizes[pool] += nbytes
    return [_segment({number: requests[number].nbytes for number in pool}) for pool in pools]


def _segment(sizes: Mapping[int, int]) -> Segment:
    *offsets, nbytes = offsets_of(sizes.values())
    return Segment(nbytes, sum(sizes.values()), dict(zip(sizes, offsets, strict=True)))
