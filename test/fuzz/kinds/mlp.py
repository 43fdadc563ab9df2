"""Perceptrons: layers of a matrix and a function, with skips, shared weights, several heads."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..program import Builder, Program
from .blocks import ACTIVATIONS, activation, classified, linear, norm


def make(b: Builder) -> Program:
    d = b.draws
    scale = d.pick("scale", ("small", "medium", "large"), (90, 9, 1))
    layers = d.integer("layers", 1, {"small": 12, "medium": 30, "large": 120}[scale])
    batch = d.small("batch", 1, 40)
    is_even = d.flag("even")
    features = d.small("features", 1, 70)
    has_bias = d.flag("bias")
    skips = d.pick("skips", ("none", "residual", "dense"), (3, 2, 1))
    norm_kind = d.pick("norm", ("none", "layer", "rms"), (3, 1, 1))
    is_one_activation = d.flag("one_activation")
    first_activation = d.pick("activation", ACTIVATIONS)
    n_outputs = d.small("outputs", 1, 3)
    how = d.pick("ending", ("plain", "softmax", "argmax", "log_softmax"))

    if d.flag("bytes", 0.2):
        pixels: int | None = b.input(d.integers("x", 0, 256, (batch, features)), np.uint8, dims={0: "batch"})
        x_in = pixels
    else:
        pixels = None
        x_in = b.normal("x", (batch, features), dims={0: "batch"})
    widths = [features]
    made: list[Any] = []
    for number in range(layers):
        with b.scope(f"layer{number}"):
            width = features if is_even else d.small("features", 1, 70)
            is_like = skips != "dense" and len(made) > 0 and widths[-2:] == [width, width]
            like = made[-1] if is_like and d.flag("is_shared", 0.2) else None
            act = activation(first_activation if is_one_activation else d.pick("activation", ACTIVATIONS))
            if like is not None:
                made.append((like[0], like[1], act))
            else:
                inputs = sum(widths[-2:]) if skips == "dense" and number else widths[-1]
                made.append(
                    (linear(b, "linear", inputs, width, has_bias), norm(b, "norm", norm_kind, width), act)
                )
            widths.append(width)
    heads = [
        linear(b, f"head{number}", widths[-1], d.integer(f"classes{number}", 1, 11), True)
        for number in range(n_outputs if d.flag("heads", 0.4) else 0)
    ]

    def function(t: Any, a: Any) -> tuple[Any, ...]:
        x = a[x_in]
        if pixels is not None:
            x = t.np.astype(x, b.dtype) * (1 / 256)
        values = [x]
        for number, (layer, normed, act) in enumerate(made):
            given = values[-1]
            if skips == "dense" and number:
                given = t.np.concat(values[-2:], axis=1)
            y = act(t, a, normed(t, a, layer(t, a, given)))
            if skips == "residual" and widths[number] == widths[number + 1]:
                y = y + values[-1]
            values.append(y)
        if heads:
            return tuple(head(t, a, values[-1]) for head in heads)
        return (*values[-n_outputs:-1], *classified(t, values[-1], how))

    return b.program(function)
