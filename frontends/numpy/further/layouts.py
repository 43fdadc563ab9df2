"""Arrays made of others, of numbers and of shapes: joined, cut, indexed, and evenly spaced."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ...arrays.array import Array
from ...arrays.concrete import as_concrete
from ...calls.dispatch import array_function
from ..arguments.axes import axis_of, integer_of
from ..arguments.axes import broadcast_shapes as shape_of_all
from ..arguments.operands import FLOAT64, INT64, Operand, common, is_integer, no_loop, operands, shape_of
from ..creation import arange, asarray, linspace, ones, tril, zeros
from ..dtypes import astype
from ..elementwise import abs, log10, pow, remainder, sign
from ..indexing import take
from ..manipulation import (
    atleast_1d,
    atleast_2d,
    broadcast_to,
    check_rank,
    concat,
    expand_dims,
    moveaxis,
    reshape,
    split,
    stack,
    vstack,
)
from ..predicates import equal, not_equal
from ..searching import where
from ..statistics import all
from ..values import nonzero, values_of

__all__ = [
    "append",
    "argwhere",
    "array_equiv",
    "atleast_3d",
    "block",
    "broadcast_shapes",
    "copy",
    "delete",
    "diag_indices",
    "dsplit",
    "flatnonzero",
    "geomspace",
    "hsplit",
    "indices",
    "ix_",
    "logspace",
    "ndim",
    "ravel_multi_index",
    "resize",
    "rollaxis",
    "row_stack",
    "shape",
    "size",
    "tri",
    "tril_indices",
    "triu_indices",
    "unravel_index",
    "vsplit",
]

row_stack = vstack


def shape(x: Operand | Sequence[Any], /) -> tuple[int, ...]:
    """The extents of an array."""
    # An array of numpy is not read for its shape alone: in a trace it would become an argument.
    return asarray(x).shape if isinstance(x, list | tuple) else shape_of("shape", x)


def ndim(x: Operand, /) -> int:
    """How many axes an array has."""
    return len(shape(x))


def size(x: Operand, /, axis: int | None = None) -> int:
    """How many elements an array has, along `axis` if that is given."""
    extents = shape(x)
    return math.prod(extents) if axis is None else extents[axis_of("size", axis, len(extents))]


def copy(x: Operand, /) -> Array:
    """Returns the elements in memory of their own."""
    return asarray(x, copy=True)


def broadcast_shapes(*shapes: int | Sequence[int]) -> tuple[int, ...]:
    """Returns the shape that shapes broadcast to. Raises ValueError where they do not go together."""
    return shape_of_all(
        "broadcast_shapes", [(each,) if isinstance(each, int) else tuple(each) for each in shapes]
    )


def append(x: Operand, values: Operand, /, axis: int | None = None) -> Array:
    """What `concat` gives of two arrays, of their elements in row-major order where `axis` is None."""
    lhs, rhs = asarray(x), asarray(values)
    if axis is None:
        lhs, rhs = reshape(lhs, (-1,)), reshape(rhs, (-1,))
    return concat([lhs, rhs], axis=axis or 0)


def with_axis(who: str, x: Operand, axis: int | None) -> tuple[Array, int]:
    """
    Returns an array and the number of one of its axes: where that is None its elements in row-major order.

    Raises AxisError where there is no such axis.
    """
    source = asarray(x)
    return (reshape(source, (-1,)), 0) if axis is None else (source, axis_of(who, axis, source.ndim))


def delete(x: Operand, obj: int | slice | Sequence[int], /, axis: int | None = None) -> Array:
    """
    Returns an array without the elements at places along `axis`, in row-major order where that is None.

    Raises:
        IndexError: a place is not there.
        TracingError: the places are a traced array.
    """
    source, along = with_axis("delete", x, axis)
    known = (
        values_of("delete", obj, "tenon.numpy.where, or a static argument") if isinstance(obj, Array) else obj
    )
    places = np.delete(np.arange(source.shape[along]), cast(Any, known))
    return take(source, as_concrete(places), along)


def argwhere(x: Array, /) -> Array:
    """The indices of the elements that are not zero, in rows. Raises TracingError where `x` is traced."""
    source = atleast_1d(x)
    found = stack(list(nonzero(source)), axis=1)
    return found if ndim(x) else found[:, :0]


def flatnonzero(x: Array, /) -> Array:
    """
    The places in row-major order of the elements that are not zero. Raises TracingError where `x` is traced.
    """
    return nonzero(reshape(x, (-1,)))[0]


@array_function
def array_equiv(x1: Operand, x2: Operand, /) -> Array:
    """Whether two arrays have equal elements once they are broadcast: an array of rank 0."""
    lhs, rhs = common("array_equiv", x1, x2)
    try:
        shape_of_all("array_equiv", [lhs.shape, rhs.shape])
    except ValueError:
        return asarray(False)
    return all(equal(lhs, rhs))


@array_function
def atleast_3d(x: Array, /) -> Array:
    """Returns an array with axes of extent 1 added until there are three: `(1, n, 1)`, `(m, n, 1)`."""
    (source,) = operands("atleast_3d", x)
    if source.ndim >= 3:
        return source
    return expand_dims(atleast_2d(source), 2)


def block(arrays: Any, /) -> Array:
    """
    Joins nested lists of arrays: the innermost ones along the last axis, the lists around them along the one
    before, and so on.

    Raises ValueError where lists are nested to several depths, or one is empty.
    """
    depth = _depth(arrays)
    rank = max([depth, *[asarray(each).ndim for each in _leaves(arrays)]])

    def joined(part: Any, level: int) -> Array:
        if not isinstance(part, list):
            if level != depth:
                raise ValueError(f"block: an array lies {level} lists deep, others {depth}")
            array = asarray(part)
            return reshape(array, (*(1,) * (rank - array.ndim), *array.shape))
        if not part:
            raise ValueError("block: a list is empty")
        parts = [joined(each, level + 1) for each in cast("list[Any]", part)]
        return concat(parts, axis=level - depth)

    return joined(arrays, 0)


def _depth(part: Any) -> int:
    return 1 + _depth(part[0]) if isinstance(part, list) and part else 0


def _leaves(part: Any) -> list[Any]:
    if not isinstance(part, list):
        return [part]
    return [leaf for each in cast("list[Any]", part) for leaf in _leaves(each)]


def hsplit(x: Array, indices_or_sections: int | Sequence[int], /) -> Sequence[Array]:
    """What `split` gives along axis 1, of an array of rank 1 along axis 0. Raises ValueError for rank 0."""
    return _split("hsplit", x, indices_or_sections, 0 if x.ndim == 1 else 1, 1)


def vsplit(x: Array, indices_or_sections: int | Sequence[int], /) -> Sequence[Array]:
    """What `split` gives along axis 0. Raises ValueError below rank 2."""
    return _split("vsplit", x, indices_or_sections, 0, 2)


def dsplit(x: Array, indices_or_sections: int | Sequence[int], /) -> Sequence[Array]:
    """What `split` gives along axis 2. Raises ValueError below rank 3."""
    return _split("dsplit", x, indices_or_sections, 2, 3)


def _split(
    who: str, x: Array, indices_or_sections: int | Sequence[int], axis: int, least: int
) -> Sequence[Array]:
    check_rank(who, x, least)
    return split(x, indices_or_sections, axis)


def rollaxis(x: Array, axis: int, /, start: int = 0) -> Array:
    """Returns an array whose `axis` stands before the one that was at `start`."""
    rank = x.ndim
    along, place = axis_of("rollaxis", axis, rank), axis_of("rollaxis", start, rank + 1, "start")
    return moveaxis(x, along, place - 1 if along < place else place)


def tri(N: int, M: int | None = None, k: int = 0, dtype: object = None) -> Array:
    """Returns a matrix of ones up to the diagonal `k`, and zeros above."""
    return tril(ones((N, N if M is None else M), dtype), k)


def _triangle(of: Any, n: int, k: int, m: int | None) -> tuple[Array, Array]:
    rows, columns = np.nonzero(of(np.ones((n, n if m is None else m), bool), k))
    return as_concrete(rows), as_concrete(columns)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The rows and columns of the elements up to the diagonal `k` of a matrix of `n` rows."""
    return _triangle(np.tril, n, k, m)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The rows and columns of the elements from the diagonal `k` on of a matrix of `n` rows."""
    return _triangle(np.triu, n, k, m)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """The indices of the main diagonal of an array of `ndim` axes of extent `n`."""
    return (arange(n),) * ndim


def resize(x: Operand, new_shape: int | Sequence[int], /) -> Array:
    """
    The elements in row-major order, from the first one on again where there are not enough, as an array of
    another shape; zeros where there are none. Raises ValueError for a negative extent.
    """
    source = reshape(asarray(x), (-1,))
    extents = (new_shape,) if isinstance(new_shape, int | np.integer) else tuple(new_shape)
    wanted = tuple(integer_of("resize", "new_shape", each) for each in extents)
    if min((0, *wanted)) < 0:
        raise ValueError(f"resize: {wanted} has a negative extent")
    count, size = math.prod(wanted), source.shape[0]
    if not size:
        return zeros(wanted, source.dtype)
    return reshape(take(source, remainder(arange(count), size), 0), wanted)


def indices(dimensions: Sequence[int], dtype: object = None, sparse: bool = False) -> Any:
    """The index along each axis of a shape, stacked; with `sparse` a tuple of arrays that broadcast."""
    rank = len(dimensions)
    lines = [
        reshape(
            arange(extent, dtype=INT64 if dtype is None else dtype),
            tuple(-1 if at == axis else 1 for at in range(rank)),
        )
        for axis, extent in enumerate(dimensions)
    ]
    if sparse:
        return tuple(lines)
    if not lines:
        return arange(0, dtype=INT64 if dtype is None else dtype)
    return stack([broadcast_to(line, tuple(dimensions)) for line in lines], axis=0)


def ix_(*arrays: Operand) -> tuple[Array, ...]:
    """
    Returns indices of rank 1 as arrays that broadcast to all their combinations.

    Raises ValueError for other ranks; TracingError for a mask that is traced.
    """
    found: list[Array] = []
    for axis, given in enumerate(arrays):
        # What is known stays so in a trace: a mask of numpy is as many indices as it says.
        values: Any = given
        is_known = isinstance(given, np.ndarray) and values.dtype == np.bool_ and values.ndim == 1
        index = asarray(np.flatnonzero(values) if is_known else values)
        if index.ndim != 1:
            raise ValueError(f"ix_: an index has shape {index.shape}, expected one axis")
        if index.dtype == np.bool_:
            (index,) = nonzero(index)
        found.append(reshape(index, tuple(-1 if at == axis else 1 for at in range(len(arrays)))))
    return tuple(found)


def logspace(
    start: Operand,
    stop: Operand,
    /,
    num: int = 50,
    endpoint: bool = True,
    base: Operand = 10.0,
    dtype: object = None,
) -> Array:
    """Returns `base` to the powers that `linspace` gives."""
    found = pow(base, linspace(start, stop, num, endpoint))
    return found if dtype is None else astype(found, dtype)


def geomspace(
    start: Operand, stop: Operand, /, num: int = 50, endpoint: bool = True, dtype: object = None
) -> Array:
    """
    Returns `num` numbers from `start` to `stop`, each the same multiple of the one before. They must have one
    sign, and not be 0: the others are NaN where that is not so.
    """
    first, last = asarray(start).astype(FLOAT64), asarray(stop).astype(FLOAT64)
    found = sign(first) * pow(10.0, linspace(log10(abs(first)), log10(abs(last)), num, endpoint))
    found = where(equal(first, 0) | not_equal(sign(first), sign(last)), math.nan, found)
    if num:
        found = found.at[0].set(first)
    if endpoint and num > 1:
        found = found.at[-1].set(last)
    return found if dtype is None else astype(found, dtype)


def unravel_index(indices: Operand, shape: int | Sequence[int], /) -> tuple[Array, ...]:
    """
    The index along each axis of places in row-major order. Raises TypeError where they are no integers.
    """
    rest = asarray(indices)
    if not is_integer(rest.dtype):
        raise no_loop("unravel_index", rest.dtype)
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    found: list[Array] = []
    for extent in reversed(extents):
        found.append(rest % extent)
        rest = rest // extent
    return tuple(reversed(found))


def ravel_multi_index(multi_index: Sequence[Operand], dims: Sequence[int], /) -> Array:
    """
    The place in row-major order of an index along each axis, which must be in range.

    Raises ValueError where there is not one index for each axis.
    """
    if len(multi_index) != len(dims):
        raise ValueError(f"ravel_multi_index: {len(multi_index)} indices for {len(dims)} axes")
    place = asarray(0)
    for index, extent in zip(multi_index, dims, strict=True):
        place = place * integer_of("ravel_multi_index", "an extent", extent) + asarray(index)
    return place
