"""Giving an array another sharding: who sends which part of it to whom."""

from __future__ import annotations

from bisect import bisect

import numpy as np

from ...dialects.collective import Collective
from ...semantics.world import CHANNEL, Request
from ..arrays.concrete import NumpyArray
from .boxes import Box, bounds, common, copy_common, extents, overlap, within
from .sharded_array import ShardedArray
from .sharding import Sharding


def exchanged(shape: tuple[int, ...], source: Sharding, target: Sharding, local: NumpyArray) -> NumpyArray:
    """
    Returns what this rank has of an array by `target`, of what it has of it by `source`. A rank sends to
    another only what that lacks, and what several have one of them sends.

    In round k rank r sends to rank r + k, so that all send and receive at once; all rounds are begun before
    the first is awaited.

    Raises:
        RankError: another rank has ended, or failed.
    """
    mesh, size = target.mesh, target.mesh.size
    sources = [source.box(shape, rank) for rank in range(size)]
    targets = [target.box(shape, rank) for rank in range(size)]
    result = np.empty(target.local_shape(shape), local.dtype)
    mine, wanted = sources[mesh.rank], targets[mesh.rank]
    copy_common(result, wanted, local, mine)
    senders = _senders(sources, targets)
    begun: list[tuple[Request, Box, NumpyArray, bool]] = []
    for distance in range(1, size):
        pairs = tuple(
            (rank, (rank + distance) % size)
            for rank in range(size)
            if (rank, (rank + distance) % size) in senders
        )
        if not pairs:
            continue
        to, of = (mesh.rank + distance) % size, (mesh.rank - distance) % size
        sent, got = common(mine, targets[to]), common(sources[of], wanted)
        receives = (of, mesh.rank) in pairs
        operand = np.ascontiguousarray(local[within(sent, mine)] if (mesh.rank, to) in pairs else local[:0])
        buffer = np.empty(extents(got) if receives else (0,), local.dtype)
        collective = Collective(
            "collective_permute", CHANNEL, mesh.shape, tuple(range(len(mesh.shape))), pairs=pairs
        )
        begun.append((mesh.world.begin(collective, operand, buffer), got, buffer, receives))
    for request, box, buffer, receives in begun:
        request.wait()
        if receives:
            result[within(box, wanted)] = buffer
    return result


def assembled(array: ShardedArray, box: Box, rank: int = 0) -> NumpyArray:
    """
    Returns a part of an array whose parts are all here, on devices; `rank` is where it is wanted, and what
    that has itself is not taken from others.
    """
    sources: dict[tuple[tuple[int, int], ...], tuple[Box, NumpyArray]] = {}
    wanted = np.empty(extents(box), array.dtype)
    mesh = array.sharding.mesh
    for owner in (rank, *mesh.here[:rank], *mesh.here[rank + 1 :]):
        own = array.sharding.box(array.shape, owner)
        sources.setdefault(bounds(own), (own, array.parts[owner].values))
    for own, values in sources.values():
        copy_common(wanted, box, values, own)
        if common(box, own) == box:
            break
    return wanted


def _senders(sources: list[Box], targets: list[Box]) -> set[tuple[int, int]]:
    """
    Returns who sends to whom: of the ranks that have the same part, the one that comes next after the
    receiver sends it, unless the receiver has it too.
    """
    size = len(sources)
    owners: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for rank, box in enumerate(sources):
        owners.setdefault(bounds(box), []).append(rank)
    pairs: set[tuple[int, int]] = set()
    for ranks in owners.values():
        part, having = sources[ranks[0]], set(ranks)
        for receiver in range(size):
            if receiver in having or not overlap(part, targets[receiver]):
                continue
            place = bisect(ranks, receiver) % len(ranks)
            pairs.add((ranks[place], receiver))
    return pairs
