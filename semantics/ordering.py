"""`graph.sort`, `graph.argsort` and `graph.search_sorted` on numpy arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..dialects.graph import SortedSide
from .numpy_types import Array, is_floating, widened


def argsort(source: Array, axis: int, descending: bool) -> npt.NDArray[np.int64]:
    """Returns where along `axis` the elements stand in order; equal ones, and NaN, keep theirs."""
    key = widened(source)
    if descending:
        key = -key if is_floating(source.dtype) else ~key
    return np.argsort(key, axis=axis, kind="stable").astype(np.int64)


def sort(source: Array, axis: int, descending: bool) -> Array:
    """Returns the elements in order along `axis`: NaN last, equal ones in the order that they had."""
    return np.take_along_axis(source, argsort(source, axis, descending), axis)


def search_sorted(sorted: Array, values: Array, side: SortedSide) -> npt.NDArray[np.int64]:
    """Returns how many elements of `sorted` a binary search finds before each of `values`."""
    elements, wanted = widened(sorted), widened(values)
    begin = np.zeros(values.shape, np.int64)
    if not (left := len(sorted)):
        return begin

    def is_before(found: Array) -> npt.NDArray[np.bool_]:
        return _less(found, wanted) if side is SortedSide.LEFT else ~_less(wanted, found)

    while left > 1:
        half = left // 2
        begin = np.where(is_before(elements[begin + half]), begin + half, begin)
        left -= half
    return begin + is_before(elements[begin])


def _less(lhs: Array, rhs: Array) -> npt.NDArray[np.bool_]:
    """Returns whether `lhs` comes before `rhs`; NaN comes last."""
    return (lhs < rhs) | ((rhs != rhs) & (lhs == lhs))
