"""
Functions whose results have as many elements as the values say. numpy computes them on arrays that have
values; of traced ones they are errors.
"""

from __future__ import annotations

from typing import NamedTuple

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


def _unique(who: str, x: Array) -> tuple[NumpyArray, NumpyArray, NumpyArray, NumpyArray]:
    values = values_of(who, x, _HINT)
    found, indices, inverse, counts = np.unique(
        values, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    return found, indices, inverse.reshape(values.shape), counts


def unique_all(x: Array, /) -> UniqueAllResult:
    """
    Returns the distinct elements in order, where each is first in `x` in row-major order, which of them each
    element of `x` is, and how often each is there. Every NaN is an element of its own.

    Raises TracingError for a traced array.
    """
    return UniqueAllResult(*map(as_concrete, _unique("unique_all", x)))


def unique_counts(x: Array, /) -> UniqueCountsResult:
    """Returns the distinct elements in order, and how often each is there. Else as `unique_all`."""
    values, _, _, counts = _unique("unique_counts", x)
    return UniqueCountsResult(as_concrete(values), as_concrete(counts))


def unique_inverse(x: Array, /) -> UniqueInverseResult:
    """
    Returns the distinct elements in order, and which of them each element of `x` is. Else as `unique_all`.
    """
    values, _, inverse, _ = _unique("unique_inverse", x)
    return UniqueInverseResult(as_concrete(values), as_concrete(inverse))


def unique_values(x: Array, /) -> Array:
    """Returns the distinct elements in order. Else as `unique_all`."""
    return as_concrete(np.unique(values_of("unique_values", x, _HINT), equal_nan=False))
