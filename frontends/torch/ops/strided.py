"""
Ops that say where elements lie in the memory of a tensor. Its elements are taken in the order in which torch
has them there.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...tracing import graph_ops as ops
from .promotion import as_dtype
from .table import Layout, NotCoveredError, Traced, aten


def _flat(x: Traced, layout: Layout) -> Traced:
    """
    Returns the elements of a tensor as they lie in memory.

    Raises:
        NotCoveredError: there are others between them.
    """
    if layout.has_gaps:
        raise NotCoveredError("a tensor that is not all of its memory")
    placed = x if layout.order == tuple(range(len(layout.order))) else ops.permute(x, layout.order)
    return ops.reshape(placed, (prod(x.shape),))


def _unflat(flat: Traced, shape: Sequence[Any], order: Sequence[int]) -> Traced:
    """Returns a tensor whose elements lie in memory as they are given, with its axes in `order`."""
    placed = ops.reshape(flat, tuple(shape[axis] for axis in order))
    return ops.permute(placed, np.argsort(order).tolist()) if len(shape) else placed


def _whole_order(
    flat: Traced, size: Sequence[Any], stride: Sequence[Any], start: Any
) -> tuple[int, ...] | None:
    """Returns the order of the axes in memory of what fills a tensor's from its beginning, else None."""
    if start != 0 or prod(size) != flat.shape[0]:
        return None
    step: Any = 1
    left = list(range(len(size)))
    order: list[int] = []
    while left:
        inner = next((axis for axis in reversed(left) if size[axis] == 1 or stride[axis] == step), None)
        if inner is None:
            return None
        order.insert(0, inner)
        left.remove(inner)
        step = step * size[inner]
    return tuple(order)


def _places(x: Traced, size: Sequence[Any], stride: Sequence[Any], start: int) -> Traced:
    """Returns where in the memory of a tensor the elements of another one are."""
    known = (*x.shape, *size, *stride, start)
    if any(not isinstance(each, int) for each in known):
        raise NotCoveredError("places in memory that are known when it runs")
    steps: np.ndarray[Any, Any] = np.array(stride, np.int64)
    places: np.ndarray[Any, Any] = np.asarray(np.tensordot(steps, np.indices(tuple(size)), 1) + start)
    if places.size and not 0 <= np.min(places) <= np.max(places) < prod(x.shape):
        raise NotCoveredError("places outside of the tensor")
    return ops.constant(places)


def _start(offset: Any, layout: Layout) -> Any:
    """Returns where something begins, counted from the beginning of the tensor."""
    return 0 if offset is None else offset - layout.offset


@aten("as_strided.default", "as_strided_copy.default")
def as_strided(
    x: Traced, size: Sequence[Any], stride: Sequence[Any], offset: Any = None, *, layouts: Sequence[Layout]
) -> Traced:
    flat, start = _flat(x, layouts[0]), _start(offset, layouts[0])
    order = _whole_order(flat, size, stride, start)
    if order is not None:
        return _unflat(flat, size, order)
    return ops.gather(flat, (_places(x, size, stride, start),), (0,))


@aten("as_strided_scatter.default")
def as_strided_scatter(
    x: Traced,
    src: Traced,
    size: Sequence[Any],
    stride: Sequence[Any],
    offset: Any = None,
    *,
    layouts: Sequence[Layout],
) -> Traced:
    flat, start = _flat(x, layouts[0]), _start(offset, layouts[0])
    order = _whole_order(flat, size, stride, start)
    source = as_dtype(src, x.dtype)
    if order is not None:
        placed = ops.permute(source, order) if order else source
        return _unflat(ops.reshape(placed, tuple(flat.shape)), x.shape, layouts[0].order)
    found = ops.scatter("set", flat, (_places(x, size, stride, start),), source, (0,))
    return _unflat(found, x.shape, layouts[0].order)
