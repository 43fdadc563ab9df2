"""Bags of rows: what `torch.nn.EmbeddingBag` sums up, and its gradients."""

from __future__ import annotations

from typing import Any

from ... import numpy as tnp
from ...tracing import graph_ops as ops
from .promotion import INT64, as_dtype, computed_in
from .table import NotCoveredError, Traced, Wanted, aten

_SUM, _MEAN = 0, 1


def _bag_of(indices: Traced, offsets: Traced) -> Traced:
    """Returns the number of the bag of each index."""
    places = ops.iota(0, INT64, (indices.shape[0],))
    after = tnp.searchsorted(as_dtype(offsets, INT64), places, side="right")
    return as_dtype(after, INT64) - as_dtype(1, INT64)


def _is_counted(indices: Traced, padding: int) -> Traced | None:
    """Returns which indices count, None where all do."""
    return None if padding < 0 else tnp.not_equal(indices, as_dtype(padding, indices.dtype))


def _counts(bags: Traced, counted: Traced | None, size: Any) -> Traced:
    one = as_dtype(1, INT64)
    ones = ops.broadcast(one, tuple(bags.shape)) if counted is None else as_dtype(counted, INT64)
    return ops.scatter("add", ops.full(0, INT64, (size,)), (bags,), ones, (0,))


def _check(scale: bool, mode: int) -> None:
    if scale:
        raise NotCoveredError("scale_grad_by_freq")
    if mode not in (_SUM, _MEAN):
        raise NotCoveredError("the greatest of bags")


@aten("_embedding_bag.default", "_embedding_bag_forward_only.default")
def embedding_bag(
    weight: Traced,
    indices: Traced,
    offsets: Traced,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Traced | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
    *,
    wanted: tuple[Wanted, ...],
) -> tuple[Traced, ...]:
    _check(False, mode)
    within = computed_in(weight.dtype)
    bags, counted = _bag_of(indices, offsets), _is_counted(indices, padding_idx)
    size = wanted[0].shape[0]
    rows: Traced = as_dtype(ops.gather(weight, (as_dtype(indices, INT64),), (0,)), within)
    if per_sample_weights is not None:
        rows = rows * tnp.expand_dims(as_dtype(per_sample_weights, within), -1)
    if counted is not None:
        rows = tnp.where(tnp.expand_dims(counted, -1), rows, as_dtype(0, within))
    found: Traced = ops.scatter("add", ops.full(0, within, wanted[0].shape), (bags,), rows, (0,))
    counts = _counts(bags, counted, size)
    if mode == _MEAN:
        found = found / tnp.expand_dims(as_dtype(tnp.maximum(counts, as_dtype(1, INT64)), within), -1)
    others = [_fitting(value, each) for value, each in zip((bags, counts, counts), wanted[1:], strict=True)]
    return (as_dtype(found, weight.dtype), *others)


def _fitting(value: Traced, wanted: Wanted) -> Traced:
    """Returns what torch keeps for the gradients, as long as it has it: it is not read by those here."""
    value = as_dtype(value, wanted.dtype)
    if tuple(value.shape) == wanted.shape:
        return value
    return ops.full(0, wanted.dtype, wanted.shape)


@aten("_embedding_bag_backward.default", "_embedding_bag_dense_backward.default")
def embedding_bag_backward(
    grad: Traced,
    indices: Traced,
    offsets: Traced,
    offset2bag: Traced,
    bag_size: Traced,
    maximum_indices: Traced,
    num_weights: Any,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Traced | None,
    padding_idx: int = -1,
    *,
    wanted: Wanted,
) -> Traced:
    _check(scale_grad_by_freq, mode)
    within = computed_in(grad.dtype)
    bags, counted = _bag_of(indices, offsets), _is_counted(indices, padding_idx)
    above = as_dtype(grad, within)
    if mode == _MEAN:
        counts = tnp.maximum(_counts(bags, counted, grad.shape[0]), as_dtype(1, INT64))
        above = above / tnp.expand_dims(as_dtype(counts, within), -1)
    rows = ops.gather(above, (bags,), (0,))
    if per_sample_weights is not None:
        rows = rows * tnp.expand_dims(as_dtype(per_sample_weights, within), -1)
    places: Traced = as_dtype(indices, INT64)
    if counted is not None:
        # What is out of range is dropped.
        places = tnp.where(counted, places, as_dtype(num_weights, INT64))
    return as_dtype(ops.scatter("add", ops.full(0, within, wanted.shape), (places,), rows, (0,)), grad.dtype)
