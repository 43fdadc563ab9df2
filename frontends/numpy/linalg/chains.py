"""Products of several matrices, in the order that takes the fewest multiplications."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ...arrays.array import Array
from ..arguments.axes import is_known
from ..creation import asarray
from ..manipulation import reshape
from ..products.linear_algebra import matmul

__all__ = ["multi_dot"]


def multi_dot(arrays: Sequence[Array], /) -> Array:
    """
    The product of two or more matrices, of which the first may be a row and the last a column of rank 1.
    Which two are multiplied first is chosen so that there are the fewest multiplications (Cormen et al.,
    Introduction to Algorithms, matrix-chain multiplication).

    Raises ValueError for fewer than two arrays, other ranks, extents that do not fit, and open ones.
    """
    matrices = [asarray(each) for each in arrays]
    if len(matrices) < 2:
        raise ValueError(f"multi_dot: {len(matrices)} arrays, expected 2 or more")
    is_row, is_column = matrices[0].ndim == 1, matrices[-1].ndim == 1
    if is_row:
        matrices[0] = reshape(matrices[0], (1, -1))
    if is_column:
        matrices[-1] = reshape(matrices[-1], (-1, 1))
    for number, matrix in enumerate(matrices):
        if matrix.ndim != 2:
            raise ValueError(f"multi_dot: array {number} has shape {matrix.shape}, expected two axes")
        if not all(map(is_known, matrix.shape)):
            raise ValueError(f"multi_dot: array {number} has an open extent (shape {matrix.shape})")
    for number, (one, other) in enumerate(pairwise(matrices)):
        if one.shape[1] != other.shape[0]:
            raise ValueError(
                f"multi_dot: arrays {number} and {number + 1} do not fit: {one.shape} and {other.shape}"
            )
    splits = _splits([matrices[0].shape[0], *(matrix.shape[1] for matrix in matrices)])

    def product(first: int, last: int) -> Array:
        if first == last:
            return matrices[first]
        split = splits[first, last]
        return matmul(product(first, split), product(split + 1, last))

    result = product(0, len(matrices) - 1)
    shape = (*(() if is_row else result.shape[:1]), *(() if is_column else result.shape[1:]))
    return reshape(result, shape)


def _splits(extents: Sequence[int]) -> dict[tuple[int, int], int]:
    """Returns behind which matrix the product of each range of them, first and last, is cut in two."""
    count = len(extents) - 1
    costs = {(number, number): 0 for number in range(count)}
    splits: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            costs[first, last], splits[first, last] = min(
                (
                    costs[first, split]
                    + costs[split + 1, last]
                    + extents[first] * extents[split + 1] * extents[last + 1],
                    split,
                )
                for split in range(first, last)
            )
    return splits
