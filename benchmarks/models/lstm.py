"""Two layers of an LSTM over sequences of vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .array_layers import ArrayLayers
from .model import Array, Config, Model, Scale, Weights, linear_weights, normal

_FULL: Config = {"layers": 2, "inputs": 256, "width": 512, "classes": 64}
_TINY: Config = {"layers": 2, "inputs": 9, "width": 20, "classes": 5}


def draw_weights(generator: np.random.Generator, config: Config) -> Weights:
    weights: Weights = {}
    inner, width = config["inputs"], config["width"]
    for layer in range(config["layers"]):
        weights[f"{layer}.input_gates"] = normal(generator, inner, 4 * width)
        weights[f"{layer}.state_gates"] = normal(generator, width, 4 * width)
        weights[f"{layer}.bias"] = generator.uniform(-0.1, 0.1, 4 * width).astype(np.float32)
        inner = width
    return weights | linear_weights(generator, "classes", width, config["classes"])


def draw_inputs(
    generator: np.random.Generator, config: Config, batch: int, length: int
) -> Mapping[str, Array]:
    return {"x": generator.standard_normal((batch, length, config["inputs"]), np.float32)}


def forward(t: ArrayLayers, w: Mapping[str, Any], config: Config, x: Any) -> Any:
    for layer in range(config["layers"]):
        x = t.lstm(x, *(w[f"{layer}.{part}"] for part in ("input_gates", "state_gates", "bias")))
    return t.linear(x, w["classes.weight"], w["classes.bias"])


MODEL = Model(
    "LSTM",
    {
        "tiny": Scale(_TINY, ((1, 5), (3, 4)), {"batch": 4, "length": 10}),
        "full": Scale(_FULL, ((1, 128), (8, 128)), {"batch": 16, "length": 512}),
    },
    draw_weights,
    draw_inputs,
    forward,
    {"x": {0: "batch", 1: "length"}},
)
