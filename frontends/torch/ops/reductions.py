"""Ops that combine elements along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import numpy as tnp
from ...arrays.promotion import kind_of
from ...tracing import graph_ops as ops
from .promotion import BOOL, INT64, as_dtype, computed_in, default_float
from .table import NotCoveredError, Traced, Wanted, aten


def axes_of(x: Traced, dim: Any) -> tuple[int, ...]:
    """Returns the axes that torch means: all for none, and those counted from the end from the front."""
    rank = len(x.shape)
    if dim is None or dim in ((), []):
        return tuple(range(rank))
    if not rank:
        return ()
    if isinstance(dim, int):
        return (dim % rank,)
    given: list[int] = list(dim)
    return tuple(sorted(axis % rank for axis in given))


def _not_empty(x: Traced, axes: Sequence[int]) -> None:
    if any(x.shape[axis] == 0 for axis in axes if isinstance(x.shape[axis], int)):
        raise NotCoveredError("the greatest of no elements")


@aten("sum.default")
def sum_all(x: Traced, *, dtype: Any = None) -> Traced:
    return sum_(x, None, dtype=dtype)


@aten("sum.dim_IntList")
def sum_(x: Traced, dim: Any, keepdim: bool = False, *, dtype: Any = None) -> Traced:
    of = dtype or (INT64 if kind_of(x.dtype) < 2 else x.dtype)
    value = as_dtype(x, computed_in(of))
    if of == BOOL:
        return tnp.any(value, axis=axes_of(x, dim), keepdims=keepdim)
    return as_dtype(tnp.sum(value, axis=axes_of(x, dim), dtype=value.dtype, keepdims=keepdim), of)


@aten("prod.default")
def prod_all(x: Traced, *, dtype: Any = None) -> Traced:
    return prod(x, None, dtype=dtype)


@aten("prod.dim_int")
def prod(x: Traced, dim: Any, keepdim: bool = False, *, dtype: Any = None) -> Traced:
    of = dtype or (INT64 if kind_of(x.dtype) < 2 else x.dtype)
    if of == BOOL:
        return tnp.all(as_dtype(x, BOOL), axis=axes_of(x, dim), keepdims=keepdim)
    value = as_dtype(x, computed_in(of))
    return as_dtype(tnp.prod(value, axis=axes_of(x, dim), dtype=value.dtype, keepdims=keepdim), of)


@aten("mean.default")
def mean_all(x: Traced, *, dtype: Any = None) -> Traced:
    return mean(x, None, dtype=dtype)


@aten("mean.dim")
def mean(x: Traced, dim: Any, keepdim: bool = False, *, dtype: Any = None) -> Traced:
    of = dtype or x.dtype
    value = as_dtype(x, computed_in(of))
    return as_dtype(tnp.mean(value, axis=axes_of(x, dim), keepdims=keepdim), of)


def _variance(x: Traced, dim: Any, correction: Any, keepdim: bool) -> tuple[Traced, Traced]:
    """Returns variance and mean, in the dtype that is computed in."""
    axes = axes_of(x, dim)
    value = as_dtype(x, computed_in(x.dtype))
    middle = tnp.mean(value, axis=axes, keepdims=True)
    centred = value - middle
    squares = tnp.sum(centred * centred, axis=axes, keepdims=keepdim)
    count: Any = 1
    for axis in axes:
        count = count * x.shape[axis]
    left = as_dtype(count, value.dtype) - float(1 if correction is None else correction)
    left = tnp.maximum(left, as_dtype(0, value.dtype))
    return squares / left, middle if keepdim else tnp.squeeze(middle, axis=axes)


@aten("var.correction")
def var(x: Traced, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Traced:
    return as_dtype(_variance(x, dim, correction, keepdim)[0], x.dtype)


@aten("var_mean.correction")
def var_mean(
    x: Traced, dim: Any = None, *, correction: Any = None, keepdim: bool = False
) -> tuple[Traced, Traced]:
    spread, middle = _variance(x, dim, correction, keepdim)
    return as_dtype(spread, x.dtype), as_dtype(middle, x.dtype)


def _extreme(function: Callable[..., Any]) -> Callable[..., Traced]:
    def of_axes(x: Traced, dim: Any = (), keepdim: bool = False) -> Traced:
        axes = axes_of(x, dim)
        _not_empty(x, axes)
        if x.dtype == BOOL:
            logical = tnp.any if function is tnp.max else tnp.all
            return logical(x, axis=axes, keepdims=keepdim)
        return function(x, axis=axes, keepdims=keepdim)

    return of_axes


amax = aten("amax.default", "max.default")(_extreme(tnp.max))
amin = aten("amin.default", "min.default")(_extreme(tnp.min))


def _with_place(arg: Callable[..., Any]) -> Callable[..., tuple[Traced, Traced]]:
    def along(x: Traced, dim: int, keepdim: bool = False) -> tuple[Traced, Traced]:
        if not x.shape:
            return x, ops.full(0, INT64, ())
        axis = dim % len(x.shape)
        _not_empty(x, (axis,))
        place = arg(_comparable(x), axis=axis, keepdims=True)
        value = tnp.take_along_axis(x, place, axis=axis)
        return (value, place) if keepdim else (tnp.squeeze(value, axis=axis), tnp.squeeze(place, axis=axis))

    return along


def _comparable(x: Traced) -> Traced:
    return as_dtype(x, np.dtype(np.int8)) if x.dtype == BOOL else x


aten("max.dim")(_with_place(tnp.argmax))
aten("min.dim")(_with_place(tnp.argmin))


def _arg(function: Callable[..., Any]) -> Callable[..., Traced]:
    def of_axis(x: Traced, dim: int | None = None, keepdim: bool = False) -> Traced:
        if not x.shape:
            return ops.full(0, INT64, ())
        _not_empty(x, axes_of(x, dim))
        return function(_comparable(x), axis=None if dim is None else dim % len(x.shape), keepdims=keepdim)

    return of_axis


aten("argmax.default")(_arg(tnp.argmax))
aten("argmin.default")(_arg(tnp.argmin))


def _truth(function: Callable[..., Any]) -> Callable[..., Traced]:
    def of_axes(x: Traced, dim: Any = None, keepdim: bool = False, *, wanted: Wanted) -> Traced:
        truth = x if x.dtype == BOOL else tnp.not_equal(x, 0)
        return as_dtype(function(truth, axis=axes_of(x, dim), keepdims=keepdim), wanted.dtype)

    return of_axes


aten("any.default", "any.dim", "any.dims")(_truth(tnp.any))
aten("all.default", "all.dim", "all.dims")(_truth(tnp.all))


@aten("logsumexp.default")
def logsumexp(x: Traced, dim: Any, keepdim: bool = False) -> Traced:
    of = default_float() if kind_of(x.dtype) < 2 else x.dtype
    axes = axes_of(x, dim)
    _not_empty(x, axes)
    return as_dtype(tnp.logsumexp(as_dtype(x, computed_in(of)), axis=axes, keepdims=keepdim), of)


def _running(function: Callable[..., Any]) -> Callable[..., Traced]:
    def along(x: Traced, dim: int, *, dtype: Any = None) -> Traced:
        of = dtype or (INT64 if kind_of(x.dtype) < 2 else x.dtype)
        value = as_dtype(x, computed_in(of))
        if not x.shape:
            return as_dtype(value, of)
        return as_dtype(function(value, axis=dim % len(x.shape), dtype=value.dtype), of)

    return along


aten("cumsum.default")(_running(tnp.cumulative_sum))
aten("cumprod.default")(_running(tnp.cumulative_prod))


@aten("linalg_vector_norm.default")
def vector_norm(
    x: Traced, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Traced:
    of = dtype or x.dtype
    value = as_dtype(x, computed_in(of))
    axes = axes_of(x, dim)
    size = tnp.abs(value)
    if ord in (float("inf"), float("-inf")):
        _not_empty(x, axes)
        found = (tnp.max if ord > 0 else tnp.min)(size, axis=axes, keepdims=keepdim)
    elif ord == 0:
        found = tnp.sum(as_dtype(tnp.not_equal(value, 0), value.dtype), axis=axes, keepdims=keepdim)
    elif ord == 1:
        found = tnp.sum(size, axis=axes, keepdims=keepdim)
    elif ord == 2:
        found = tnp.sqrt(tnp.sum(value * value, axis=axes, keepdims=keepdim))
    else:
        found = tnp.pow(tnp.sum(tnp.pow(size, ord), axis=axes, keepdims=keepdim), 1 / ord)
    return as_dtype(found, of)
