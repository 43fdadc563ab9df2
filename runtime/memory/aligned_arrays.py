"""Arrays of the host that begin where lines of the cache do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dialects.buffer_size import ALIGNMENT

GROUP_NBYTES = 64 << 20
"""
How much memory arrays side by side have together, the last one's rest besides. One that somebody keeps keeps
the group.
"""

LARGE_PAGE_NBYTES = 2 << 20
"""The large pages of most processors: x86-64's, and AArch64's with pages of 4 KiB."""


def aligned_zeros(dims: Sequence[int], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Returns an array of zeros that starts at a multiple of `ALIGNMENT` bytes."""
    return _aligned(np.zeros, dims, dtype)


def aligned_empty(dims: Sequence[int], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Returns an array to be filled that starts at a multiple of `ALIGNMENT` bytes."""
    return _aligned(np.empty, dims, dtype)


def aligned_side_by_side(types: Sequence[tuple[Sequence[int], np.dtype[Any]]]) -> list[npt.NDArray[Any]]:
    """
    Returns arrays to be filled of these dims and dtypes that start at multiples of `ALIGNMENT` bytes, one
    behind the other in common memory, which is of whole large pages where it has several. Of 4 MiB and more
    numpy asks the kernel for such: a program that reads many arrays, each of them less, would look up each of
    their pages of 4 KiB in every call.
    """
    places: list[tuple[int, int]] = []
    groups = [0]
    for dims, dtype in types:
        if groups[-1] >= GROUP_NBYTES:
            groups.append(0)
        places.append((len(groups) - 1, groups[-1]))
        groups[-1] += -(-prod(dims) * dtype.itemsize // ALIGNMENT) * ALIGNMENT
    memories = [_in_pages(nbytes) for nbytes in groups]
    return [
        memories[group][start : start + prod(dims) * dtype.itemsize].view(dtype).reshape(tuple(dims))
        for (group, start), (dims, dtype) in zip(places, types, strict=True)
    ]


def _in_pages(nbytes: int) -> npt.NDArray[np.uint8]:
    page = LARGE_PAGE_NBYTES
    if nbytes < 2 * page:
        return aligned_empty((nbytes,), np.dtype(np.uint8))
    memory = np.empty(-(-nbytes // page) * page + page, np.uint8)
    return memory[-memory.ctypes.data % page :][:nbytes]


def _aligned(
    make: Callable[[int, type[np.uint8]], npt.NDArray[np.uint8]], dims: Sequence[int], dtype: np.dtype[Any]
) -> npt.NDArray[Any]:
    nbytes = prod(dims) * dtype.itemsize
    memory = make(nbytes + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + nbytes].view(dtype).reshape(tuple(dims))
