"""
What ranks are timed on: the arrays that each begins with, the functions that all libraries run alike, written
with numpy's names, and what numpy computes in f64.

Steps of heat and of training are those of `examples/`, which are written for Tenon alone and import it, as
processes of other libraries do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

RATE = 0.1
"""How much of the difference to its neighbours an element takes on in a step of heat."""
STEPS = 20
"""Of heat in a call."""
LEARNING_RATE = 0.2
LAYER_SIZES = (64, 128, 64, 10)


@dataclass(frozen=True)
class Work:
    """One row of the table; `kind` is `heat`, `matmul` or `training`."""

    kind: str
    extent: int

    @property
    def name(self) -> str:
        return f"{self.kind} {self.extent}"


WORK: Mapping[str, Work] = {
    work.name: work
    for work in (
        *(Work("heat", extent) for extent in (96, 160, 224)),
        *(Work("matmul", extent) for extent in (512, 1024)),
        *(Work("training", images) for images in (96, 1424)),
    )
}


def arrays_of(work: Work) -> dict[str, Array]:
    """Returns what the work begins with, whole; the same on all ranks."""
    generator = np.random.default_rng(16)
    if work.kind == "heat":
        return {"u": generator.random((work.extent,) * 3, np.float32)}
    if work.kind == "matmul":
        shape = (work.extent, work.extent)
        return {name: generator.standard_normal(shape, np.float32) for name in ("a", "b")}
    arrays: dict[str, Array] = {
        "images": generator.integers(0, 17, (work.extent, LAYER_SIZES[0])).astype(np.float32),
        "labels": generator.integers(0, LAYER_SIZES[-1], work.extent).astype(np.int32),
    }
    for layer, (rows, columns) in enumerate(pairwise(LAYER_SIZES), start=1):
        weights = generator.standard_normal((rows, columns)) * np.sqrt(2 / rows)
        arrays[f"w{layer}"] = weights.astype(np.float32)
        arrays[f"b{layer}"] = np.zeros(columns, np.float32)
    return arrays


def heat_step(xp: Any, u: Any) -> Any:
    """Returns the cube after a step; around it all is cold."""
    around = xp.pad(u, 1)
    inside = slice(1, -1)
    total = -6 * u
    for axis in range(3):
        for shifted in (slice(None, -2), slice(2, None)):
            index = [inside] * 3
            index[axis] = shifted
            total = total + around[tuple(index)]
    return u + RATE * total


def training_step(xp: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the parameters after a step of gradient descent, and the mean cross-entropy before it."""
    labels = arrays["labels"]
    w1, b1, w2, b2, w3, b3 = (arrays[name] for name in ("w1", "b1", "w2", "b2", "w3", "b3"))
    x = arrays["images"] / 16
    h1 = xp.maximum(x @ w1 + b1, 0)
    h2 = xp.maximum(h1 @ w2 + b2, 0)
    logits = h2 @ w3 + b3
    shifted = logits - xp.max(logits, axis=1, keepdims=True)
    exponentials = xp.exp(shifted)
    totals = xp.sum(exponentials, axis=1, keepdims=True)
    classes = xp.arange(LAYER_SIZES[-1], dtype=labels.dtype)
    wanted = xp.where(labels[:, None] == classes, xp.ones_like(logits), xp.zeros_like(logits))
    count = x.shape[0]
    loss = xp.sum(wanted * (xp.log(totals) - shifted)) / count
    # Back through the layers, the last one first.
    d3 = (exponentials / totals - wanted) / count
    d2 = xp.where(h2 > 0, d3 @ w3.T, 0)
    d1 = xp.where(h1 > 0, d2 @ w2.T, 0)
    gradients = {
        "w1": x.T @ d1,
        "b1": xp.sum(d1, axis=0),
        "w2": h1.T @ d2,
        "b2": xp.sum(d2, axis=0),
        "w3": h2.T @ d3,
        "b3": xp.sum(d3, axis=0),
    }
    return {name: arrays[name] - LEARNING_RATE * gradients[name] for name in gradients} | {"loss": loss}


def expected(work: Work) -> dict[str, Array]:
    """Returns what the work gives, in f64."""
    arrays = {
        name: array if array.dtype.kind == "i" else array.astype(np.float64)
        for name, array in arrays_of(work).items()
    }
    if work.kind == "matmul":
        return {"product": arrays["a"] @ arrays["b"]}
    if work.kind == "training":
        return {name: np.asarray(value) for name, value in training_step(np, arrays).items()}
    u: Any = arrays["u"]
    for _ in range(STEPS):
        u = heat_step(np, u)
    return {"u": u}


def bound_of(work: Work, wanted: Array) -> float:
    """Returns how far f32 may be off: by a rounding or so for each term of a sum, of what is as large."""
    terms = {"heat": 8 * STEPS, "matmul": work.extent, "training": 8 * max(LAYER_SIZES)}[work.kind]
    return terms * float(np.finfo(np.float32).eps) * float(np.max(np.abs(wanted), initial=1.0))


Part = tuple[Sequence[tuple[int, int]], Array]
"""What of an array a rank has: where it begins and ends in each dim, and the values."""


def put_together(parts: Sequence[Part], shape: Sequence[int]) -> Array:
    """
    Returns the array that parts make up; parts of the same place must be equal.

    Raises:
        ValueError: parts differ, or leave a place out.
    """
    whole, is_there = np.zeros(shape, np.float64), np.zeros(shape, bool)
    for box, values in parts:
        place = tuple(slice(start, stop) for start, stop in box)
        if not np.array_equal(whole[place][is_there[place]], values[is_there[place]]):
            raise ValueError("ranks have different parts of the same place")
        whole[place], is_there[place] = values, True
    if not np.all(is_there):
        raise ValueError("ranks leave out a part")
    return whole
