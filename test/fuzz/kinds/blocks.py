"""
The parts that several kinds are made of. Each draws what it is like and its weights when it is made, and is
then a function of a side, the arguments and a value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..program import Builder, Layer

ACTIVATIONS = ("relu", "gelu", "silu", "tanh", "softplus", "sigmoid", "none")


def activation(name: str) -> Layer:
    """Returns one of `ACTIVATIONS`."""

    def applied(t: Any, a: Any, x: Any) -> Any:
        if name == "none":
            return x
        return t.np.tanh(x) if name == "tanh" else getattr(t.nn, name)(x)

    return applied


def linear(b: Builder, name: str, inputs: int, outputs: int, has_bias: bool) -> Layer:
    """A product with a matrix of the last axis."""
    weight = b.weight(f"{name}.w", (inputs, outputs), inputs)
    bias = b.normal(f"{name}.b", (outputs,), 0.3) if has_bias else None

    def applied(t: Any, a: Any, x: Any) -> Any:
        y = x @ a[weight]
        return y if bias is None else y + a[bias]

    return applied


def norm(b: Builder, name: str, kind: str, features: int) -> Layer:
    """Layer norm or RMS norm of the last axis, or nothing."""
    if kind == "none":
        return lambda t, a, x: x
    scale = b.input(b.draws.normal(f"{name}.scale", (features,), 0.2) + 1)
    shift = b.normal(f"{name}.shift", (features,), 0.2) if kind == "layer" else None

    def applied(t: Any, a: Any, x: Any) -> Any:
        if shift is None:
            mean_square = t.np.mean(x * x, axis=-1, keepdims=True)
            return x * t.np.rsqrt(mean_square + 1e-2) * a[scale]
        centered = x - t.np.mean(x, axis=-1, keepdims=True)
        variance = t.np.mean(centered * centered, axis=-1, keepdims=True)
        return centered / t.np.sqrt(variance + 1e-2) * a[scale] + a[shift]

    return applied


def perceptron(b: Builder, name: str, features: int, kind: str, has_bias: bool) -> Layer:
    """The part of a transformer's layer behind the attention: two or, if gated, three matrices."""
    if kind == "none":
        return lambda t, a, x: x
    with b.scope(name):
        hidden = features * b.draws.integer("wider", 1, 3)
        first = linear(b, "first", features, hidden, has_bias)
        second = linear(b, "second", hidden, features, has_bias)
        gate = linear(b, "gate", features, hidden, False) if kind == "gated" else None
    act = activation("silu" if kind == "gated" else kind)

    def applied(t: Any, a: Any, x: Any) -> Any:
        if gate is not None:
            return second(t, a, act(t, a, gate(t, a, x)) * first(t, a, x))
        return second(t, a, act(t, a, first(t, a, x)))

    return applied


def heads_first(t: Any, x: Any, heads: int, size: int) -> Any:
    """(batch, tokens, heads * size) as (batch, heads, tokens, size)."""
    batch, tokens, _ = x.shape
    return t.np.permute_dims(t.np.reshape(x, (batch, tokens, heads, size)), (0, 2, 1, 3))


def heads_last(t: Any, x: Any) -> Any:
    """The inverse of `heads_first`."""
    batch, heads, tokens, size = x.shape
    return t.np.reshape(t.np.permute_dims(x, (0, 2, 1, 3)), (batch, tokens, heads * size))


def causal(t: Any, scores: Any, before: int = 0) -> Any:
    """Scores of (queries, keys) that see themselves and what was before, of which `before` are no queries."""
    queries, keys = scores.shape[-2:]
    rows = t.np.arange(queries, dtype=np.int32)[:, None] + before
    columns = t.np.arange(keys, dtype=np.int32)[None, :]
    return t.np.where(columns <= rows, scores, -1e4)


def classified(t: Any, x: Any, how: str) -> tuple[Any, ...]:
    """What a program gives of its last value."""
    if how == "softmax":
        return (t.nn.softmax(x, axis=-1),)
    if how == "log_softmax":
        return (t.nn.log_softmax(x),)
    if how == "argmax":
        return x, t.np.argmax(x, axis=-1)
    if how == "pooled":
        return (t.np.mean(x, axis=-2) if x.ndim > 1 else x,)
    return (x,)
