"""ResNet-18 (He and others, 2015), of images of 224 x 224."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .array_layers import ArrayLayers
from .model import Array, Config, Model, Scale, Weights, batch_norm_weights, kernel, linear_weights

_FULL: Config = {"channels": (64, 128, 256, 512), "blocks": 2, "pixels": 224, "classes": 1000}
_TINY: Config = {"channels": (8, 20), "blocks": 2, "pixels": 30, "classes": 7}


def draw_weights(generator: np.random.Generator, config: Config) -> Weights:
    first, *_ = config["channels"]
    weights = {"stem.conv": kernel(generator, first, 3, 7), **batch_norm_weights(generator, "stem", first)}
    before = first
    for stage, channels in enumerate(config["channels"]):
        for block in range(config["blocks"]):
            name = f"{stage}.{block}"
            if block == 0 and stage:
                weights[f"{name}.skip.conv"] = kernel(generator, channels, before, 1)
                weights |= batch_norm_weights(generator, f"{name}.skip", channels)
            for number, inner in enumerate((before, channels)):
                weights[f"{name}.{number}.conv"] = kernel(generator, channels, inner, 3)
                weights |= batch_norm_weights(generator, f"{name}.{number}", channels)
            before = channels
    return weights | linear_weights(generator, "classes", before, config["classes"])


def draw_inputs(generator: np.random.Generator, config: Config, batch: int) -> Mapping[str, Array]:
    pixels = config["pixels"]
    return {"images": generator.standard_normal((batch, 3, pixels, pixels), np.float32)}


def forward(t: ArrayLayers, w: Mapping[str, Any], config: Config, images: Any) -> Any:
    def conv(x: Any, name: str, stride: int, padding: int) -> Any:
        norm = (w[f"{name}.{part}"] for part in ("mean", "variance", "scale", "shift"))
        return t.batch_norm(t.conv(x, w[f"{name}.conv"], stride, padding), *norm)

    x = t.max_pool(t.relu(conv(images, "stem", 2, 3)), 3, 2, 1)
    for stage in range(len(config["channels"])):
        for block in range(config["blocks"]):
            name, stride = f"{stage}.{block}", 2 if block == 0 and stage else 1
            skip = x if stride == 1 else conv(x, f"{name}.skip", stride, 0)
            x = t.relu(conv(x, f"{name}.0", stride, 1))
            x = t.relu(conv(x, f"{name}.1", 1, 1) + skip)
    return t.linear(t.mean_of_places(x), w["classes.weight"], w["classes.bias"])


MODEL = Model(
    "ResNet-18",
    {"tiny": Scale(_TINY, ((1,), (3,)), {"batch": 4}), "full": Scale(_FULL, ((1,), (8,)), {"batch": 16})},
    draw_weights,
    draw_inputs,
    forward,
    {"images": {0: "batch"}},
)
