"""
Functions whose results have as many elements as the values say: of arrays that have values they are computed
by numpy's sorts, of traced ones they are errors.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays.array import Array
from ..arrays.concrete import NumpyArray, as_concrete
from .values import values_of

__all__ = ["unique_all", "unique_counts", "unique_inverse", "unique_values"]

_HINT = "call it outside of the function, or tenon.numpy.sort and tenon.numpy.diff inside"


class UniqueAllResult(NamedTuple):
    """What `unique_all` gives."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """What `unique_counts` gives."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """What `unique_inverse` gives."""

    values: Array
    inverse_indices: Array


def _is_first(ordered: NumpyArray) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Returns which elements of a row in order differ from the one before; NaN differs from every other."""
    is_first = np.ones(ordered.shape, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return is_first


def _in_order(row: NumpyArray) -> tuple[NumpyArray, NumpyArray]:
    """
    Returns the order of the elements of a row, and the elements in this order. NaN keep the order that they
    have, other equal elements need not: a sort that keeps no order takes a fifth of the time.
    """
    order = np.argsort(row)
    ordered = row[order]
    n_nan = int(np.count_nonzero(ordered != ordered))
    if n_nan > 1:
        order[-n_nan:].sort()
    return order, ordered


def _counts(starts: NumpyArray, size: int) -> NumpyArray:
    """Returns how many elements there are from each start to the next one, or to the end."""
    return np.diff(starts, append=size)


def _inverse(order: NumpyArray, is_first: NumpyArray, shape: tuple[int, ...]) -> NumpyArray:
    """Returns which of the distinct elements each element is, given the order of all of them."""
    inverse = np.empty(order.shape, np.int64)
    inverse[order] = np.cumsum(is_first, dtype=np.int64) - 1
    return inverse.reshape(shape)


def unique_all(x: Array, /) -> UniqueAllResult:
    """
    Returns the distinct elements in order, where each is first in `x` in row-major order, which of them each
    element of `x` is, and how often each is there. Every NaN is an element of its own.

    Raises TracingError for a traced array.
    """
    values = values_of("unique_all", x, _HINT)
    row = values.ravel()
    order, ordered = _in_order(row)
    is_first = _is_first(ordered)
    starts = np.flatnonzero(is_first)
    indices = np.minimum.reduceat(order, starts) if row.size else order
    counts, inverse = _counts(starts, row.size), _inverse(order, is_first, values.shape)
    return UniqueAllResult(*map(as_concrete, (row[indices], indices, inverse, counts)))


def unique_counts(x: Array, /) -> UniqueCountsResult:
    """Returns the distinct elements in order, and how often each is there. Else as `unique_all`."""
    ordered = np.sort(values_of("unique_counts", x, _HINT), axis=None)
    is_first = _is_first(ordered)
    counts = _counts(np.flatnonzero(is_first), ordered.size)
    return UniqueCountsResult(as_concrete(ordered[is_first]), as_concrete(counts))


def unique_inverse(x: Array, /) -> UniqueInverseResult:
    """
    Returns the distinct elements in order, and which of them each element of `x` is. Else as `unique_all`.
    """
    values = values_of("unique_inverse", x, _HINT)
    order, ordered = _in_order(values.ravel())
    is_first = _is_first(ordered)
    inverse = _inverse(order, is_first, values.shape)
    return UniqueInverseResult(as_concrete(ordered[is_first]), as_concrete(inverse))


def unique_values(x: Array, /) -> Array:
    """Returns the distinct elements in order. Else as `unique_all`."""
    ordered = np.sort(values_of("unique_values", x, _HINT), axis=None)
    return as_concrete(ordered[_is_first(ordered)])
