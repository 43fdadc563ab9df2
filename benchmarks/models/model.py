"""What a model of the benchmark is, and how its weights and inputs are drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Weights = dict[str, Array]
Config = Mapping[str, Any]
Row = tuple[int, ...]
"""The extents that differ between calls, in the order of a scale's `dims`."""

SIZES = ("tiny", "full")
"""The model's own size, and one that takes no time, for tests."""


@dataclass(frozen=True)
class Scale:
    """A size of a model: what it is made with, and the extents that it is called with."""

    config: Config
    rows: tuple[Row, ...]
    dims: Mapping[str, int]
    """The greatest extents that programs of named dims are compiled for, by the names of the dims."""


@dataclass(frozen=True)
class Model:
    """One model. `forward` takes the layers of a library, weights, the configuration, and the inputs."""

    name: str
    scales: Mapping[str, Scale]
    """By the names in `SIZES`."""
    draw_weights: Callable[[np.random.Generator, Config], Weights]
    draw_inputs: Callable[..., Mapping[str, Array]]
    """Takes a generator, the configuration and the extents of a row."""
    forward: Callable[..., Any]
    axes: Mapping[str, Mapping[int, str]]
    """The name of the dim of each axis of an input that differs between rows."""
    load_weights: Callable[[], tuple[Weights, str] | None] = lambda: None
    """Returns real weights of the full size and where they are from, where they are installed."""

    def weights(self, size: str) -> tuple[Weights, str]:
        """Returns the weights, the same ones each time, and what they are."""
        loaded = self.load_weights() if size == "full" else None
        if loaded is not None:
            return loaded
        return self.draw_weights(np.random.default_rng(42), self.scales[size].config), "random"

    def inputs(self, size: str, row: Row) -> dict[str, Array]:
        """Returns new inputs for a row, the same ones each time."""
        return dict(self.draw_inputs(np.random.default_rng(7), self.scales[size].config, *row))

    def row_name(self, row: Row) -> str:
        return f"{self.name} {'x'.join(map(str, row))}"


def normal(generator: np.random.Generator, *shape: int, gain: float = 1.0, folded: int = 0) -> Array:
    """
    Returns normally distributed weights that keep the size of what they multiply, where sums have `folded`
    products; by default, all extents but the last one.
    """
    scale = gain / (folded or prod(shape[:-1])) ** 0.5
    return (generator.standard_normal(shape, np.float32) * np.float32(scale)).astype(np.float32)


def kernel(generator: np.random.Generator, out: int, inner: int, window: int) -> Array:
    """Returns a convolution's weights, for what a relu follows."""
    return normal(generator, out, inner, window, window, gain=2**0.5, folded=inner * window * window)


def batch_norm_weights(generator: np.random.Generator, name: str, channels: int) -> Weights:
    """Returns a batch norm's mean, variance, scale and shift, by names that begin so."""
    mean, variance = (_uniform(generator, *limits, channels) for limits in ((-0.1, 0.1), (0.8, 1.2)))
    return {
        f"{name}.mean": mean,
        f"{name}.variance": variance,
        **layer_norm_weights(generator, name, channels),
    }


def layer_norm_weights(generator: np.random.Generator, name: str, width: int) -> Weights:
    """Returns a layer norm's scale and shift, by names that begin so."""
    return {
        f"{name}.scale": _uniform(generator, 0.8, 1.2, width),
        f"{name}.shift": _uniform(generator, -0.1, 0.1, width),
    }


def _uniform(generator: np.random.Generator, low: float, high: float, count: int) -> Array:
    return generator.uniform(low, high, count).astype(np.float32)


def linear_weights(generator: np.random.Generator, name: str, inner: int, out: int) -> Weights:
    """Returns a linear layer's matrix, inputs first, and its bias, by names that begin so."""
    return {
        f"{name}.weight": normal(generator, inner, out),
        f"{name}.bias": generator.uniform(-0.1, 0.1, out).astype(np.float32),
    }
