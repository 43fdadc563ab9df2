"""Normalisations: elements less their mean, divided by their deviation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....errors import TenonError
from ... import numpy as tnp
from ...arrays.array import Array
from ...numpy.arguments.axes import axis_of
from ...random import uniform
from ..ops.random_numbers import key_of
from ..registry import onnx_op
from ..tensors import dtype_of_number


def _per_channel(x: Array, rank: int) -> Array:
    """Returns a vector as one along axis 1."""
    return tnp.reshape(x, (1, x.shape[0], *[1] * (rank - 2)))


@onnx_op("BatchNormalization", since=7)
def batch_normalization(
    x: Array,
    scale: Array,
    bias: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
    spatial: int = 1,
    n_outputs: int = 1,
) -> Any:
    """By the statistics that are given; in training by those of `x`, which are mixed with what is given."""
    if not spatial:
        raise TenonError("spatial = 0 is not supported")
    rank = len(x.shape)
    if not training_mode and n_outputs > 1:
        raise TenonError(f"{n_outputs} results without training_mode")
    used_mean, used_variance = mean, variance
    if training_mode:
        axes = tuple(axis for axis in range(rank) if axis != 1)
        used_mean = tnp.astype(tnp.mean(x, axis=axes), mean.dtype)
        used_variance = tnp.astype(tnp.var(x, axis=axes), variance.dtype)
    dtype = x.dtype
    factor = tnp.divide(scale, tnp.sqrt(tnp.add(tnp.astype(used_variance, scale.dtype), epsilon)))
    offset = tnp.subtract(bias, tnp.multiply(tnp.astype(used_mean, scale.dtype), factor))
    found = tnp.add(tnp.multiply(x, _per_channel(factor, rank)), _per_channel(offset, rank))
    found = tnp.astype(found, dtype)
    if not training_mode:
        return found
    mixed = [
        tnp.add(tnp.multiply(old, momentum), tnp.multiply(new, 1 - momentum))
        for old, new in ((mean, used_mean), (variance, used_variance))
    ]
    return found, *mixed


def _normalized(x: Any, axes: tuple[int, ...], epsilon: float) -> tuple[Any, Any, Any]:
    """Returns elements less their mean over their deviation, the mean, and one over the deviation."""
    mean = tnp.mean(x, axis=axes, keepdims=True)
    centered = tnp.subtract(x, mean)
    variance = tnp.mean(tnp.multiply(centered, centered), axis=axes, keepdims=True)
    inverse = tnp.divide(1.0, tnp.sqrt(tnp.add(variance, epsilon)))
    return tnp.multiply(centered, inverse), mean, inverse


@onnx_op("InstanceNormalization", since=6)
def instance_normalization(x: Array, scale: Array, bias: Array, *, epsilon: float = 1e-5) -> Array:
    rank = len(x.shape)
    found, _, _ = _normalized(x, tuple(range(2, rank)), epsilon)
    return tnp.add(tnp.multiply(found, _per_channel(scale, rank)), _per_channel(bias, rank))


@onnx_op("LayerNormalization", since=17)
def layer_normalization(
    x: Array,
    scale: Array,
    bias: Array | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
    n_outputs: int = 1,
) -> Any:
    """Over the axes from `axis` on, in the dtype that `stash_type` says."""
    place = axis_of("LayerNormalization", axis, len(x.shape))
    wide = tnp.astype(x, dtype_of_number(stash_type, "LayerNormalization"))
    found, mean, inverse = _normalized(wide, tuple(range(place, len(x.shape))), epsilon)
    found = tnp.multiply(tnp.astype(found, x.dtype), scale)
    found = found if bias is None else tnp.add(found, bias)
    return (found, mean, inverse)[: max(n_outputs, 1)] if n_outputs > 1 else found


@onnx_op("RMSNormalization", since=23)
def rms_normalization(
    x: Array, scale: Array, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Array:
    place = axis_of("RMSNormalization", axis, len(x.shape))
    wide = tnp.astype(x, dtype_of_number(stash_type, "RMSNormalization"))
    axes = tuple(range(place, len(x.shape)))
    squares = tnp.mean(tnp.multiply(wide, wide), axis=axes, keepdims=True)
    found = tnp.divide(wide, tnp.sqrt(tnp.add(squares, epsilon)))
    return tnp.multiply(tnp.astype(found, x.dtype), scale)


def _groups(x: Any, n_groups: int, epsilon: float) -> Any:
    """Returns `x` normalized over each group of channels."""
    batch, channels, *rest = x.shape
    if channels % n_groups:
        raise TenonError(f"{channels} channels in {n_groups} groups")
    rows = tnp.reshape(x, (batch, n_groups, channels // n_groups * math.prod(rest)))
    return tnp.reshape(_normalized(rows, (2,), epsilon)[0], x.shape)


@onnx_op("GroupNormalization", since=21)
def group_normalization(
    x: Array, scale: Array, bias: Array, *, epsilon: float = 1e-5, num_groups: int, stash_type: int = 1
) -> Array:
    wide = tnp.astype(x, dtype_of_number(stash_type, "GroupNormalization"))
    found = tnp.astype(_groups(wide, num_groups, epsilon), x.dtype)
    rank = len(x.shape)
    return tnp.add(tnp.multiply(found, _per_channel(scale, rank)), _per_channel(bias, rank))


@onnx_op("GroupNormalization", since=18)
def group_normalization_of_groups(
    x: Array, scale: Array, bias: Array, *, epsilon: float = 1e-5, num_groups: int
) -> Array:
    """In versions before 21 there is one scale for each group."""
    each = x.shape[1] // num_groups
    return group_normalization(
        x,
        tnp.repeat(scale, each),
        tnp.repeat(bias, each),
        epsilon=epsilon,
        num_groups=num_groups,
        stash_type=1 if x.dtype != np.dtype(np.float64) else 11,
    )


@onnx_op("LpNormalization")
def lp_normalization(x: Array, *, axis: int = -1, p: int = 2) -> Array:
    """What is 0 along `axis` stays 0."""
    if p not in (1, 2):
        raise TenonError(f"p is {p}, expected 1 or 2")
    size = tnp.abs(x) if p == 1 else tnp.multiply(x, x)
    norm = tnp.sum(size, axis=axis, keepdims=True)
    norm = norm if p == 1 else tnp.sqrt(norm)
    is_none = tnp.equal(norm, 0)
    return tnp.where(is_none, tnp.zeros_like(x), tnp.divide(x, tnp.where(is_none, tnp.ones_like(norm), norm)))


@onnx_op("MeanVarianceNormalization", since=9)
def mean_variance_normalization(x: Array, *, axes: list[int] | None = None) -> Array:
    along = tuple(axes) if axes is not None else (0, 2, 3)
    mean = tnp.mean(x, axis=along, keepdims=True)
    deviation = tnp.std(x, axis=along, keepdims=True)
    return tnp.divide(tnp.subtract(x, mean), tnp.add(deviation, 1e-9))


@onnx_op("LRN")
def local_response_normalization(
    x: Array, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> Array:
    """By the squares of the `size` channels around each."""
    low = (size - 1) // 2
    high = size - 1 - low
    rank = len(x.shape)
    widths = [(0, 0)] * rank
    widths[1] = (low, high)
    squares = tnp.pad(tnp.multiply(x, x), widths)
    channels = x.shape[1]
    total = squares[:, 0:channels]
    for k in range(1, size):
        total = tnp.add(total, squares[:, k : k + channels])
    return tnp.divide(x, tnp.pow(tnp.add(tnp.multiply(total, alpha / size), bias), beta))


@onnx_op("Dropout", since=12, known=("ratio", "training_mode"))
def dropout(
    x: Array,
    ratio: Any = None,
    training_mode: Any = None,
    *,
    seed: int | None = None,
    n_outputs: int = 1,
    context: Any = None,
) -> Any:
    """The elements as they are; in training a share of them is 0, and the others are larger for it."""
    share = 0.5 if ratio is None else float(ratio.reshape(()))
    if not 0 <= share < 1:
        raise TenonError(f"the ratio is {share}, expected one from 0 to below 1")
    if training_mode is not None and training_mode.reshape(()) and share:
        drawn = uniform(key_of(seed, context), x.shape, np.dtype(np.float32))
        kept = tnp.greater_equal(drawn, share)
        found = tnp.where(kept, tnp.multiply(x, 1 / (1 - share)), tnp.zeros_like(x))
        return (found, kept) if n_outputs > 1 else found
    return (x, tnp.ones(x.shape, dtype=np.dtype(np.bool_))) if n_outputs > 1 else x


@onnx_op("Dropout")
def dropout_attributes(x: Array, *, ratio: float = 0.5, n_outputs: int = 1) -> Any:
    return dropout(x, n_outputs=n_outputs)
