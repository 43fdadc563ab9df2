"""A U-net (Ronneberger and others, 2015) with batch norms, of images of 128 x 128."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .array_layers import ArrayLayers
from .model import Array, Config, Model, Scale, Weights, batch_norm_weights, kernel, normal

_FULL: Config = {"channels": (32, 64, 128, 256, 512), "pixels": 128, "classes": 4}
_TINY: Config = {"channels": (8, 12, 20), "pixels": 24, "classes": 3}


def draw_weights(generator: np.random.Generator, config: Config) -> Weights:
    weights: Weights = {}

    def twice(name: str, inner: int, out: int) -> None:
        for number, before in enumerate((inner, out)):
            weights[f"{name}.{number}.conv"] = kernel(generator, out, before, 3)
            weights.update(batch_norm_weights(generator, f"{name}.{number}", out))

    before = 3
    for level, channels in enumerate(config["channels"]):
        twice(f"down{level}", before, channels)
        before = channels
    for level, channels in reversed(list(enumerate(config["channels"][:-1]))):
        weights[f"up{level}.weight"] = normal(generator, before, channels, 2, 2, folded=before)
        weights[f"up{level}.bias"] = generator.uniform(-0.1, 0.1, channels).astype(np.float32)
        twice(f"up{level}", 2 * channels, channels)
        before = channels
    weights["classes.conv"] = kernel(generator, config["classes"], before, 1)
    return weights


def draw_inputs(generator: np.random.Generator, config: Config, batch: int) -> Mapping[str, Array]:
    pixels = config["pixels"]
    return {"images": generator.standard_normal((batch, 3, pixels, pixels), np.float32)}


def forward(t: ArrayLayers, w: Mapping[str, Any], config: Config, images: Any) -> Any:
    def twice(x: Any, name: str) -> Any:
        for number in range(2):
            norm = (w[f"{name}.{number}.{part}"] for part in ("mean", "variance", "scale", "shift"))
            x = t.relu(t.batch_norm(t.conv(x, w[f"{name}.{number}.conv"], 1, 1), *norm))
        return x

    *levels, lowest = range(len(config["channels"]))
    x, kept = images, list[Any]()
    for level in levels:
        x = twice(x, f"down{level}")
        kept.append(x)
        x = t.max_pool(x, 2, 2, 0)
    x = twice(x, f"down{lowest}")
    for level in reversed(levels):
        x = t.upsample(x, w[f"up{level}.weight"], w[f"up{level}.bias"])
        x = twice(t.concat((kept[level], x), 1), f"up{level}")
    return t.conv(x, w["classes.conv"], 1, 0)


MODEL = Model(
    "U-net",
    {"tiny": Scale(_TINY, ((1,), (3,)), {"batch": 4}), "full": Scale(_FULL, ((1,), (8,)), {"batch": 16})},
    draw_weights,
    draw_inputs,
    forward,
    {"images": {0: "batch"}},
)
