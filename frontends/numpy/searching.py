"""Functions that say where elements are."""

from __future__ import annotations

from ..arrays.array import Array
from ..calls.dispatch import array_function
from ..tracing import graph_ops as ops
from .arguments.axes import axis_of
from .arguments.operands import (
    BOOL,
    Operand,
    array_of,
    common,
    is_integer,
    no_loop,
    operands,
    reshaped,
    together,
)
from .arguments.varying_axes import check_not_empty

__all__ = ["argmax", "argmin", "searchsorted", "where"]


def _arg_reduced(who: str, kind: str, x: Array, axis: int | None, keepdims: bool) -> Array:
    (x,) = operands(who, x)
    shape = x.shape
    if axis is None:
        x = reshaped(x, (x.size,))
        place = 0
    else:
        place = axis_of(who, axis, len(shape))
    check_not_empty(who, x.shape, (place,))
    if x.shape[place] == 0:
        raise ValueError(f"{who}: attempt to get {who} of an empty sequence (axis {axis}, shape {shape})")
    result = ops.arg_reduce(kind, x, place, bool(keepdims) and axis is not None)
    return reshaped(result, (1,) * len(shape)) if keepdims and axis is None else result


@array_function(static=("axis", "keepdims"))
def argmax(x: Array, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """
    The index of the greatest element along `axis`, the first of several, in int64; NaN counts as the
    greatest. None goes through the elements in row-major order.

    Raises:
        AxisError: there is no such axis.
        ValueError: there are no elements along it.
    """
    return _arg_reduced("argmax", "max", x, axis, keepdims)


@array_function(static=("axis", "keepdims"))
def argmin(x: Array, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """The index of the least element along `axis`; NaN counts as the least. Else as `argmax`."""
    return _arg_reduced("argmin", "min", x, axis, keepdims)


@array_function
def where(condition: Array, x1: Operand, x2: Operand, /) -> Array:
    """`x1` where `condition` is not zero and `x2` elsewhere; all three the latter two promote."""
    choice = array_of(condition, BOOL)
    return ops.select(*together("where", [choice, *common("where", x1, x2)]))


@array_function(static=("side",))
def searchsorted(x1: Array, x2: Operand, /, side: str = "left", sorter: Array | None = None) -> Array:
    """
    The index in int64 at which each element of `x2` goes into the sorted `x1` to keep it sorted: before those
    that are equal for `left`, after them for `right`. `sorter` is what sorts `x1`, as `argsort` gives it;
    indices outside of `x1` count as the nearest ones. NaN counts as greater than all.

    Raises:
        ValueError: `x1` or `sorter` is not of rank 1, their sizes differ, or there is no such side.
        TypeError: `sorter` is not of integers.
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be one of 'left' or 'right' (got {side!r})")
    sorted_, values = common("searchsorted", x1, x2)
    if len(sorted_.shape) != 1:
        raise ValueError(f"searchsorted: x1 must be an array of one dimension (shape {sorted_.shape})")
    if sorter is not None:
        (sorter,) = operands("searchsorted", sorter)
        if not is_integer(sorter.dtype):
            raise no_loop("searchsorted", sorter.dtype, hint="sorter is of integers")
        if sorter.shape != sorted_.shape:
            raise ValueError(f"searchsorted: sorter has shape {sorter.shape}, x1 {sorted_.shape}")
        sorted_ = ops.gather(sorted_, (sorter,), (0,)) if sorted_.size else sorted_
    return ops.search_sorted(sorted_, values, side)
