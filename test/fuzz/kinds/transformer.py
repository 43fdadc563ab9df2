"""Transformers: encoders and decoders, with heads, masks, caches and weights that layers share."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..program import Builder, Layer, Program
from .blocks import causal, classified, heads_first, heads_last, linear, norm, perceptron


def attention(b: Builder, heads: int, size: int, kv_heads: int, style: str, has_bias: bool) -> Any:
    """Returns `attend(t, a, x, memory, is_causal)`, queries of x and keys and values of `memory`."""
    features = heads * size
    widths = (features, kv_heads * size, kv_heads * size)
    if style == "joined":
        joined = linear(b, "qkv", features, sum(widths), has_bias)
        split: tuple[Layer, ...] = ()
    elif style == "shared":
        split = (linear(b, "qk", features, features, has_bias),) * 2
        split += (linear(b, "v", features, features, has_bias),)
    else:
        split = tuple(linear(b, n, features, w, has_bias) for n, w in zip("qkv", widths, strict=True))
    out = linear(b, "out", features, features, has_bias)

    def projected(t: Any, a: Any, x: Any, memory: Any) -> tuple[Any, Any, Any]:
        if style == "joined":
            found, from_memory = joined(t, a, x), joined(t, a, memory)
            first, second = widths[0], widths[0] + widths[1]
            parts = found[..., :first], from_memory[..., first:second], from_memory[..., second:]
        else:
            parts = split[0](t, a, x), split[1](t, a, memory), split[2](t, a, memory)
        counts = (heads, heads, heads) if style == "shared" else (heads, kv_heads, kv_heads)
        q, k, v = (heads_first(t, part, count, size) for part, count in zip(parts, counts, strict=True))
        return q, k, v

    def mixed(t: Any, q: Any, k: Any, v: Any, is_causal: bool, before: int = 0) -> Any:
        if style == "einsum" and kv_heads == heads:
            scores = t.np.einsum("bhqd,bhkd->bhqk", q, k)
        else:
            scores = q @ t.np.matrix_transpose(k)
        scores = scores * size**-0.5
        if is_causal:
            scores = causal(t, scores, before)
        weights = t.nn.softmax(scores, axis=-1)
        if style == "einsum" and kv_heads == heads:
            return t.np.einsum("bhqk,bhkd->bhqd", weights, v)
        return weights @ v

    def attend(t: Any, a: Any, x: Any, memory: Any, is_causal: bool) -> Any:
        q, k, v = projected(t, a, x, memory)
        return out(t, a, heads_last(t, mixed(t, q, k, v, is_causal)))

    def continued(t: Any, a: Any, x: Any, keys: Any, values: Any, how: str) -> tuple[Any, Any, Any]:
        """Attends to a cache and to x; returns what it gives, and the cache with x."""
        q, k, v = projected(t, a, x, x)
        if how == "grown":
            keys, values = t.np.concat([keys, k], axis=2), t.np.concat([values, v], axis=2)
        else:
            new = x.shape[1]
            keys = t.np.concat([keys[:, :, new:], k], axis=2)
            values = t.np.concat([values[:, :, new:], v], axis=2)
        before = keys.shape[2] - x.shape[1]
        return out(t, a, heads_last(t, mixed(t, q, keys, values, True, before))), keys, values

    attend.continued = continued  # type: ignore[attr-defined]
    return attend


def make(b: Builder) -> Program:
    d = b.draws
    scale = d.pick("scale", ("small", "medium", "large"), (90, 9, 1))
    layers = d.integer("layers", 1, {"small": 2, "medium": 5, "large": 12}[scale])
    batch = d.small("batch", 1, 3)
    tokens = d.small("tokens", 1, 69)
    heads = d.small("heads", 1, 12)
    size = d.pick("head_size", (4, 8, 5, 7, 16, 32), (5, 5, 2, 2, 2, 1))
    style = d.pick("style", ("plain", "joined", "einsum", "shared"))
    kv_heads = heads if style == "shared" else d.pick("kv_heads", (heads, 1), (4, 1))
    has_bias, has_residual = d.flag("bias"), d.flag("residual", 0.7)
    norm_kind = d.pick("norm", ("none", "layer", "rms"))
    is_pre_norm = d.flag("pre_norm")
    mlp_kind = d.pick("mlp", ("none", "relu", "gelu", "silu", "gated"))
    is_causal = d.flag("causal")
    cache = d.pick("cache", ("none", "grown", "rolling"), (4, 1, 1))
    has_memory = cache == "none" and d.flag("memory", 0.2)
    how = d.pick("ending", ("plain", "softmax", "argmax", "pooled", "log_softmax"))
    is_each_result = d.flag("each_layer", 0.15)
    features = heads * size

    vocabulary = d.pick("embedding", (0, 11, 32), (3, 1, 1))
    dims = {0: "batch", 1: "tokens"} if cache == "none" else {0: "batch"}
    if vocabulary:
        table = b.weight("table", (vocabulary, features), 1)
        x_in = b.input(d.integers("ids", 0, vocabulary, (batch, tokens)), np.int32, dims)
    else:
        table = None
        x_in = b.normal("x", (batch, tokens, features), dims=dims)
    memory_tokens = d.small("memory_tokens", 1, 40) if has_memory else 0
    memory_in = (
        b.normal("memory", (batch, memory_tokens, features), dims={0: "batch"}) if has_memory else None
    )

    past = d.small("past", 1, 20) if cache != "none" else 0
    if cache == "rolling":
        past = max(past, tokens)
    made: list[Any] = []
    caches: list[tuple[int, int]] = []
    for number in range(layers):
        with b.scope(f"layer{number}"):
            shared = d.integer("shares", 0, len(made)) if d.flag("is_shared", 0.15) else 0
            if shared:
                made.append(made[shared - 1])
            else:
                made.append(
                    (
                        attention(b, heads, size, kv_heads, style, has_bias),
                        norm(b, "norm1", norm_kind, features),
                        norm(b, "norm2", norm_kind, features) if mlp_kind != "none" else None,
                        perceptron(b, "mlp", features, mlp_kind, has_bias),
                    )
                )
            if cache != "none":
                kept = heads if style == "shared" else kv_heads
                shape = (batch, kept, past, size)
                caches.append(tuple(b.normal(n, shape, dims={0: "batch"}) for n in ("keys", "values")))  # type: ignore[arg-type]
    if cache == "rolling":
        for number, pair in enumerate(caches):
            first = (layers if is_each_result else 0) + 2 * number
            b.feedback[pair[0]], b.feedback[pair[1]] = first, first + 1

    def function(t: Any, a: Any) -> tuple[Any, ...]:
        x = a[x_in] if table is None else t.np.take(a[table], a[x_in], axis=0)
        between: list[Any] = []
        kept: list[Any] = []
        for number, (attend, norm1, norm2, mlp) in enumerate(made):
            source = norm1(t, a, x) if is_pre_norm else x
            if cache != "none":
                keys, values = caches[number]
                y, k, v = attend.continued(t, a, source, a[keys], a[values], cache)
                kept += [k, v]
            else:
                memory = source if memory_in is None else a[memory_in]
                y = attend(t, a, source, memory, is_causal)
            x = x + y if has_residual else y
            if not is_pre_norm:
                x = norm1(t, a, x)
            if norm2 is not None:
                y = mlp(t, a, norm2(t, a, x) if is_pre_norm else x)
                x = x + y if has_residual else y
                x = x if is_pre_norm else norm2(t, a, x)
            between.append(x)
        return (*(between if is_each_result else ()), *kept, *classified(t, x, how))

    return b.program(function)
