"""Ops that order elements, and look for their places."""

from __future__ import annotations

from typing import Any

from ... import numpy as tnp
from ...numpy.order_keys import order_keys
from ...tracing import graph_ops as ops
from ...tracing.trace import TracedArray
from .promotion import BOOL, INT64, as_dtype, result_dtype
from .table import NotCoveredError, Traced, Wanted, aten


def _order(x: Traced, axis: int, descending: bool) -> Traced:
    """Returns a stable order. NaN is the greatest, so that it comes first where the greatest does."""
    if x.dtype == BOOL:
        raise NotCoveredError("booleans in order")
    keys = order_keys(x, nan_is_greatest=True) if descending else x
    return tnp.argsort(keys, axis=axis, descending=descending)


@aten("sort.default")
def sort(x: Traced, dim: int = -1, descending: bool = False) -> tuple[Traced, Traced]:
    return sort_stable(x, stable=True, dim=dim, descending=descending)


@aten("sort.stable")
def sort_stable(
    x: Traced, *, stable: bool | None, dim: int = -1, descending: bool = False
) -> tuple[Traced, Traced]:
    if not x.shape:
        return x, ops.full(0, INT64, ())
    axis = dim % len(x.shape)
    order = _order(x, axis, descending)
    return tnp.take_along_axis(x, order, axis=axis), order


@aten("topk.default")
def topk(
    x: Traced, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Traced, Traced]:
    if not isinstance(k, int):
        raise NotCoveredError("a number of elements that is known when it runs")
    if not x.shape:
        return x, ops.full(0, INT64, ())
    if x.dtype == BOOL:
        raise NotCoveredError("booleans in order")
    axis = dim % len(x.shape)
    keys = order_keys(x, nan_is_greatest=True)
    # Where all bits are turned, the least is the greatest.
    _, first = tnp.top_k(keys if largest else tnp.bitwise_invert(keys), k, axis=axis)
    return tnp.take_along_axis(x, first, axis=axis), first


@aten("searchsorted.Tensor", "searchsorted.Scalar")
def searchsorted(
    boundaries: Traced,
    x: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Traced | None = None,
    wanted: Wanted,
) -> Traced:
    if len(boundaries.shape) != 1 or sorter is not None or not isinstance(x, TracedArray):
        raise NotCoveredError("boundaries that are no one vector in order")
    dtype = result_dtype(boundaries, x)
    found = ops.search_sorted(
        as_dtype(boundaries, dtype), as_dtype(x, dtype), "right" if right or side == "right" else "left"
    )
    return as_dtype(found, wanted.dtype)


@aten("bucketize.Tensor")
def bucketize(
    x: Traced, boundaries: Traced, *, out_int32: bool = False, right: bool = False, wanted: Wanted
) -> Traced:
    return searchsorted(boundaries, x, right=right, wanted=wanted)
