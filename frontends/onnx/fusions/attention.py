"""Attention of several heads: onnxruntime's Attention, MultiHeadAttention and GroupQueryAttention."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from ....errors import TenonError
from ... import nn
from ... import numpy as tnp
from ..registry import onnx_op
from .activations import DOMAIN
from .positions import joined_heads, rotated, split_heads

_INT32 = np.dtype(np.int32)


def _attended(
    query: Any, key: Any, value: Any, scale: float, masks: list[Any], softcap: float = 0.0
) -> tuple[Any, Any]:
    """
    Returns what heads, (batch, head, place, number), find by their keys, and the scores before `softmax`, to
    which `masks` are added.
    """
    factor = scale or 1 / math.sqrt(query.shape[-1])
    scores: Any = tnp.multiply(tnp.matmul(query, tnp.matrix_transpose(key)), factor)
    if softcap:
        scores = tnp.multiply(tnp.tanh(tnp.divide(scores, softcap)), softcap)
    for mask in masks:
        scores = tnp.add(scores, tnp.astype(mask, scores.dtype))
    return tnp.matmul(nn.softmax(scores), value), scores


def _lowest(dtype: np.dtype[Any]) -> float:
    return -1e30 if dtype.itemsize > 2 else -6e4


def _barred(is_open: Any, number: float, dtype: np.dtype[Any]) -> Any:
    """Returns 0 where a key may be seen, and `number` where it may not."""
    return tnp.where(is_open, tnp.zeros((), dtype=dtype), tnp.full((), number, dtype=dtype))


def _causal(n_queries: Any, n_keys: Any, dtype: np.dtype[Any]) -> Any:
    """Returns what bars keys behind a query; the last query sees all keys."""
    rows = tnp.expand_dims(tnp.arange(n_queries), -1)
    last = tnp.add(rows, n_keys - n_queries)
    return _barred(tnp.less_equal(tnp.arange(n_keys), last), _lowest(dtype), dtype)


def _padding_mask(mask: Any, batch: Any, n_keys: Any, number: float, dtype: np.dtype[Any]) -> Any:
    """Returns what bars keys by lengths, (batch,), or by a mask that is 1 for those that are seen."""
    rank = len(mask.shape)
    if rank == 1 and mask.shape[0] == batch:
        is_open = tnp.less(tnp.arange(n_keys, dtype=_INT32), tnp.reshape(mask, (batch, 1, 1, 1)))
    elif rank == 2:
        is_open = tnp.reshape(tnp.not_equal(mask, 0), (batch, 1, 1, n_keys))
    elif rank == 3:
        is_open = tnp.expand_dims(tnp.not_equal(mask, 0), 1)
    else:
        raise TenonError(f"a mask of shape {mask.shape} is not supported")
    return _barred(is_open, number, dtype)


@onnx_op("Attention", domain=DOMAIN)
def attention(
    x: Any,
    weights: Any,
    bias: Any = None,
    mask: Any = None,
    past: Any = None,
    attention_bias: Any = None,
    past_sequence_length: Any = None,
    *,
    num_heads: int,
    do_rotary: int = 0,
    mask_filter_value: float = -10000.0,
    past_present_share_buffer: int = 0,
    qkv_hidden_sizes: list[int] | None = None,
    rotary_embedding_dim: int = 0,
    scale: float = 0.0,
    unidirectional: int = 0,
    n_outputs: int = 1,
) -> Any:
    """Queries, keys and values are products of the input; those of earlier calls are in `past`."""
    if do_rotary or past_present_share_buffer or past_sequence_length is not None:
        raise TenonError("do_rotary and past_present_share_buffer are not supported")
    every: Any = tnp.matmul(x, weights)
    if bias is not None:
        every = tnp.add(every, bias)
    width = every.shape[-1]
    sizes = qkv_hidden_sizes or [width // 3] * 3
    if len(sizes) != 3 or sum(sizes) != width:
        raise TenonError(f"queries, keys and values of {sizes} in {width} columns")
    first, second = sizes[0], sizes[0] + sizes[1]
    parts = every[..., :first], every[..., first:second], every[..., second:]
    query, key, value = (split_heads(each, num_heads) for each in parts)
    if past is not None:
        key, value = (tnp.concat([past[k], each], axis=2) for k, each in enumerate((key, value)))
    n_keys = key.shape[2]
    masks: list[Any] = []
    if mask is not None:
        masks.append(_padding_mask(mask, x.shape[0], n_keys, mask_filter_value, x.dtype))
    if unidirectional:
        masks.append(_causal(query.shape[2], n_keys, x.dtype))
    if attention_bias is not None:
        masks.append(attention_bias)
    found = joined_heads(_attended(query, key, value, scale, masks)[0])
    return (found, tnp.stack([key, value])) if n_outputs > 1 else found


@onnx_op("MultiHeadAttention", domain=DOMAIN)
def multi_head_attention(
    query: Any,
    key: Any = None,
    value: Any = None,
    bias: Any = None,
    key_padding_mask: Any = None,
    attention_bias: Any = None,
    past_key: Any = None,
    past_value: Any = None,
    past_sequence_length: Any = None,
    cache_indirection: Any = None,
    *,
    num_heads: int,
    mask_filter_value: float = -10000.0,
    scale: float = 0.0,
    unidirectional: int = 0,
    n_outputs: int = 1,
) -> Any:
    """
    Queries, keys and values are rows, or packed in one array, (batch, place, head, 2 or 3, number); keys and
    values may be heads already.
    """
    if past_sequence_length is not None or cache_indirection is not None:
        raise TenonError("keys and values in a buffer with more room are not supported")
    batch = query.shape[0]
    if len(query.shape) == 5:
        if key is not None or value is not None:
            raise TenonError("keys and values beside those that are packed with queries")
        query, key, value = (_unpacked(query, k) for k in range(3))
    elif key is not None and len(key.shape) == 5:
        key, value = (_unpacked(key, k) for k in range(2))
    if key is None or value is None or (len(key.shape) not in (3, 4)):
        raise TenonError("keys and values are missing, or in an order that is not supported")
    if bias is not None:
        sizes = [each.shape[-1] * (num_heads if len(each.shape) == 4 else 1) for each in (query, key)]
        starts = [0, sizes[0], sizes[0] + sizes[1], bias.shape[0]]
        given = [bias[start:end] for start, end in pairwise(starts)]
        query, key, value = (
            tnp.add(each, part) if len(each.shape) == 3 else each
            for each, part in zip((query, key, value), given, strict=True)
        )
    query, key, value = (
        split_heads(each, num_heads) if len(each.shape) == 3 else each for each in (query, key, value)
    )
    if past_key is not None and past_value is not None:
        key, value = tnp.concat([past_key, key], axis=2), tnp.concat([past_value, value], axis=2)
    n_keys = key.shape[2]
    masks: list[Any] = []
    if key_padding_mask is not None:
        masks.append(_padding_mask(key_padding_mask, batch, n_keys, mask_filter_value, query.dtype))
    if unidirectional:
        masks.append(_causal(query.shape[2], n_keys, query.dtype))
    if attention_bias is not None:
        masks.append(attention_bias)
    found, scores = _attended(query, key, value, scale, masks)
    return (joined_heads(found), key, value, scores)[: max(n_outputs, 1)]


def _unpacked(packed: Any, number: int) -> Any:
    """Returns one of the arrays in a packed one as rows."""
    batch, count, n_heads, _, width = packed.shape
    return tnp.reshape(packed[:, :, :, number], (batch, count, n_heads * width))


@onnx_op("GroupQueryAttention", domain=DOMAIN, known=("total_sequence_length",))
def group_query_attention(
    query: Any,
    key: Any = None,
    value: Any = None,
    past_key: Any = None,
    past_value: Any = None,
    seqlens_k: Any = None,
    total_sequence_length: Any = None,
    cos_cache: Any = None,
    sin_cache: Any = None,
    position_ids: Any = None,
    attention_bias: Any = None,
    head_sink: Any = None,
    *,
    num_heads: int,
    kv_num_heads: int,
    do_rotary: int = 0,
    local_window_size: int = -1,
    rotary_interleaved: int = 0,
    scale: float = 0.0,
    smooth_softmax: int = 0,
    softcap: float = 0.0,
    n_outputs: int = 1,
) -> Any:
    """
    Several heads of queries share one of keys and values. Each row of the batch has `seqlens_k` keys and one
    more with the new ones, which stand behind the earlier ones in buffers of the larger of the sizes of
    `past_key` and `total_sequence_length`.
    """
    if head_sink is not None or smooth_softmax > 0:
        raise TenonError("smooth_softmax and a head_sink are not supported")
    if kv_num_heads < 1 or num_heads % kv_num_heads:
        raise TenonError(f"{num_heads} heads of queries for {kv_num_heads} of keys")
    if seqlens_k is None or total_sequence_length is None:
        raise TenonError("input 'seqlens_k' or 'total_sequence_length' is missing")
    if key is None or value is None:
        width = query.shape[-1] // (num_heads + 2 * kv_num_heads)
        first, second = num_heads * width, (num_heads + kv_num_heads) * width
        query, key, value = query[..., :first], query[..., first:second], query[..., second:]
    query = split_heads(query, num_heads)
    key, value = split_heads(key, kv_num_heads), split_heads(value, kv_num_heads)
    batch, _, count, width = query.shape
    total = total_sequence_length.reshape(-1)[0]
    n_past = 0 if past_key is None else past_key.shape[2]
    n_keys = max(n_past, int(total))
    lengths = tnp.add(tnp.astype(tnp.reshape(seqlens_k, (batch, 1)), _INT32), 1)
    # Of a prompt, which may be padded behind, all is new.
    start = tnp.zeros_like(lengths) if count == int(total) else tnp.subtract(lengths, count)
    places = tnp.add(start, tnp.arange(count, dtype=_INT32))
    if do_rotary:
        if cos_cache is None or sin_cache is None:
            raise TenonError("do_rotary without angles")
        where = places if position_ids is None else position_ids
        angles = cos_cache[where], sin_cache[where]
        query, key = (rotated(each, *angles, bool(rotary_interleaved)) for each in (query, key))
    keys = tnp.arange(n_keys, dtype=_INT32)
    buffers = [
        _with_new(past, new, tnp.subtract(keys, start), n_keys)
        for past, new in ((past_key, key), (past_value, value))
    ]
    last = tnp.expand_dims(places, -1)
    is_open = tnp.less_equal(keys, last)
    if local_window_size > 0:
        is_open = tnp.logical_and(is_open, tnp.greater(keys, tnp.subtract(last, local_window_size)))
    masks = [tnp.expand_dims(_barred(is_open, _lowest(query.dtype), query.dtype), 1)]
    if attention_bias is not None:
        masks.append(attention_bias[..., :n_keys])
    shared = num_heads // kv_num_heads
    wide = [tnp.repeat(each, shared, axis=1) if shared > 1 else each for each in buffers]
    found = _attended(query, wide[0], wide[1], scale, masks, softcap)[0]
    return (joined_heads(found), *buffers)[: max(n_outputs, 1)]


def _with_new(past: Any, new: Any, index: Any, n_keys: int) -> Any:
    """Returns a buffer in which the keys of `index`, (batch, key), from 0 on are new ones."""
    batch, n_heads, count, width = new.shape
    inside = tnp.clip(index, 0, count - 1)
    shape = (batch, n_heads, n_keys, width)
    wide = tnp.broadcast_to(tnp.reshape(inside, (batch, 1, n_keys, 1)), shape)
    found = tnp.take_along_axis(new, wide, axis=2)
    if past is None or not past.shape[2]:
        past = tnp.zeros(shape, dtype=new.dtype)
    elif past.shape[2] < n_keys:
        past = tnp.pad(past, [(0, 0), (0, 0), (0, n_keys - past.shape[2]), (0, 0)])
    is_new = tnp.logical_and(tnp.greater_equal(index, 0), tnp.less(index, count))
    return tnp.where(tnp.reshape(is_new, (batch, 1, n_keys, 1)), found, past)
