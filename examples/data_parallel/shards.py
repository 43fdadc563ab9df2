"""The digits, cut into shards, and the parameters that training begins with."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

DATASET = Path(__file__).parent.parent / "digits" / "digits.npz"
SHARD_COUNT = 89
SHARD_SIZE = 16
"""Images per shard, and shards, as step.mlir declares them."""
LAYER_SIZES = (64, 128, 64, 10)
PARAMETERS = ("w1", "b1", "w2", "b2", "w3", "b3")
SEED = 295
"""With it no input of a relu comes closer to zero than 1e-5 in 30 steps by default: see the README."""

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Digits:
    """What training and its evaluation need; pixels are 0..16."""

    images: Array
    """`SHARD_COUNT x SHARD_SIZE x 64`."""
    labels: Array
    """`SHARD_COUNT x SHARD_SIZE`."""
    held_out_images: Array
    held_out_labels: Array


def load_digits(path: Path = DATASET) -> Digits:
    """Returns the training part, shuffled and without the few images that fill no shard, and the rest."""
    with np.load(path, allow_pickle=False) as data:
        images, labels, held_out = data["images"], data["labels"], data["held_out"]
    training = np.setdiff1d(np.arange(len(labels)), held_out)
    chosen = np.random.default_rng(SEED).permutation(training)[: SHARD_COUNT * SHARD_SIZE]
    return Digits(
        images[chosen].reshape(SHARD_COUNT, SHARD_SIZE, -1),
        labels[chosen].reshape(SHARD_COUNT, SHARD_SIZE),
        images[held_out],
        labels[held_out],
    )


def initial_parameters() -> dict[str, Array]:
    """Returns He-initialised weights and zero biases, by name."""
    generator = np.random.default_rng(SEED)
    parameters: dict[str, Array] = {}
    for layer, (rows, columns) in enumerate(pairwise(LAYER_SIZES), start=1):
        weights = generator.standard_normal((rows, columns)) * np.sqrt(2 / rows)
        parameters[f"w{layer}"] = weights.astype(np.float32)
        parameters[f"b{layer}"] = np.zeros(columns, np.float32)
    return parameters
