"""Transformer layers as one scan over their stacked weights, and loops around all layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..program import Builder, Program
from .blocks import causal


def make(b: Builder) -> Program:
    d = b.draws
    layers = d.integer("layers", 1, 6)
    tokens = d.small("tokens", 1, 33)
    heads, size = d.small("heads", 1, 4), d.pick("head_size", (4, 8, 3))
    width = heads * size
    is_causal, has_mlp, is_outer = d.flag("causal"), d.flag("mlp", 0.7), d.flag("outer", 0.3)
    gives_all = d.flag("gives_all")
    vocabulary = d.pick("vocabulary", (0, 19))

    def stacked(name: str, *shape: int) -> int:
        return b.weight(name, (layers, *shape), width)

    if vocabulary:
        table = b.weight("table", (vocabulary, width), 1)
        x_in = b.input(d.integers("ids", 0, vocabulary, (tokens,)), np.int32, {0: "tokens"})
    else:
        table = None
        x_in = b.normal("x", (tokens, width), dims={0: "tokens"})
    names = {"q": (width, heads, size), "k": (width, heads, size), "v": (width, heads, size)}
    names |= {"o": (heads, size, width)}
    if has_mlp:
        names |= {"first": (width, 2 * width), "second": (2 * width, width)}
    weights = {name: stacked(name, *shape) for name, shape in names.items()}

    def normed(t: Any, x: Any) -> Any:
        centered = x - t.np.mean(x, axis=-1, keepdims=True)
        return centered / t.np.sqrt(t.np.mean(centered * centered, axis=-1, keepdims=True) + 1e-2)

    def layer(t: Any, x: Any, w: dict[str, Any]) -> Any:
        source = normed(t, x)
        q, k, v = (t.np.einsum("td,dhs->hts", source, w[name]) for name in "qkv")
        scores = t.np.einsum("hts,hus->htu", q, k) * size**-0.5
        if is_causal:
            scores = causal(t, scores)
        mixed = t.np.einsum("htu,hus->hts", t.nn.softmax(scores, axis=-1), v)
        x = x + t.np.einsum("hts,hsd->td", mixed, w["o"])
        if has_mlp:
            x = x + t.nn.gelu(normed(t, x) @ w["first"]) @ w["second"]
        return x

    def function(t: Any, a: Any) -> tuple[Any, ...]:
        x = a[x_in] if table is None else t.np.take(a[table], a[x_in], axis=0)
        given = {name: a[number] for name, number in weights.items()}

        def body(carried: Any, w: Any) -> Any:
            following = layer(t, carried, w)
            return following, t.np.mean(following, axis=0) if gives_all else None

        if is_outer:
            x = t.fori_loop(0, 2, lambda _, carried: t.scan(body, carried, given)[0], x)
        x, between = t.scan(body, x, given)
        return (x, between) if gives_all else (x,)

    return b.program(function)
