"""
Ops that torch has for whole layers in inference, written with the ops that they stand for: its modules call
them where no gradients are asked for (`torch.nn.TransformerEncoderLayer`, `torch.nn.MultiheadAttention`).
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

from .library import torch_library

_OF_KEYS, _OF_SCORES = 1, 0
"""The kinds of masks: of keys in each row of the batch, of queries and keys."""


def composites() -> dict[Any, Callable[..., Any]]:
    """Returns by op the function that computes it with others."""
    aten = torch_library().ops.aten
    return {
        aten._native_multi_head_attention.default: _attention,
        aten._transformer_encoder_layer_fwd.default: _encoder_layer,
    }


def _attention(
    query: Any,
    key: Any,
    value: Any,
    embed_dim: int,
    num_head: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    mask: Any = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Any, Any]:
    """
    Multi-head attention of tensors (batch, length, embed_dim); a mask is true, or not 0, where nothing is
    read. Rows that are masked as a whole give NaN.
    """
    torch = torch_library()
    weights, biases = qkv_weight.chunk(3), qkv_bias.chunk(3)
    parts = [
        torch.nn.functional.linear(each, weight, bias).unflatten(-1, (num_head, -1)).transpose(1, 2)
        for each, weight, bias in zip((query, key, value), weights, biases, strict=True)
    ]
    scores = (parts[0] * (1 / sqrt(embed_dim // num_head))) @ parts[1].transpose(-1, -2)
    if mask is not None:
        if mask_type == _OF_KEYS:
            mask = mask[:, None, None, :]
        elif mask_type == _OF_SCORES and mask.ndim == 3:
            mask = mask.unflatten(0, (-1, num_head))
        scores = scores.masked_fill(mask.to(torch.bool), float("-inf"))
    shares = scores.softmax(-1)
    found = (shares @ parts[2]).transpose(1, 2).flatten(2)
    found = torch.nn.functional.linear(found, proj_weight, proj_bias)
    if not need_weights:
        return found, None
    return found, shares.mean(1) if average_attn_weights else shares


def _encoder_layer(
    src: Any,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Any,
    norm_bias_1: Any,
    norm_weight_2: Any,
    norm_bias_2: Any,
    ffn_weight_1: Any,
    ffn_bias_1: Any,
    ffn_weight_2: Any,
    ffn_bias_2: Any,
    mask: Any = None,
    mask_type: int | None = None,
) -> Any:
    """A layer of a transformer's encoder: attention and two linear layers, each with norm and shortcut."""
    functional = torch_library().nn.functional

    def attended(x: Any) -> Any:
        return _attention(
            x,
            x,
            x,
            embed_dim,
            num_heads,
            qkv_weight,
            qkv_bias,
            proj_weight,
            proj_bias,
            mask,
            False,
            mask_type=mask_type,
        )[0]

    def fed_forward(x: Any) -> Any:
        inner = functional.linear(x, ffn_weight_1, ffn_bias_1)
        inner = functional.gelu(inner) if use_gelu else functional.relu(inner)
        return functional.linear(inner, ffn_weight_2, ffn_bias_2)

    def first(x: Any) -> Any:
        return functional.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def second(x: Any) -> Any:
        return functional.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        x = src + attended(first(src))
        return x + fed_forward(second(x))
    x = first(src + attended(src))
    return second(x + fed_forward(x))
