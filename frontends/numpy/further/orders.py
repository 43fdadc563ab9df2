"""Orders of which less is asked than that all is sorted, and of several keys."""

from __future__ import annotations

from collections.abc import Sequence

from ...arrays.array import Array
from ...calls.dispatch import array_function
from ..arguments.axes import axis_of, integer_of, is_known
from ..creation import asarray
from ..indexing import take_along_axis
from ..sorting import argsort, sort
from .layouts import with_axis

__all__ = ["argpartition", "lexsort", "partition"]

Places = int | Sequence[int]


@array_function(static=("kth", "axis"))
def partition(x: Array, kth: Places, /, axis: int | None = -1) -> Array:
    """
    The elements along `axis`, of all in row-major order where that is None, so that those at the places `kth`
    are where sorting puts them, no greater one before them and no smaller one after them. All are sorted
    here, which is one of the orders that this allows.

    Raises:
        AxisError: there is no such axis.
        ValueError: a place is not there.
    """
    source, along = _placed("partition", x, kth, axis)
    return sort(source, along)


@array_function(static=("kth", "axis"))
def argpartition(x: Array, kth: Places, /, axis: int | None = -1) -> Array:
    """The indices, in int64, of what `partition` gives; else as that."""
    source, along = _placed("argpartition", x, kth, axis)
    return argsort(source, along)


def _placed(who: str, x: Array, kth: Places, axis: int | None) -> tuple[Array, int]:
    source, along = with_axis(who, x, axis)
    extent = source.shape[along]
    for place in kth if isinstance(kth, Sequence) else (kth,):
        number = integer_of(who, "kth", place)
        if is_known(extent) and not -extent <= number < extent:
            raise ValueError(f"{who}: kth is {number}, for {extent} elements (axis {along})")
    return source, along


@array_function(static=("axis",))
def lexsort(keys: Array | Sequence[Array], /, axis: int = -1) -> Array:
    """
    The indices, in int64, of elements along `axis` in the order of several keys, arrays of one shape: of the
    last one, of equal ones of the one before, and so on.

    Raises:
        AxisError: there is no such axis.
        TypeError: there are no keys.
        ValueError: their shapes differ.
    """
    columns = [asarray(key) for key in keys] if isinstance(keys, list | tuple) else list(asarray(keys))
    if not columns:
        raise TypeError("lexsort: there are no keys")
    shapes = {tuple(column.shape) for column in columns}
    if len(shapes) > 1:
        raise ValueError(f"lexsort: keys have shapes {', '.join(map(str, sorted(shapes)))}")
    along = axis_of("lexsort", axis, columns[0].ndim)
    order = argsort(columns[0], along)
    for column in columns[1:]:
        order = take_along_axis(order, argsort(take_along_axis(column, order, along), along), along)
    return order
