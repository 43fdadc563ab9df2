"""Arrays of the host that begin where lines of the cache do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dialects.buffer_size import ALIGNMENT


def aligned_zeros(dims: Sequence[int], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Returns an array of zeros that starts at a multiple of `ALIGNMENT` bytes."""
    return _aligned(np.zeros, dims, dtype)


def aligned_empty(dims: Sequence[int], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Returns an array to be filled that starts at a multiple of `ALIGNMENT` bytes."""
    return _aligned(np.empty, dims, dtype)


def _aligned(
    make: Callable[[int, type[np.uint8]], npt.NDArray[np.uint8]], dims: Sequence[int], dtype: np.dtype[Any]
) -> npt.NDArray[Any]:
    nbytes = prod(dims) * dtype.itemsize
    memory = make(nbytes + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + nbytes].view(dtype).reshape(tuple(dims))
