"""A step of GPT-2 small: one token for each text, which attends to those before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .array_layers import ArrayLayers
from .model import Array, Config, Model, Scale, Weights, layer_norm_weights, linear_weights, normal

_FULL: Config = {"layers": 12, "width": 768, "heads": 12, "words": 50257, "places": 1024}
_TINY: Config = {"layers": 2, "width": 24, "heads": 3, "words": 50, "places": 20}


def draw_weights(generator: np.random.Generator, config: Config) -> Weights:
    width = config["width"]
    weights = {
        "words": normal(generator, config["words"], width, folded=width),
        "places": normal(generator, config["places"], width, folded=width),
        **layer_norm_weights(generator, "norm", width),
    }
    for layer in range(config["layers"]):
        for name, inner, out in (
            ("qkv", width, 3 * width),
            ("attended", width, width),
            ("up", width, 4 * width),
            ("down", 4 * width, width),
        ):
            weights |= linear_weights(generator, f"{layer}.{name}", inner, out)
        for name in ("before_attention", "before_up"):
            weights |= layer_norm_weights(generator, f"{layer}.{name}", width)
    return weights


def draw_inputs(
    generator: np.random.Generator, config: Config, batch: int, length: int
) -> Mapping[str, Array]:
    heads = config["heads"]
    cache = (config["layers"], batch, heads, length, config["width"] // heads)
    return {
        "ids": generator.integers(0, config["words"], (batch, 1)),
        "place": np.full((batch, 1), length),
        "keys": generator.standard_normal(cache, np.float32),
        "values": generator.standard_normal(cache, np.float32),
    }


def forward(
    t: ArrayLayers, w: Mapping[str, Any], config: Config, ids: Any, place: Any, keys: Any, values: Any
) -> Any:
    """Returns the logits, and the new key and value of each layer."""
    heads, head_width = config["heads"], config["width"] // config["heads"]

    def linear(x: Any, name: str) -> Any:
        return t.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

    def norm(x: Any, name: str) -> Any:
        return t.layer_norm(x, w[f"{name}.scale"], w[f"{name}.shift"], 1e-5)

    x = t.embedding(ids, w["words"]) + t.embedding(place, w["places"])
    new_keys, new_values = list[Any](), list[Any]()
    for layer in range(config["layers"]):
        parts = t.split(linear(norm(x, f"{layer}.before_attention"), f"{layer}.qkv"), 3)
        q, k, v = (t.split_heads(part, heads) for part in parts)
        new_keys.append(k)
        new_values.append(v)
        all_keys = t.concat((t.item(keys, layer), k), 2)
        all_values = t.concat((t.item(values, layer), v), 2)
        attended = t.join_heads(t.attention(q, all_keys, all_values, head_width))
        x = x + linear(attended, f"{layer}.attended")
        x = x + linear(t.gelu_tanh(linear(norm(x, f"{layer}.before_up"), f"{layer}.up")), f"{layer}.down")
    logits = t.times_transposed(norm(x, "norm"), w["words"])
    return logits, t.stack(new_keys), t.stack(new_values)


MODEL = Model(
    "GPT-2 step",
    {
        "tiny": Scale(_TINY, ((1, 6), (3, 5)), {"batch": 4, "length": 19}),
        "full": Scale(_FULL, ((1, 256), (8, 256)), {"batch": 16, "length": 1023}),
    },
    draw_weights,
    draw_inputs,
    forward,
    {
        "ids": {0: "batch"},
        "place": {0: "batch"},
        "keys": {1: "batch", 3: "length"},
        "values": {1: "batch", 3: "length"},
    },
)
