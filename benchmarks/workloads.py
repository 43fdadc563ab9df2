"""What is timed: the program, its arguments, and numpy's way of computing the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

BENCHMARKS = Path(__file__).parent
DIGITS = BENCHMARKS.parent / "examples" / "digits"

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Workload:
    """`program` is the file of a `graph` module whose function takes `arguments`, in this order."""

    name: str
    program: Path
    arguments: Mapping[str, Array]
    in_numpy: Callable[..., Array]


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(np.float32(0.7978845608) * (x + 0.044715 * (x * x * x))))


def softmax(x: Array) -> Array:
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def layernorm(x: Array, gamma: Array, beta: Array) -> Array:
    deviation = x - x.mean(axis=-1, keepdims=True)
    variance = np.mean(deviation * deviation, axis=-1, keepdims=True)
    return deviation / np.sqrt(variance + np.float32(1e-5)) * gamma + beta


def matmul(a: Array, b: Array) -> Array:
    return a @ b


def digits(images: Array, w1: Array, b1: Array, w2: Array, b2: Array, w3: Array, b3: Array) -> Array:
    hidden = np.maximum(images.astype(np.float32) * np.float32(0.0625) @ w1 + b1, 0)
    return softmax(np.maximum(hidden @ w2 + b2, 0) @ w3 + b3)


def make_workloads() -> list[Workload]:
    """Returns all workloads, with the same arguments each time."""
    generator = np.random.default_rng(0)

    def normal(*shape: int) -> Array:
        return generator.standard_normal(shape, dtype=np.float32)

    arguments: list[tuple[Callable[..., Array], dict[str, Array]]] = [
        (gelu, {"x": normal(4096, 1024)}),
        (softmax, {"x": normal(4096, 1024)}),
        (layernorm, {"x": normal(4096, 1024), "gamma": normal(1024), "beta": normal(1024)}),
        (matmul, {"a": normal(512, 512), "b": normal(512, 512)}),
    ]
    programs = BENCHMARKS / "programs"
    workloads = [Workload(f.__name__, programs / f"{f.__name__}.mlir", given, f) for f, given in arguments]
    return [*workloads, Workload("digits", DIGITS / "digits.mlir", _digits_arguments(), digits)]


def _digits_arguments() -> dict[str, Array]:
    with np.load(DIGITS / "digits.npz", allow_pickle=False) as data:
        images = data["images"][data["held_out"]]
    with np.load(DIGITS / "weights.npz", allow_pickle=False) as weights:
        return {"images": images, **{name: weights[name] for name in weights.files}}
