"""The network of `examples/digits` with its weights, for batches of any size."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np

from ..draws import Array
from ..program import EXAMPLES, Builder, Program

FOLDER = EXAMPLES / "digits"
WEIGHTS = ("w1", "b1", "w2", "b2", "w3", "b3")
BATCH = re.compile(r"tensor<360x(\d+)x(\w+)>")
"""The types of the example's text that have its batch."""
SCALE = re.compile(r"graph.constant dense<0.0625> : (tensor<.*>)")


@cache
def _files() -> tuple[str, Array, tuple[Array, ...]]:
    """Returns the text, the images and the weights."""
    with np.load(FOLDER / "digits.npz", allow_pickle=False) as data:
        images = data["images"].reshape(-1, 64)
    with np.load(FOLDER / "weights.npz", allow_pickle=False) as data:
        weights = tuple(data[name] for name in WEIGHTS)
    return (FOLDER / "digits.mlir").read_text(encoding="utf-8"), images, weights


def make(b: Builder) -> Program:
    d = b.draws
    b.dtype = np.dtype(np.float32)
    text, images, weights = _files()
    batch = d.small("batch", 1, 360)
    is_open = d.flag("named_dims")
    chosen = images[d.integers("images", 0, len(images), (batch,))]
    images_in = b.input(chosen, np.uint8, dims={0: "batch"} if is_open else None)
    given = [b.input(each) for each in weights]
    if is_open:
        text = BATCH.sub(r"tensor<?x\1x\2, #graph.dims<n, \1>>", text)
        # A constant has as many elements as are known.
        broadcast = (
            r"graph.constant dense<0.0625> : tensor<f32>\n  %scale = graph.broadcast %one : tensor<f32> -> \1"
        )
        text = SCALE.sub(broadcast, text.replace("%scale = ", "%one = "))
        text = f"graph.dim @n min 1 max {max(batch, 11) + 2}\n{text}"
    else:
        text = BATCH.sub(rf"tensor<{batch}x\1x\2>", text)

    def function(t: Any, a: Any) -> tuple[Any, ...]:
        x = t.np.astype(a[images_in], np.float32) * 0.0625
        w1, b1, w2, b2, w3, b3 = (a[number] for number in given)
        x = t.np.relu(x @ w1 + b1)
        x = t.np.relu(x @ w2 + b2)
        return (t.nn.softmax(x @ w3 + b3, axis=1),)

    program = b.program(function)
    program.text = text.replace("@digits", "@main")
    return program
