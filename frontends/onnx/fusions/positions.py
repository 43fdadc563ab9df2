"""Rotary embeddings: pairs of numbers turned by an angle that grows with the place."""

from __future__ import annotations

from typing import Any

from ....errors import TenonError
from ... import numpy as tnp
from ..registry import onnx_op
from .activations import DOMAIN


def rotated(x: Any, cos: Any, sin: Any, is_interleaved: bool) -> Any:
    """
    Returns heads, (batch, head, place, number), turned by angles, (batch, place, pair); numbers
    behind the pairs stay as they are. A pair is two neighbours, or a number of each half.
    """
    cos, sin = tnp.expand_dims(cos, 1), tnp.expand_dims(sin, 1)
    half = cos.shape[-1]
    width = x.shape[-1]
    if not 0 < 2 * half <= width:
        raise TenonError(f"{half} angles for heads of {width}")
    turned, rest = x[..., : 2 * half], x[..., 2 * half :]
    if is_interleaved:
        first, second = turned[..., 0::2], turned[..., 1::2]
    else:
        first, second = turned[..., :half], turned[..., half:]
    left = tnp.subtract(tnp.multiply(first, cos), tnp.multiply(second, sin))
    right = tnp.add(tnp.multiply(second, cos), tnp.multiply(first, sin))
    if is_interleaved:
        found = tnp.reshape(tnp.stack([left, right], axis=-1), turned.shape)
    else:
        found = tnp.concat([left, right], axis=-1)
    return found if 2 * half == width else tnp.concat([found, rest], axis=-1)


def split_heads(x: Any, n_heads: int) -> Any:
    """Returns rows of all heads, (batch, place, head and number), as (batch, head, place, number)."""
    batch, count, width = x.shape
    if n_heads < 1 or width % n_heads:
        raise TenonError(f"{width} numbers in {n_heads} heads")
    return tnp.permute_dims(tnp.reshape(x, (batch, count, n_heads, width // n_heads)), (0, 2, 1, 3))


def joined_heads(x: Any) -> Any:
    """Returns heads, (batch, head, place, number), as rows of all heads."""
    batch, n_heads, count, width = x.shape
    return tnp.reshape(tnp.permute_dims(x, (0, 2, 1, 3)), (batch, count, n_heads * width))


@onnx_op("RotaryEmbedding", domain=DOMAIN)
def rotary_embedding(
    x: Any,
    position_ids: Any,
    cos_cache: Any,
    sin_cache: Any,
    *,
    interleaved: int = 0,
    is_packed_batching: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    scale: float = 1.0,
) -> Any:
    if is_packed_batching or scale != 1:
        raise TenonError("is_packed_batching and a scale are not supported")
    half = cos_cache.shape[-1]
    if rotary_embedding_dim and rotary_embedding_dim != 2 * half:
        raise TenonError(f"rotary_embedding_dim is {rotary_embedding_dim}, there are {half} angles")
    is_rows = len(x.shape) == 3
    if not is_rows and len(x.shape) != 4:
        raise TenonError(f"shape {x.shape}, expected 3 or 4 axes")
    heads = split_heads(x, num_heads or x.shape[2] // (2 * half)) if is_rows else x
    batch, _, count, _ = heads.shape
    places = position_ids
    if len(position_ids.shape) == 1:
        # The place of the first, of all rows.
        steps = tnp.arange(count, dtype=position_ids.dtype)
        places = tnp.broadcast_to(tnp.add(position_ids, steps), (batch, count))
    found = rotated(heads, cos_cache[places], sin_cache[places], bool(interleaved))
    return joined_heads(found) if is_rows else found
