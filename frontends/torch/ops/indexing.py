"""
Ops whose indices are tensors. Negative ones count from the end; one out of range is moved into it where it is
read, and dropped where something is written, as a compiled program has nobody to tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import numpy as tnp
from ...arrays.promotion import kind_of
from ...numpy.arguments.axes import broadcast_shapes
from ...numpy.indexing import wrapped
from ...tracing import graph_ops as ops
from .movement import bounds_of
from .promotion import BOOL, INT64, as_dtype, computed_in
from .table import NotCoveredError, Traced, Wanted, aten


def _row(x: Traced) -> Traced:
    """Returns a tensor of rank 0 as one of rank 1, which torch's ops along an axis take it for."""
    return x if x.shape else ops.reshape(x, (1,))


@aten("gather.default")
def gather(x: Traced, dim: int, index: Traced, *, sparse_grad: bool = False) -> Traced:
    shape = index.shape
    x, index = _row(x), _row(index)
    axis = dim % len(x.shape)
    places = _places(x, axis, index)
    return ops.reshape(ops.gather(x, places, range(len(x.shape))), shape)


def _places(x: Traced, axis: int, index: Traced) -> list[Traced]:
    """Returns for each axis of `x` where the elements that `index` says along one axis are."""
    return [
        wrapped(as_dtype(index, INT64), x.shape[each]) if each == axis else ops.iota(each, INT64, index.shape)
        for each in range(len(x.shape))
    ]


@aten("index_select.default")
def index_select(x: Traced, dim: int, index: Traced, *, wanted: Wanted) -> Traced:
    x, index = _row(x), _row(index)
    found = tnp.take(x, index, axis=dim % len(x.shape))
    return ops.reshape(found, wanted.shape)  # type: ignore[arg-type]


@aten("embedding.default")
def embedding(
    weight: Traced,
    indices: Traced,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Traced:
    return ops.gather(weight, (as_dtype(indices, INT64),), (0,))


@aten("embedding_dense_backward.default")
def embedding_backward(
    grad: Traced,
    indices: Traced,
    num_weights: Any,
    padding_idx: int,
    scale_grad_by_freq: bool,
    *,
    wanted: Wanted,
) -> Traced:
    if scale_grad_by_freq:
        raise NotCoveredError("scale_grad_by_freq")
    places = as_dtype(indices, INT64)
    if padding_idx >= 0:
        # What is out of range is dropped.
        outside = as_dtype(num_weights, INT64)
        places = tnp.where(tnp.equal(places, as_dtype(padding_idx, INT64)), outside, places)
    return _scattered("add", ops.full(0, wanted.dtype, wanted.shape), (places,), grad, (0,))


def _indexed(x: Traced, indices: Sequence[Traced | None]) -> tuple[list[int], list[Traced]]:
    """
    Returns the axes that indices are for, and the indices, broadcast and from 0 up.

    Raises:
        NotCoveredError: one is a mask, which picks as many elements as its values say.
    """
    axes = [axis for axis, index in enumerate(indices) if index is not None]
    given = [index for index in indices if index is not None]
    if any(each.dtype.kind not in "iu" or each.dtype.kind == "u" for each in given):
        raise NotCoveredError("a mask, which picks as many elements as its values say")
    shape = broadcast_shapes("index", [each.shape for each in given])
    places = [
        ops.broadcast(wrapped(as_dtype(each, INT64), x.shape[axis]), shape)
        for axis, each in zip(axes, given, strict=True)
    ]
    return axes, places


@aten("index.Tensor", "_unsafe_index.Tensor")
def index(x: Traced, indices: Sequence[Traced | None]) -> Traced:
    axes, places = _indexed(x, indices)
    found = ops.gather(x, places, axes)
    count, at = len(places[0].shape), axes[0]
    if axes != list(range(at, at + len(axes))) or not at or not count:
        return found
    before, after = range(count, count + at), range(count + at, len(found.shape))
    return ops.permute(found, (*before, *range(count), *after))


@aten("index_put.default", "_unsafe_index_put.default", "index_put_.default")
def index_put(
    x: Traced, indices: Sequence[Traced | None], values: Traced, accumulate: bool = False
) -> Traced:
    given = [each for each in indices if each is not None]
    if len(given) == 1 and given[0].dtype == BOOL:
        at = next(axis for axis, each in enumerate(indices) if each is not None)
        return _put_where(x, given[0], at, values, accumulate)
    axes, places = _indexed(x, indices)
    count, at = len(places[0].shape), axes[0]
    rest = [axis for axis in range(len(x.shape)) if axis not in axes]
    kept = tuple(x.shape[axis] for axis in rest)
    is_together = axes == list(range(at, at + len(axes)))
    front = at if is_together else 0
    shape = (*kept[:front], *places[0].shape, *kept[front:])
    updates = ops.broadcast(as_dtype(values, x.dtype), shape)
    if front and count:
        inside, before = range(front, front + count), range(front)
        updates = ops.permute(updates, (*inside, *before, *range(front + count, len(shape))))
    return _scattered("add" if accumulate else "set", x, places, updates, axes)


def _put_where(x: Traced, mask: Traced, at: int, values: Traced, accumulate: bool) -> Traced:
    """
    Returns `x` with `values` where a mask over the axes from `at` on is true.

    Raises:
        NotCoveredError: each place has another value, so that their number must fit.
    """
    inner = len(x.shape) - at - len(mask.shape)
    shape = tuple(values.shape)
    if len(shape) > inner:
        # The axis of the chosen places.
        before = shape[: len(shape) - inner - 1]
        if shape[len(before)] != 1:
            raise NotCoveredError("a mask, which picks as many elements as its values say")
        values = ops.reshape(values, (*before, *(1 for _ in mask.shape), *shape[len(before) + 1 :]))
    new = as_dtype(values, x.dtype)
    chosen = ops.reshape(mask, (*mask.shape, *(1 for _ in range(inner))))
    return tnp.where(chosen, x + new if accumulate else new, x)


def _scattered(
    kind: str, x: Traced, places: Sequence[Traced], updates: Traced, axes: Sequence[int]
) -> Traced:
    """Returns `x` with elements set or combined; sums and products of halves are computed in float32."""
    within = computed_in(x.dtype) if kind in ("add", "mul") else x.dtype
    if kind != "set" and x.dtype == BOOL:
        raise NotCoveredError(f"a scatter of booleans that is no assignment ({kind})")
    found = ops.scatter(kind, as_dtype(x, within), places, as_dtype(updates, within), axes)
    return as_dtype(found, x.dtype)


def _scatter(
    kind: str,
    x: Traced,
    dim: int,
    index: Traced,
    source: Traced | None,
    value: Any = None,
    fits: bool = False,
) -> Traced:
    shape = x.shape
    x, index = _row(x), _row(index)
    if 0 in index.shape:
        return ops.reshape(x, shape)
    if source is None:
        updates = ops.broadcast(as_dtype(value, x.dtype), index.shape)
    else:
        updates = _beginning(_row(source), index.shape, fits)
    places = _places(x, dim % len(x.shape), index)
    return ops.reshape(_scattered(kind, x, places, updates, range(len(x.shape))), shape)


def _beginning(x: Traced, shape: Sequence[Any], fits: bool) -> Traced:
    """
    Returns the first elements along each axis, of which there `fits` one for each.

    Raises:
        NotCoveredError: there may be fewer.
    """
    # Of extents that vary on their own programs cannot see that there are enough: these are read at places.
    varies = [
        extent != there and not (isinstance(extent, int) and isinstance(there, int))
        for extent, there in zip(shape, x.shape, strict=True)
    ]
    if any(varies) and not fits:
        raise NotCoveredError("what it scatters may have fewer elements than there are indices")
    sizes = [there if each else extent for each, extent, there in zip(varies, shape, x.shape, strict=True)]
    x = ops.slice(x, (0,) * len(sizes), sizes, (1,) * len(sizes))
    for axis, each in enumerate(varies):
        if each:
            x = tnp.take(x, ops.iota(0, INT64, (shape[axis],)), axis=axis)
    return x


@aten("scatter.src")
def scatter(x: Traced, dim: int, index: Traced, src: Traced, *, fits: bool) -> Traced:
    return _scatter("set", x, dim, index, src, fits=fits)


@aten("scatter.value")
def scatter_value(x: Traced, dim: int, index: Traced, value: Any) -> Traced:
    return _scatter("set", x, dim, index, None, value)


@aten("scatter_add.default")
def scatter_add(x: Traced, dim: int, index: Traced, src: Traced, *, fits: bool = False) -> Traced:
    return _scatter("add", x, dim, index, src, fits=fits)


_REDUCTIONS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "add": "add", "multiply": "mul"}


@aten("scatter.reduce")
def scatter_with(x: Traced, dim: int, index: Traced, src: Traced, *, reduce: str, fits: bool) -> Traced:
    return _scatter(_REDUCTIONS[reduce], x, dim, index, src, fits=fits)


@aten("scatter.value_reduce")
def scatter_value_with(x: Traced, dim: int, index: Traced, value: Any, *, reduce: str) -> Traced:
    return _scatter(_REDUCTIONS[reduce], x, dim, index, None, value)


@aten("scatter_reduce.two")
def scatter_reduce(
    x: Traced, dim: int, index: Traced, src: Traced, reduce: str, *, include_self: bool = True, fits: bool
) -> Traced:
    if reduce == "mean":
        if kind_of(x.dtype) < 2:
            raise NotCoveredError("a mean of integers")
        one = as_dtype(1, x.dtype)
        counts = _scatter(
            "add", tnp.ones_like(x) if include_self else tnp.zeros_like(x), dim, index, None, one
        )
        start = x if include_self else _scatter("set", x, dim, index, None, 0)
        return _scatter("add", start, dim, index, src, fits=fits) / tnp.maximum(counts, one)
    if not include_self:
        start = {"sum": 0, "prod": 1, "amax": None, "amin": None}[reduce]
        if start is None:
            # What is reached is first set to one of the values that reach it, which changes no extreme.
            x = _scatter("set", x, dim, index, src, fits=fits)
        else:
            x = _scatter("set", x, dim, index, None, start)
    return _scatter(_REDUCTIONS[reduce], x, dim, index, src, fits=fits)


@aten("masked_scatter.default")
def masked_scatter(x: Traced, mask: Traced, source: Traced) -> Traced:
    """The elements of `source` in their order, where the mask is true."""
    shape = broadcast_shapes("masked_scatter", [x.shape, mask.shape])
    flat = tnp.ravel(ops.broadcast(as_dtype(mask, INT64), shape))
    if not flat.shape[0] or not source.size:
        return ops.broadcast(x, shape)
    places: Traced = tnp.cumulative_sum(flat, axis=0) - flat
    found = ops.reshape(ops.gather(ops.reshape(source, (source.size,)), (places,), (0,)), shape)
    return tnp.where(ops.broadcast(mask, shape), found, ops.broadcast(x, shape))


@aten("index_add.default")
def index_add(x: Traced, dim: int, index: Traced, source: Traced, *, alpha: Any = 1) -> Traced:
    shape = x.shape
    x, source, index = _row(x), _row(source), _row(index)
    axis = dim % len(x.shape)
    updates = ops.permute(source, (axis, *(each for each in range(len(x.shape)) if each != axis)))
    if not (isinstance(alpha, int | float) and alpha == 1):
        updates = updates * as_dtype(alpha, updates.dtype)
    places = [wrapped(as_dtype(index, INT64), x.shape[axis])]
    return ops.reshape(_scattered("add", x, places, updates, (axis,)), shape)


@aten("index_copy.default")
def index_copy(x: Traced, dim: int, index: Traced, source: Traced) -> Traced:
    shape = x.shape
    x, source, index = _row(x), _row(source), _row(index)
    axis = dim % len(x.shape)
    updates = ops.permute(source, (axis, *(each for each in range(len(x.shape)) if each != axis)))
    places = [wrapped(as_dtype(index, INT64), x.shape[axis])]
    return ops.reshape(_scattered("set", x, places, updates, (axis,)), shape)


@aten("select_scatter.default")
def select_scatter(x: Traced, src: Traced, dim: int, index: int) -> Traced:
    axis = dim % len(x.shape)
    place = x.shape[axis] + index if index < 0 else index
    at = ops.iota(axis, INT64, x.shape)
    return tnp.where(tnp.equal(at, as_dtype(place, INT64)), tnp.expand_dims(as_dtype(src, x.dtype), axis), x)


@aten("slice_scatter.default")
def slice_scatter(
    x: Traced, src: Traced, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Traced:
    axis = dim % len(x.shape)
    first, _ = bounds_of(start, end, x.shape[axis])
    if tuple(src.shape) == tuple(x.shape) and step == 1:
        return as_dtype(src, x.dtype)
    starts = [as_dtype(first if each == axis else 0, INT64) for each in range(len(x.shape))]
    steps = [step if each == axis else 1 for each in range(len(x.shape))]
    if any(not isinstance(extent, int) for extent in (*x.shape, *src.shape)):
        places = ops.iota(0, INT64, (src.shape[axis],)) * as_dtype(step, INT64) + starts[axis]
        order = (axis, *(each for each in range(len(x.shape)) if each != axis))
        return ops.scatter("set", x, (places,), ops.permute(as_dtype(src, x.dtype), order), (axis,))
    return ops.dynamic_update(x, starts, as_dtype(src, x.dtype), steps)


@aten("diagonal_scatter.default")
def diagonal_scatter(x: Traced, src: Traced, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Traced:
    first, second = dim1 % len(x.shape), dim2 % len(x.shape)
    count = src.shape[-1]
    along = ops.iota(0, INT64, (count,))
    places = [along + as_dtype(max(-offset, 0), INT64), along + as_dtype(max(offset, 0), INT64)]
    updates = tnp.moveaxis(as_dtype(src, x.dtype), -1, 0)
    return ops.scatter("set", x, places, updates, (first, second))  # type: ignore[arg-type]


@aten("_unsafe_masked_index.default")
def masked_index(x: Traced, mask: Traced, indices: Sequence[Traced | None], fill: Any) -> Traced:
    found = index(
        x, [None if each is None else tnp.maximum(each, as_dtype(0, each.dtype)) for each in indices]
    )
    return tnp.where(mask, found, as_dtype(fill, x.dtype))


@aten("_unsafe_masked_index_put_accumulate.default")
def masked_index_put(x: Traced, mask: Traced, indices: Sequence[Traced | None], values: Traced) -> Traced:
    kept = tnp.where(mask, values, as_dtype(0, values.dtype))
    clamped = [
        None
        if each is None
        else tnp.clip(each, as_dtype(0, each.dtype), as_dtype(x.shape[axis] - 1, each.dtype))
        for axis, each in enumerate(indices)
    ]
    return index_put(x, clamped, kept, True)
