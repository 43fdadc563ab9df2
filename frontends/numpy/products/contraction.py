"""Products of arrays whose axes have names: what matmul, tensordot and einsum are made of."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.ir.affine import AffineExpr, AffineMap

from ...arrays.array import Array
from ...arrays.promotion import kind_of, result_type
from ...tracing import graph_ops as ops
from ...tracing.extents import greatest, least
from ...tracing.trace import TracedArray
from ..arguments.axes import is_known
from ..arguments.operands import BOOL, INT64, array_of, common, is_float, reshaped, scalar_like
from ..dtypes import dtype_of

Names = Sequence[Hashable]
"""One name for each axis of an array."""


def without_repeats(x: TracedArray, names: Names) -> tuple[TracedArray, tuple[Hashable, ...]]:
    """
    Returns the diagonal of `x` along axes of one name, so that each name is there once, at its last place.
    """
    names = tuple(names)
    while len(set(names)) != len(names):
        name = next(name for name in names if names.count(name) > 1)
        first = names.index(name)
        second = names.index(name, first + 1)
        x = diagonal_of(x, first, second, 0)
        names = (*names[:first], *names[first + 1 : second], *names[second + 1 :], name)
    return x, names


def diagonal_of(x: TracedArray, first: int, second: int, offset: int) -> TracedArray:
    """
    Returns the elements whose index along `second` is that along `first` and `offset`, in a dim at the end.
    """
    rest = [axis for axis in range(len(x.shape)) if axis not in (first, second)]
    x = ops.permute(x, (*rest, first, second))
    kept = x.shape[:-2]
    rows, columns = x.shape[-2:]
    row, column = max(-offset, 0), max(offset, 0)
    count: Any = greatest(least(rows - row, columns - column), 0)
    if not (is_known(columns) and is_known(count)):
        index = ops.iota(0, INT64, (count,))
        places = [ops.add(index, scalar_like(index, first)) for first in (row, column)]
        found = ops.gather(x, places, (len(kept), len(kept) + 1))
        return ops.permute(found, (*range(1, len(kept) + 1), 0))
    start = row * columns + column if count else 0
    flat = reshaped(x, (*kept, rows * columns))
    rank = len(kept) + 1
    strides = (*(1,) * (rank - 1), columns + 1)
    return ops.slice(flat, (*(0,) * (rank - 1), start), (*kept, count), strides)


def summed(x: TracedArray, names: Names, kept: Names) -> tuple[TracedArray, tuple[Hashable, ...]]:
    """Returns `x` with the axes summed that are not in `kept`; of booleans whether one is true."""
    axes = tuple(axis for axis, name in enumerate(names) if name not in kept)
    if not axes:
        return x, tuple(names)
    kind = "or" if x.dtype == BOOL else "add"
    return ops.reduce(kind, x, axes), tuple(name for name in names if name in kept)


def permuted(x: TracedArray, names: Names, result: Names) -> TracedArray:
    """Returns `x` with its axes in the order of `result`, which has each of `names` once."""
    order = tuple(names.index(name) for name in result)
    return x if order == tuple(range(len(order))) else ops.permute(x, order)


def factors(who: str, preferred: object, *values: Array) -> tuple[list[TracedArray], np.dtype[Any]]:
    """
    Returns what is multiplied, and the dtype that the products are added up in. Without a preferred dtype the
    arrays are promoted to one, which is it. With one they keep their own, which it must be able to hold.

    Raises TypeError where there is no common dtype, or the preferred one does not hold that of an array.
    """
    if preferred is None:
        arrays = common(who, *values)
        return arrays, arrays[0].dtype
    wanted = dtype_of(who, preferred)
    arrays = [array_of(value, result_type(value)) for value in values]
    for x in arrays:
        if not _holds(wanted, x.dtype):
            raise TypeError(
                f"{who}: preferred_element_type {wanted.name} does not hold what {x.dtype.name} does"
            )
    return arrays, wanted


def _holds(wanted: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """
    Returns whether elements of `dtype` are numbers of `wanted` too. Integers become floats that are as wide
    and reach as far, and may be rounded there.
    """
    if kind_of(dtype) > kind_of(wanted) or dtype.itemsize > wanted.itemsize:
        return False
    if dtype == BOOL or wanted == BOOL:
        return True
    if not is_float(wanted):
        to, of = np.iinfo(wanted), np.iinfo(dtype)
        return to.min <= of.min and of.max <= to.max
    float_info = cast(Any, ml_dtypes.finfo)
    to = float_info(wanted)
    if not is_float(dtype):
        return np.iinfo(dtype).max <= float(to.max)
    of = float_info(dtype)
    return of.nmant <= to.nmant and float(of.max) <= float(to.max)


def product(
    lhs: TracedArray,
    lhs_names: Names,
    rhs: TracedArray,
    rhs_names: Names,
    result: Names,
    dtype: np.dtype[Any] | None = None,
) -> TracedArray:
    """
    Returns the sum of products over all axes whose names are not in `result`, converted to `dtype` before
    they are multiplied; without one, both arrays have the same. Axes of one name have one extent, or an
    extent of 1 that is repeated. Of booleans, it is whether one product is true. A sum of floats starts from
    0.0, also that of one product: no zero in it is -0.0.
    """
    dtype = lhs.dtype if dtype is None else dtype
    extents = _extents_of((lhs, lhs_names), (rhs, rhs_names))
    lhs, lhs_names = _without_repeated(lhs, lhs_names, extents)
    rhs, rhs_names = _without_repeated(rhs, rhs_names, extents)
    lhs, lhs_names = _summed_in(dtype, lhs, lhs_names, (*rhs_names, *result))
    rhs, rhs_names = _summed_in(dtype, rhs, rhs_names, (*lhs_names, *result))
    shape = tuple(extents[name] for name in result)
    if {*lhs_names, *rhs_names} <= set(result):
        lhs, rhs = (ops.cast(x, dtype, x.weak) for x in (lhs, rhs))
        of_one = _multiplied(lhs, lhs_names, rhs, rhs_names, result, shape)
        return ops.add(of_one, scalar_like(of_one, 0.0)) if is_float(of_one.dtype) else of_one
    order = list(dict.fromkeys((*result, *lhs_names, *rhs_names)))
    maps = [_map(order, names) for names in (lhs_names, rhs_names, result)]
    if dtype == BOOL:
        return ops.contract((lhs, rhs), maps, BOOL, shape, accumulate="or", combine="and")
    return ops.contract((lhs, rhs), maps, dtype, shape)


def _summed_in(
    dtype: np.dtype[Any], x: TracedArray, names: Names, kept: Names
) -> tuple[TracedArray, tuple[Hashable, ...]]:
    """Returns `x` with the axes summed in `dtype` that are not in `kept`, `x` itself where all are."""
    if set(names) <= set(kept):
        return x, tuple(names)
    return summed(ops.cast(x, dtype, x.weak), names, kept)


def multiplied(
    lhs: TracedArray, lhs_names: Names, rhs: TracedArray, rhs_names: Names, result: Names
) -> TracedArray:
    """
    Returns the products of elements that have one index along axes of one name. `result` has each name; of
    booleans, it is whether both are true. Dtypes and extents are those of `product`.
    """
    extents = _extents_of((lhs, lhs_names), (rhs, rhs_names))
    return _multiplied(lhs, lhs_names, rhs, rhs_names, result, tuple(extents[name] for name in result))


def _multiplied(
    lhs: TracedArray,
    lhs_names: Names,
    rhs: TracedArray,
    rhs_names: Names,
    result: Names,
    shape: tuple[int, ...],
) -> TracedArray:
    both = (_spread(lhs, lhs_names, result, shape), _spread(rhs, rhs_names, result, shape))
    return ops.and_(*both) if lhs.dtype == BOOL else ops.mul(*both)


def _extents_of(*operands: tuple[TracedArray, Names]) -> dict[Hashable, int]:
    """Returns the extent of each name: an extent of 1 is repeated where another operand has more."""
    extents: dict[Hashable, int] = {}
    for x, names in operands:
        for name, extent in zip(names, x.shape, strict=True):
            if extents.get(name, 1) == 1:
                extents[name] = extent
    return extents


def _without_repeated(
    x: TracedArray, names: Names, extents: dict[Hashable, int]
) -> tuple[TracedArray, tuple[Hashable, ...]]:
    """Returns `x` without the dims of extent 1 that are repeated."""
    kept = [axis for axis, name in enumerate(names) if x.shape[axis] == extents[name]]
    return reshaped(x, tuple(x.shape[axis] for axis in kept)), tuple(names[axis] for axis in kept)


def _spread(x: TracedArray, names: Names, result: Names, shape: Sequence[int]) -> TracedArray:
    """Returns `x` repeated to `shape`, whose axes are called `result`."""
    x = permuted(x, names, [name for name in result if name in names])
    extents = iter(x.shape)
    return ops.broadcast(reshaped(x, tuple(next(extents) if name in names else 1 for name in result)), shape)


def _map(order: Names, names: Names) -> AffineMap:
    dims = tuple(AffineExpr.dimension(order.index(name)) for name in names)
    return AffineMap(len(order), 0, dims)
