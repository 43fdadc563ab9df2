"""Sets of the values of arrays, in order. What is traced has no values: these are for outside of a `jit`."""

from __future__ import annotations

from ...arrays.array import Array
from ..creation import asarray
from ..manipulation import concat, reshape
from ..sets import unique_all, unique_values
from .counting import isin

__all__ = ["intersect1d", "setdiff1d", "setxor1d", "union1d", "unique"]


def unique(
    x: Array, /, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False
) -> Array | tuple[Array, ...]:
    """
    The values of the elements in order, each once; with them, where it is asked for, the place in row-major
    order of the first of each, the place of each element's value, and how many there are of each. Every NaN
    is a value of its own, as in `unique_all`.

    Raises TracingError where `x` is traced.
    """
    found = unique_all(asarray(x))
    asked = (return_index, return_inverse, return_counts)
    more = [part for part, wanted in zip(found[1:], asked, strict=True) if wanted]
    return (found[0], *more) if more else found[0]


def union1d(x1: Array, x2: Array, /) -> Array:
    """The values that are in one of two arrays, in order. Raises TracingError where one is traced."""
    return unique_values(concat([reshape(asarray(x1), (-1,)), reshape(asarray(x2), (-1,))]))


def intersect1d(x1: Array, x2: Array, /) -> Array:
    """The values that are in both of two arrays, in order. Raises TracingError where one is traced."""
    values = unique_values(asarray(x1))
    return values[isin(values, x2)]


def setdiff1d(x1: Array, x2: Array, /) -> Array:
    """
    The values that are in the first of two arrays and not in the second, in order. Raises TracingError where
    one is traced.
    """
    values = unique_values(asarray(x1))
    return values[isin(values, x2, invert=True)]


def setxor1d(x1: Array, x2: Array, /) -> Array:
    """The values that are in one of two arrays and not in both, in order; else as `union1d`."""
    both = concat([unique_values(asarray(x1)), unique_values(asarray(x2))])
    values, counts = unique(both, return_counts=True)
    return values[counts == 1]
