"""Sums and the like along axes, cumulative ones, and the places of extrema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import numpy as tnp
from ...arrays.array import Array
from ...numpy.arguments.axes import axis_of
from ...tracing import graph_ops as ops
from ..registry import onnx_op
from ..values import ints

Axes = tuple[int, ...]
Reduction = Callable[[Any, Axes, bool], Any]


def _plain(kind: str) -> Reduction:
    """Returns a reduction that has a result for no elements too, for `max` the least there is."""

    def reduced(x: Any, axes: Axes, keep: bool) -> Any:
        if x.dtype.kind == "b":
            return ops.reduce({"max": "or", "min": "and"}[kind], x, axes, keep)
        return ops.reduce(kind, x, axes, keep)

    return reduced


_sum, _product, _greatest, _least = map(_plain, ("add", "mul", "max", "min"))


def _mean(x: Any, axes: Axes, keep: bool) -> Any:
    return tnp.mean(x, axis=axes, keepdims=keep)


def _l1(x: Any, axes: Axes, keep: bool) -> Any:
    return _sum(tnp.abs(x), axes, keep)


def _sum_of_squares(x: Any, axes: Axes, keep: bool) -> Any:
    return _sum(tnp.multiply(x, x), axes, keep)


def _l2(x: Any, axes: Axes, keep: bool) -> Any:
    if x.dtype.kind in "iu":
        wide = tnp.astype(x, np.dtype(np.float64))
        return tnp.astype(tnp.sqrt(_sum_of_squares(wide, axes, keep)), x.dtype)
    return tnp.sqrt(_sum_of_squares(x, axes, keep))


def _log_sum(x: Any, axes: Axes, keep: bool) -> Any:
    return tnp.log(_sum(x, axes, keep))


def _log_sum_exp(x: Any, axes: Axes, keep: bool) -> Any:
    return ops.logsumexp(x, axes, keep)


_REDUCTIONS: dict[str, tuple[Reduction, int]] = {
    "ReduceL1": (_l1, 18),
    "ReduceL2": (_l2, 18),
    "ReduceLogSum": (_log_sum, 18),
    "ReduceLogSumExp": (_log_sum_exp, 18),
    "ReduceMax": (_greatest, 18),
    "ReduceMean": (_mean, 18),
    "ReduceMin": (_least, 18),
    "ReduceProd": (_product, 18),
    "ReduceSum": (_sum, 13),
    "ReduceSumSquare": (_sum_of_squares, 18),
}
"""What each reduction is, and the version from which on its axes are an input."""


def _along(x: Array, axes: tuple[Any, ...]) -> Axes:
    rank = len(x.shape)
    return tuple(sorted({axis_of("axes", axis, rank) for axis in axes}))


def _register(name: str, reduction: Reduction, since: int) -> None:
    @onnx_op(name, since=since, known=("axes",))
    def with_input(  # pyright: ignore[reportUnusedFunction]
        x: Array, axes: Any = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> Array:
        if axes is None or not axes.size:
            along = () if noop_with_empty_axes else tuple(range(len(x.shape)))
            if noop_with_empty_axes and reduction in (_sum, _product, _greatest, _least, _mean, _log_sum_exp):
                return x
        else:
            along = _along(x, ints(axes))
        return reduction(x, along, bool(keepdims))

    @onnx_op(name)
    def with_attribute(  # pyright: ignore[reportUnusedFunction]
        x: Array, *, axes: list[int] | None = None, keepdims: int = 1
    ) -> Array:
        along = _along(x, tuple(axes)) if axes else tuple(range(len(x.shape)))
        return reduction(x, along, bool(keepdims))


for _name, (_reduction, _since) in _REDUCTIONS.items():
    _register(_name, _reduction, _since)


def _arg_extremum(
    x: Array, function: Callable[..., Array], axis: int, keepdims: int, select_last_index: int
) -> Array:
    keep = bool(keepdims)
    if not select_last_index:
        return function(x, axis=axis, keepdims=keep)
    return tnp.subtract(x.shape[axis] - 1, function(tnp.flip(x, axis=axis), axis=axis, keepdims=keep))


@onnx_op("ArgMax")
def arg_max(x: Array, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Array:
    return _arg_extremum(x, tnp.argmax, axis, keepdims, select_last_index)


@onnx_op("ArgMin")
def arg_min(x: Array, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Array:
    return _arg_extremum(x, tnp.argmin, axis, keepdims, select_last_index)


def _cumulated(kind: str, x: Any, axis: Any, exclusive: int, reverse: int) -> Array:
    place = axis_of("axis", ints(axis)[0], len(x.shape))
    return ops.cumulate(kind, x, place, reverse=bool(reverse), exclusive=bool(exclusive))


@onnx_op("CumSum", since=11, known=("axis",))
def cumulative_sum(x: Array, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Array:
    return _cumulated("add", x, axis, exclusive, reverse)


@onnx_op("CumProd", known=("axis",))
def cumulative_product(x: Array, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Array:
    return _cumulated("mul", x, axis, exclusive, reverse)
