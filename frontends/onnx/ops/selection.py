"""The greatest elements, and those that a condition chooses."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....errors import TenonError
from ... import numpy as tnp
from ...arrays.array import Array
from ...numpy.arguments.axes import axis_of
from ..registry import onnx_op
from ..values import ints


@onnx_op("TopK", since=10, known=("k",))
def top_k(x: Array, k: Any, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> tuple[Array, Array]:
    """The greatest or least elements in order, and their indices: of equal ones the first comes first."""
    count = ints(k)[0]
    place = axis_of("TopK", axis, len(x.shape))
    extent: Any = x.shape[place]
    if isinstance(count, int) and isinstance(extent, int) and not 0 <= count <= extent:
        raise TenonError(f"k is {count}, axis {axis} has {extent} elements")
    if largest and isinstance(count, int) and isinstance(extent, int):
        return tnp.top_k(x, count, axis=place)
    order = tnp.argsort(x, axis=place, descending=bool(largest), stable=True)
    index = order[(*[slice(None)] * place, slice(0, count))]
    return tnp.take_along_axis(x, index, axis=place), tnp.astype(index, np.dtype(np.int64))


@onnx_op("TopK")
def top_k_attribute(x: Array, *, k: int, axis: int = -1) -> tuple[Array, Array]:
    return top_k(x, np.array([k], np.int64), axis=axis)


@onnx_op("OneHot", since=9, known=("depth",))
def one_hot(indices: Array, depth: Any, values: Any, *, axis: int = -1) -> Array:
    """The second of `values` at the index that each element is, which may be negative, else the first."""
    count = int(depth.reshape(-1)[0])
    rank = len(indices.shape) + 1
    place = axis_of("OneHot", axis, rank)
    index = tnp.astype(indices, np.dtype(np.int64))
    index = tnp.expand_dims(tnp.where(tnp.less(index, 0), tnp.add(index, count), index), place)
    shape = [1] * rank
    shape[place] = count
    is_on = tnp.equal(index, tnp.reshape(tnp.arange(count), shape))
    return tnp.where(is_on, values[1], values[0])


@onnx_op("NonZero", known=("x",))
def non_zero(x: Any) -> Any:
    return np.array(np.nonzero(x), np.int64).reshape(x.ndim, -1)


@onnx_op("Compress", known=("condition",))
def compress(x: Array, condition: Any, *, axis: int | None = None) -> Array:
    """The slices along `axis`, or the elements, for which the condition holds."""
    source = tnp.reshape(x, (x.size,)) if axis is None else x
    index = np.nonzero(condition)[0].astype(np.int64)
    place = 0 if axis is None else axis_of("Compress", axis, len(x.shape))
    return tnp.take(source, [int(each) for each in index], axis=place) if len(index) else _none(source, place)


def _none(x: Any, axis: int) -> Any:
    return x[(*[slice(None)] * axis, slice(0, 0))]


@onnx_op("Unique", known=("x",))
def unique(x: Any, *, axis: int | None = None, sorted: int = 1) -> Any:
    """The elements, or slices along `axis`, that are there: where each is first, which each is, how often."""
    values, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first)
        values = np.take(values, order, 0 if axis is None else axis)
        first, counts = first[order], counts[order]
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        inverse = rank[inverse]
    return values, *(each.astype(np.int64) for each in (first, inverse, counts))
