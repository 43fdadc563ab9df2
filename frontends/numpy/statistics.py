"""Functions that combine the elements along axes, and running sums and products."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dialects.dims.expressions import Extent
from ..arrays.array import Array
from ..calls.dispatch import array_function
from ..tracing import graph_ops as ops
from ..tracing.extents import greatest
from ..tracing.trace import TracedArray
from .arguments.axes import axes_of, axis_of, integer_of, is_known
from .arguments.operands import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    UINT64,
    Operand,
    common,
    floats,
    is_float,
    no_loop,
    operands,
    part_of,
    reshaped,
    scalar_like,
    truths,
)
from .arguments.varying_axes import check_not_empty
from .dtypes import dtype_of
from .manipulation import joined
from .predicates import isclose

__all__ = [
    "all",
    "allclose",
    "any",
    "array_equal",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "cumulative_max",
    "cumulative_min",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "logsumexp",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]

Axes = int | Sequence[int] | None
DType = np.dtype[Any]

_REDUCED = ("axis", "keepdims")
_SUMMED = ("axis", "dtype", "keepdims")


def sum_dtype(who: str, x: Array, dtype: object) -> DType:
    """Returns what numpy sums in: int64 or uint64 for narrower integers and bool, if `dtype` says nothing."""
    if dtype is not None:
        return dtype_of(who, dtype)
    if is_float(x.dtype):
        return x.dtype
    return UINT64 if x.dtype.kind == "u" else INT64


def _reduced(who: str, kind: str, x: TracedArray, axis: Axes, keepdims: bool) -> TracedArray:
    axes = axes_of(who, axis, len(x.shape))
    return ops.reduce(kind, x, axes, bool(keepdims))


@array_function(static=_REDUCED)
def all(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """Whether all elements along `axis` are not zero; true of no elements. NaN is not zero."""
    return _reduced("all", "and", truths("all", x)[0], axis, keepdims)


@array_function(static=_REDUCED)
def any(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """Whether one of the elements along `axis` is not zero; false of no elements. NaN is not zero."""
    return _reduced("any", "or", truths("any", x)[0], axis, keepdims)


def allclose(
    x1: Operand, x2: Operand, /, rtol: Operand = 1e-05, atol: Operand = 1e-08, *, equal_nan: bool = False
) -> Array:
    """Whether all elements are close, as `isclose` says: an array of rank 0."""
    return all(isclose(x1, x2, rtol, atol, equal_nan=equal_nan))


@array_function
def array_equal(x1: Operand, x2: Operand, /) -> Array:
    """Whether two arrays have one shape and equal elements: an array of rank 0. NaN is equal to nothing."""
    lhs, rhs = common("array_equal", x1, x2)
    if lhs.shape != rhs.shape:
        return ops.full(False, BOOL, ())
    return _reduced("array_equal", "and", ops.eq(lhs, rhs), None, False)


@array_function(static=_REDUCED)
def count_nonzero(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The number of elements along `axis` that are not zero, in int64."""
    (x,) = truths("count_nonzero", x)
    return _reduced("count_nonzero", "add", ops.cast(x, INT64), axis, keepdims)


def total(who: str, x: TracedArray, axis: Axes, dtype: DType, keepdims: bool) -> TracedArray:
    """Returns the sum of the elements along `axis`, computed in `dtype`; of booleans whether one is true."""
    return _reduced(who, "or" if dtype == BOOL else "add", ops.cast(x, dtype), axis, keepdims)


@array_function(static=_SUMMED)
def sum(x: Array, /, axis: Axes = None, dtype: object = None, *, keepdims: bool = False) -> Array:
    """
    The sum of the elements along `axis`, all of them for None; 0 of no elements. Integers narrower than 64
    bits and booleans are summed in int64 or uint64, and wrap; in bool, the sum is the logical or.

    Raises AxisError where there is no such axis, ValueError where one is given twice.
    """
    (x,) = operands("sum", x)
    return total("sum", x, axis, sum_dtype("sum", x, dtype), keepdims)


@array_function(static=_SUMMED)
def prod(x: Array, /, axis: Axes = None, dtype: object = None, *, keepdims: bool = False) -> Array:
    """The product of the elements along `axis`; 1 of no elements. dtypes and errors are those of `sum`."""
    (x,) = operands("prod", x)
    wanted = sum_dtype("prod", x, dtype)
    return _reduced("prod", "and" if wanted == BOOL else "mul", ops.cast(x, wanted), axis, keepdims)


def _extremum(who: str, kind: str, x: Array, axis: Axes, keepdims: bool) -> TracedArray:
    (x,) = operands(who, x)
    axes = axes_of(who, axis, len(x.shape))
    check_not_empty(who, x.shape, axes)
    if math.prod(x.shape[axis] for axis in axes) == 0 and axes:
        raise ValueError(
            f"{who}: zero-size array to reduction operation {who} which has no identity (shape {x.shape}, "
            f"axis {axes})"
        )
    if x.dtype == BOOL:
        kind = {"max": "or", "min": "and"}[kind]
    return _reduced(who, kind, x, axes, keepdims)


@array_function(static=_REDUCED)
def max(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """
    The greatest element along `axis`; NaN where one is NaN. Raises ValueError where there is none to choose
    from.
    """
    return _extremum("max", "max", x, axis, keepdims)


@array_function(static=_REDUCED)
def min(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """
    The least element along `axis`; NaN where one is NaN. Raises ValueError where there is none to choose
    from.
    """
    return _extremum("min", "min", x, axis, keepdims)


def wide_for_sums(x: TracedArray) -> TracedArray:
    """
    Returns `x` in the dtype that means are computed in: float64 for integers, float32 for narrower floats.
    """
    if not is_float(x.dtype):
        return ops.cast(x, FLOAT64)
    return ops.cast(x, FLOAT32) if x.dtype.itemsize < 4 else x


def _mean_dtype(x: TracedArray) -> DType:
    return x.dtype if is_float(x.dtype) else FLOAT64


def _over_count(total: TracedArray, count: Extent, correction: float = 0) -> TracedArray:
    """Returns `total` over the number of elements less `correction`, or over 0 where that is negative."""
    if isinstance(count, int):
        return ops.div(total, scalar_like(total, builtins.max(count - correction, 0)))
    number = ops.cast(ops.extent(count), total.dtype)
    if correction:
        number = ops.sub(number, ops.constant(correction, total.dtype))
        number = ops.max(number, ops.constant(0, total.dtype))
    return ops.div(total, ops.broadcast(number, total.shape))


def _count(x: Array, axes: Sequence[int]) -> Extent:
    return math.prod(x.shape[axis] for axis in axes)


@array_function(static=_SUMMED)
def mean(x: Array, /, axis: Axes = None, dtype: object = None, *, keepdims: bool = False) -> Array:
    """
    The mean of the elements along `axis`, NaN of none. Integers give float64; float16 and narrower floats are
    summed in float32. With `dtype` the elements are converted to that first.

    Raises TypeError where `dtype` is none of floats.
    """
    x = of_floats("mean", x, dtype)
    axes = axes_of("mean", axis, len(x.shape))
    total = _reduced("mean", "add", wide_for_sums(x), axes, keepdims)
    return ops.cast(_over_count(total, _count(x, axes)), _mean_dtype(x))


def of_floats(who: str, x: Array, dtype: object) -> TracedArray:
    """Returns an array in a dtype of floats, if one is given. Raises TypeError for another dtype."""
    (source,) = operands(who, x)
    if dtype is None:
        return source
    wanted = dtype_of(who, dtype)
    if not is_float(wanted):
        raise TypeError(f"{who}: dtype is {wanted}, expected one of floats")
    return ops.cast(source, wanted)


def _variance(who: str, x: TracedArray, axis: Axes, correction: float, keepdims: bool) -> TracedArray:
    axes = axes_of(who, axis, len(x.shape))
    wide, count = wide_for_sums(x), _count(x, axes)
    centre = _over_count(_reduced(who, "add", wide, axes, True), count)
    off = ops.sub(wide, ops.broadcast(centre, wide.shape))
    total = _reduced(who, "add", ops.mul(off, off), axes, keepdims)
    return _over_count(total, count, correction)


_SPREAD = ("axis", "dtype", "ddof", "correction", "keepdims")


@array_function(static=_SPREAD)
def std(
    x: Array,
    /,
    axis: Axes = None,
    dtype: object = None,
    *,
    ddof: float | None = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Array:
    """The square root of what `var` gives."""
    x = of_floats("std", x, dtype)
    less = correction_of("std", ddof, correction)
    return ops.cast(ops.sqrt(_variance("std", x, axis, less, keepdims)), _mean_dtype(x))


@array_function(static=_SPREAD)
def var(
    x: Array,
    /,
    axis: Axes = None,
    dtype: object = None,
    *,
    ddof: float | None = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Array:
    """
    The sum of the squared distances from the mean along `axis`, divided by the number of elements less
    `correction`, which numpy also calls `ddof`: NaN or inf where that is not more than 0. dtypes are those of
    `mean`.

    Raises ValueError where `correction` and `ddof` are given.
    """
    x = of_floats("var", x, dtype)
    less = correction_of("var", ddof, correction)
    return ops.cast(_variance("var", x, axis, less, keepdims), _mean_dtype(x))


def correction_of(who: str, ddof: float | None, correction: float) -> float:
    """Returns the one of two names of a number that is given. Raises ValueError where both are."""
    if ddof is not None and correction:
        raise ValueError(f"{who}: ddof={ddof} and correction={correction} are given, expected one of them")
    return correction if ddof is None else ddof


@array_function(static=_REDUCED)
def logsumexp(x: Array, /, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """
    The logarithm of the sum of the exponentials along `axis`, without overflow on the way; -inf of no
    elements.
    """
    (x,) = floats("logsumexp", x)
    axes = axes_of("logsumexp", axis, len(x.shape))
    return ops.logsumexp(x, axes, bool(keepdims)) if axes else x


@array_function(static=("axis", "dtype", "include_initial"))
def cumulative_sum(
    x: Array, /, *, axis: int | None = None, dtype: object = None, include_initial: bool = False
) -> Array:
    """
    The sums of the elements up to each index along `axis`, with a 0 before them if `include_initial`. Only an
    array of rank 1 may leave `axis` out. dtypes are those of `sum`.

    Raises:
        AxisError: there is no such axis.
        ValueError: `axis` is None and the rank is not 1.
    """
    return _cumulated("cumulative_sum", "add", x, axis, dtype, include_initial)


@array_function(static=("axis", "dtype", "include_initial"))
def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: object = None, include_initial: bool = False
) -> Array:
    """
    The products of the elements up to each index along `axis`, with a 1 before them if `include_initial`;
    else as `cumulative_sum`.
    """
    return _cumulated("cumulative_prod", "mul", x, axis, dtype, include_initial)


@array_function(static=("axis",))
def cumulative_max(x: Array, /, *, axis: int | None = None) -> Array:
    """
    The greatest of the elements up to each index along `axis`, NaN from the first NaN on: numpy's
    `maximum.accumulate`. Only an array of rank 1 may leave `axis` out.

    Raises:
        AxisError: there is no such axis.
        ValueError: `axis` is None and the rank is not 1.
        TypeError: the elements are booleans.
    """
    (x,) = operands("cumulative_max", x)
    return _cumulated("cumulative_max", "max", x, axis, x.dtype, False)


@array_function(static=("axis",))
def cumulative_min(x: Array, /, *, axis: int | None = None) -> Array:
    """The least of the elements up to each index along `axis`; else as `cumulative_max`."""
    (x,) = operands("cumulative_min", x)
    return _cumulated("cumulative_min", "min", x, axis, x.dtype, False)


def _cumulated(
    who: str, kind: str, x: Array, axis: int | None, dtype: object, include_initial: bool
) -> TracedArray:
    (x,) = operands(who, x)
    rank = len(x.shape)
    if axis is None:
        if rank != 1:
            raise ValueError(
                f"{who}: axis must be given for an array that has not one dimension (shape {x.shape})"
            )
        axis = 0
    axis = axis_of(who, axis, rank)
    wanted = sum_dtype(who, x, dtype)
    if wanted == BOOL:
        raise no_loop(who, wanted, hint="accumulate in an integer dtype")
    result = ops.cumulate(kind, ops.cast(x, wanted), axis)
    if not include_initial:
        return result
    low = tuple(int(dim == axis) for dim in range(rank))
    first = ops.full(0 if kind == "add" else 1, wanted, ())
    return ops.pad(result, first, low, (0,) * rank)


@array_function(static=("axis", "dtype"))
def cumsum(x: Array, /, axis: int | None = None, dtype: object = None) -> Array:
    """What `cumulative_sum` gives, but None goes through the elements in row-major order."""
    return _accumulated("cumsum", "add", x, axis, dtype)


@array_function(static=("axis", "dtype"))
def cumprod(x: Array, /, axis: int | None = None, dtype: object = None) -> Array:
    """What `cumulative_prod` gives, but None goes through the elements in row-major order."""
    return _accumulated("cumprod", "mul", x, axis, dtype)


def _accumulated(who: str, kind: str, x: Array, axis: int | None, dtype: object) -> TracedArray:
    (x,) = operands(who, x)
    if axis is None:
        x, axis = reshaped(x, (x.size,)), 0
    return _cumulated(who, kind, x, axis, dtype, False)


@array_function(static=("axis", "n"))
def diff(
    x: Array, /, n: int = 1, axis: int = -1, *, prepend: Array | None = None, append: Array | None = None
) -> Array:
    """
    The differences of neighbours along `axis`, taken `n` times; of booleans, whether they differ. `prepend`
    and `append` are joined to `x` first; a scalar, or an array of rank 0, is one element along `axis`.

    Raises:
        AxisError: there is no such axis.
        ValueError: `n` is negative, or the rank is 0.
    """
    present = [value for value in (prepend, x, append) if value is not None]
    parts = common("diff", *present)
    x = parts[0 if prepend is None else 1]
    rank = len(x.shape)
    if integer_of("diff", "n", n) < 0:
        raise ValueError(f"diff: order must be non-negative but got {n}")
    if rank == 0:
        raise ValueError("diff: the array must have 1 dimension or more (shape ())")
    axis = axis_of("diff", axis, rank)
    edge = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    parts = [ops.broadcast(part, edge) if not part.shape else part for part in parts]
    x = joined("diff", parts, axis)
    extent = x.shape[axis]
    for _ in range(builtins.min(n, extent) if is_known(extent) else n):
        size = greatest(x.shape[axis] - 1, 0)
        later, earlier = part_of(x, axis, x.shape[axis] - size, size), part_of(x, axis, 0, size)
        x = ops.ne(later, earlier) if x.dtype == BOOL else ops.sub(later, earlier)
    return x
