"""Elements chosen by conditions, put between others, and put on diagonals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays.array import Array
from ...arrays.concrete import as_concrete
from ..arguments.operands import Operand
from ..creation import asarray, diag
from ..dtypes import astype
from ..indexing import take
from ..manipulation import broadcast_to, concat, moveaxis, reshape
from ..values import values_of
from .layouts import flatnonzero, with_axis

__all__ = ["compress", "diagflat", "extract", "insert"]


def compress(condition: Operand, x: Operand, /, axis: int | None = None) -> Array:
    """
    The slices along `axis`, the elements in row-major order where that is None, for which a condition of rank
    1 holds; those behind its end are left out.

    Raises:
        IndexError: it holds for a place that is not there.
        TracingError: it is traced.
        ValueError: it has another rank than 1.
    """
    chosen = asarray(condition)
    if chosen.ndim != 1:
        raise ValueError(f"compress: the condition has shape {chosen.shape}, expected one axis")
    source, along = with_axis("compress", x, axis)
    places = np.asarray(flatnonzero(chosen))
    if places.size and places[-1] >= source.shape[along]:
        raise IndexError(
            f"compress: the condition holds for place {places[-1]} of {source.shape[along]} (axis {along})"
        )
    return take(source, as_concrete(places), along)


def extract(condition: Operand, x: Operand, /) -> Array:
    """The elements in row-major order for which a condition holds; else as `compress`."""
    return compress(reshape(asarray(condition), (-1,)), x)


def insert(
    x: Operand, obj: int | slice | Sequence[int] | Array, values: Operand, /, axis: int | None = None
) -> Array:
    """
    Puts values before places along `axis`, in row-major order where that is None; places are those of `x`.
    At one place there may be several: along `axis` of the values, along their first axis if the place is an
    integer and not a sequence.

    Raises:
        AxisError: there is no such axis.
        IndexError: a place is not there.
        TracingError: the places are a traced array.
        ValueError: the values do not broadcast to what is put there.
    """
    given = asarray(values)
    source, along = with_axis("insert", x, axis)
    extent = source.shape[along]
    known = values_of("insert", obj, "tenon.numpy.concat") if isinstance(obj, Array) else obj
    places = np.arange(extent)[known] if isinstance(known, slice) else np.asarray(known)
    for place in places.ravel():
        if not -extent <= place <= extent:
            raise IndexError(f"insert: {place} is not from {-extent} to {extent} (axis {along})")
    if given.ndim < source.ndim:
        given = reshape(given, (*(1,) * (source.ndim - given.ndim), *given.shape))
    # As in numpy: at one place there may be several, which an integer has along the first axis.
    if not places.ndim:
        given = moveaxis(given, 0, along)
    count = given.shape[along] if places.size == 1 else places.size
    at = places.reshape(()) if places.size == 1 else places if places.size else places.astype(int)
    order = np.insert(np.arange(extent), at, extent + np.arange(count))
    shape = (*source.shape[:along], count, *source.shape[along + 1 :])
    joined = concat([source, astype(broadcast_to(given, shape), source.dtype)], axis=along)
    return take(joined, as_concrete(order), along)


def diagflat(x: Operand, /, k: int = 0) -> Array:
    """A matrix with the elements in row-major order on a diagonal, the `k`-th above the main one, else 0."""
    return diag(reshape(asarray(x), (-1,)), k)
