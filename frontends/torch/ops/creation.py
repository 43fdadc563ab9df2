"""Ops that make tensors of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as tnp
from ...arrays.promotion import kind_of
from ...tracing import graph_ops as ops
from .promotion import INT64, as_dtype, computed_in
from .table import NotCoveredError, Traced, Wanted, aten


def _full(value: Any, wanted: Wanted) -> Traced:
    return ops.broadcast(as_dtype(value, wanted.dtype), wanted.shape)


@aten("full.default", "new_full.default", "full_like.default")
def full(like_or_size: Any, *arguments: Any, wanted: Wanted, **options: Any) -> Traced:
    named = [options[name] for name in ("fill_value",) if name in options]
    return _full((*arguments, *named)[-1], wanted)


@aten(
    "zeros.default",
    "zeros_like.default",
    "new_zeros.default",
    "empty.memory_format",
    "empty_like.default",
    "empty_strided.default",
    "empty_permuted.default",
    "new_empty.default",
    "new_empty_strided.default",
)
def zeros(*arguments: Any, wanted: Wanted, **options: Any) -> Traced:
    return _full(0, wanted)


@aten("ones.default", "ones_like.default", "new_ones.default")
def ones(*arguments: Any, wanted: Wanted, **options: Any) -> Traced:
    return _full(1, wanted)


def _ramp(start: Any, step: Any, wanted: Wanted) -> Traced:
    """Returns `start + i * step`, computed as torch does: in int64, or in float64 and rounded at the end."""
    within = INT64 if kind_of(wanted.dtype) < 2 else np.dtype(np.float64)
    index = ops.iota(0, within, wanted.shape)
    return as_dtype(as_dtype(start, within) + index * as_dtype(step, within), wanted.dtype)


@aten("arange.default")
def arange(end: Any, dtype: Any = None, *, wanted: Wanted) -> Traced:
    return _ramp(0, 1, wanted)


@aten("arange.start")
def arange_start(start: Any, end: Any, dtype: Any = None, *, wanted: Wanted) -> Traced:
    return _ramp(start, 1, wanted)


@aten("arange.start_step")
def arange_step(start: Any, end: Any, step: Any = 1, dtype: Any = None, *, wanted: Wanted) -> Traced:
    return _ramp(start, step, wanted)


@aten("prims::iota.default")
def iota(length: Any, *, start: Any, step: Any, dtype: Any, requires_grad: bool, wanted: Wanted) -> Traced:
    return _ramp(start, step, wanted)


@aten("eye.default", "eye.m")
def eye(rows: Any, columns: Any = None, *, dtype: Any = None, wanted: Wanted) -> Traced:
    row, column = (ops.iota(axis, INT64, wanted.shape) for axis in (0, 1))
    return as_dtype(tnp.equal(row, column), wanted.dtype)


def _within(x: Traced, diagonal: int, *, is_lower: bool) -> Traced:
    """Returns `x` with zeros above a diagonal, or below it."""
    if len(x.shape) < 2:
        raise NotCoveredError(f"a triangle of rank {len(x.shape)}")
    row, column = (ops.iota(len(x.shape) - 2 + axis, INT64, x.shape) for axis in (0, 1))
    offset = column - row
    kept = tnp.less_equal(offset, diagonal) if is_lower else tnp.greater_equal(offset, diagonal)
    return tnp.where(kept, x, as_dtype(0, x.dtype))


@aten("tril.default")
def tril(x: Traced, diagonal: int = 0) -> Traced:
    return _within(x, diagonal, is_lower=True)


@aten("triu.default")
def triu(x: Traced, diagonal: int = 0) -> Traced:
    return _within(x, diagonal, is_lower=False)


def _triangle(rows: int, columns: int, offset: int, dtype: Any, *, is_lower: bool) -> Traced:
    within = np.tril_indices if is_lower else np.triu_indices
    return ops.constant(np.stack(within(rows, offset, columns)).astype(dtype or INT64))


@aten("tril_indices.default")
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None) -> Traced:
    return _triangle(row, col, offset, dtype, is_lower=True)


@aten("triu_indices.default")
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None) -> Traced:
    return _triangle(row, col, offset, dtype, is_lower=False)


@aten("linspace.default")
def linspace(start: float, end: float, steps: int, *, wanted: Wanted, **options: Any) -> Traced:
    """Computed from both ends, as torch does, so that the last element is `end`."""
    if kind_of(wanted.dtype) < 2:
        raise NotCoveredError("integers along a line")
    within = computed_in(wanted.dtype)
    if steps == 1:
        return _full(start, wanted)
    index = ops.iota(0, within, wanted.shape)
    first, last = as_dtype(start, within), as_dtype(end, within)
    step = (last - first) / as_dtype(steps - 1, within)
    upper = last - step * (as_dtype(steps - 1, within) - index)
    found = tnp.where(tnp.less(ops.iota(0, INT64, wanted.shape), steps // 2), first + step * index, upper)
    return as_dtype(found, wanted.dtype)
