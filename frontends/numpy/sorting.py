"""Functions that order elements."""

from __future__ import annotations

from ..arrays.array import Array
from ..calls.dispatch import array_function
from ..tracing import graph_ops as ops
from ..tracing.trace import TracedArray
from .arguments.axes import axis_of, integer_of
from .arguments.operands import operands, part_of, reshaped
from .indexing import gathered_along

__all__ = ["argsort", "sort", "top_k"]

_STATIC = ("axis", "descending", "stable")


@array_function(static=_STATIC)
def argsort(x: Array, /, axis: int | None = -1, *, descending: bool = False, stable: bool = True) -> Array:
    """
    The indices, in int64, of the elements along `axis` in order; equal elements keep theirs. NaN comes last,
    also if `descending`. None sorts the elements in row-major order.

    Raises AxisError where there is no such axis.
    """
    x, place = _sortable("argsort", x, axis)
    return ops.argsort(x, place, bool(descending))


@array_function(static=_STATIC)
def sort(x: Array, /, axis: int | None = -1, *, descending: bool = False, stable: bool = True) -> Array:
    """The elements along `axis` in order; else as `argsort`."""
    x, place = _sortable("sort", x, axis)
    return ops.sort(x, place, bool(descending))


def _sortable(who: str, x: Array, axis: int | None) -> tuple[TracedArray, int]:
    (x,) = operands(who, x)
    if axis is None:
        return reshaped(x, (x.size,)), 0
    return x, axis_of(who, axis, len(x.shape))


@array_function(static=("k", "axis"))
def top_k(x: Array, k: int, /, *, axis: int = -1) -> tuple[Array, Array]:
    """
    The `k` greatest elements along `axis` in descending order, and their indices in int64. Of equal ones the
    first come first.

    Raises:
        AxisError: there is no such axis.
        ValueError: there are not as many elements, or `k` is negative.
    """
    x, place = _sortable("top_k", x, axis)
    count = integer_of("top_k", "k", k)
    if not 0 <= count <= x.shape[place]:
        raise ValueError(
            f"top_k: k is {count}, for {x.shape[place]} elements (axis {place}, shape {x.shape})"
        )
    order = ops.argsort(x, place, True)
    indices = part_of(order, place, 0, count)
    return gathered_along(x, indices, place), indices
