"""Whether ranks that have the same part of an array have the same bytes of it, in a checking mode."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from ...errors import RankError
from ...semantics.world import told
from ..arrays.concrete import as_concrete
from .boxes import bounds
from .mesh import Mesh
from .sharded_array import ShardedArray

CHECK_RANKS = "TENON_CHECK_RANKS"
"""The environment variable that turns the checks on."""

_DIGEST_NBYTES = 16


def are_compared(mesh: Mesh) -> bool:
    """Returns whether the environment asks for it; devices of one process are given the same by that."""
    return mesh.group is None and os.environ.get(CHECK_RANKS, "0") not in ("", "0")


def check_replicas(mesh: Mesh, who: str, arrays: Sequence[Any], each: str = "argument") -> None:
    """
    Compares arrays between ranks, where the environment asks for it: those that are not sharded are the same
    on all, and of a sharded one the parts that several ranks have. All ranks call it with as many; errors
    call them `each`, with a number.

    Raises:
        RankError: ranks have other bytes than the first that has the same part.
    """
    if not arrays or not are_compared(mesh):
        return
    world = mesh.world
    world.begin_check(b"", f"{each}s of {who}").wait()
    found = told(world, b"".join(map(_digest, arrays)))
    for number, array in enumerate(arrays):
        first: dict[tuple[tuple[int, int], ...], int] = {}
        digest = found[:, number * _DIGEST_NBYTES : (number + 1) * _DIGEST_NBYTES]
        for rank in range(mesh.size):
            place: tuple[tuple[int, int], ...] = ()
            if isinstance(array, ShardedArray):
                place = bounds(array.sharding.box(array.shape, rank))
            other = first.setdefault(place, rank)
            if (digest[rank] != digest[other]).any():
                what = "part of a sharded array" if isinstance(array, ShardedArray) else "array on all ranks"
                raise RankError(
                    f"{who}: {each} {number} is the same {what}, and rank {rank} has another one than rank "
                    f"{other}",
                    rank,
                )


def _digest(array: Any) -> bytes:
    values = array.local.values if isinstance(array, ShardedArray) else as_concrete(array).values
    text = f"{values.dtype} {values.shape}".encode()
    return sha256(text + np.ascontiguousarray(values).tobytes()).digest()[:_DIGEST_NBYTES]
