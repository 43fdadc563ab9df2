"""Normalisations of rows, with what is added or looked up before."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....errors import TenonError
from ... import numpy as tnp
from ..layers.normalisation import layer_normalization
from ..registry import onnx_op
from .activations import DOMAIN

_FLOAT32 = np.dtype(np.float32)


def _normalised(x: Any, scale: Any, bias: Any, epsilon: float, is_simplified: bool) -> tuple[Any, Any, Any]:
    """Returns rows normalised in float32, their means and one over their deviations."""
    wide = tnp.astype(x, _FLOAT32)
    mean = tnp.mean(wide, axis=-1, keepdims=True)
    centred = wide if is_simplified else tnp.subtract(wide, mean)
    variance = tnp.mean(tnp.multiply(centred, centred), axis=-1, keepdims=True)
    inverse = tnp.divide(1.0, tnp.sqrt(tnp.add(variance, epsilon)))
    found = tnp.multiply(tnp.multiply(centred, inverse), tnp.astype(scale, _FLOAT32))
    if bias is not None:
        found = tnp.add(found, tnp.astype(bias, _FLOAT32))
    return tnp.astype(found, x.dtype), mean, inverse


# In models before version 17 the op was onnxruntime's own, and so is the simplified one in all.
@onnx_op("LayerNormalization")
def layer_normalization_before_17(
    x: Any,
    scale: Any,
    bias: Any = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
    n_outputs: int = 1,
) -> Any:
    return layer_normalization(
        x, scale, bias, axis=axis, epsilon=epsilon, stash_type=stash_type, n_outputs=n_outputs
    )


@onnx_op("SimplifiedLayerNormalization")
def simplified_layer_normalization(
    x: Any,
    scale: Any,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
    n_outputs: int = 1,
) -> Any:
    if axis not in (-1, len(x.shape) - 1) or stash_type != 1:
        raise TenonError(f"axis {axis} with stash_type {stash_type} is not supported, expected -1 with 1")
    found, _, inverse = _normalised(x, scale, None, epsilon, True)
    return (found, inverse) if n_outputs > 1 else found


def _skipped(
    x: Any, skip: Any, scale: Any, beta: Any, bias: Any, epsilon: float, is_simplified: bool, n_outputs: int
) -> Any:
    total = tnp.add(x, skip)
    if bias is not None:
        total = tnp.add(total, bias)
    found, mean, inverse = _normalised(total, scale, beta, epsilon, is_simplified)
    results = (found, None if is_simplified else mean, inverse, total)[: max(n_outputs, 1)]
    return results


@onnx_op("SkipLayerNormalization", domain=DOMAIN)
def skip_layer_normalization(
    x: Any,
    skip: Any,
    gamma: Any,
    beta: Any = None,
    bias: Any = None,
    *,
    epsilon: float = 1e-12,
    n_outputs: int = 1,
) -> Any:
    return _skipped(x, skip, gamma, beta, bias, epsilon, False, n_outputs)


@onnx_op("SkipSimplifiedLayerNormalization", domain=DOMAIN)
def skip_simplified_layer_normalization(
    x: Any, skip: Any, gamma: Any, bias: Any = None, *, epsilon: float = 1e-12, n_outputs: int = 1
) -> Any:
    return _skipped(x, skip, gamma, None, bias, epsilon, True, n_outputs)


@onnx_op("EmbedLayerNormalization", domain=DOMAIN)
def embed_layer_normalization(
    ids: Any,
    segment_ids: Any = None,
    words: Any = None,
    positions: Any = None,
    segments: Any = None,
    gamma: Any = None,
    beta: Any = None,
    mask: Any = None,
    position_ids: Any = None,
    *,
    epsilon: float = 1e-12,
    mask_index_type: int = 0,
    n_outputs: int = 1,
) -> Any:
    """Words, places and segments, looked up and added up; and how many words there are by the mask."""
    if mask_index_type:
        raise TenonError(f"mask_index_type {mask_index_type} is not supported")
    if any(each is None for each in (words, positions, gamma, beta)):
        raise TenonError("a table, 'gamma' or 'beta' is missing")
    count = ids.shape[1]
    places = positions[0:count] if position_ids is None else positions[position_ids]
    total = tnp.add(words[ids], places)
    if segment_ids is not None and segments is not None:
        total = tnp.add(total, segments[segment_ids])
    found, _, _ = _normalised(total, gamma, beta, epsilon, False)
    int32 = np.dtype(np.int32)
    if mask is None:
        lengths = tnp.zeros((ids.shape[0],), dtype=int32)
    else:
        lengths = tnp.sum(tnp.astype(tnp.equal(mask, 1), int32), axis=1, dtype=int32)
    return (found, lengths, total)[: max(n_outputs, 1)]
