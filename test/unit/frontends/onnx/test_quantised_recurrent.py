"""DynamicQuantizeLSTM: the steps of an LSTM in numpy, whose products are of integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tenon.errors import TenonError
from tenon.test.unit.frontends.onnx.models import Array, normal
from tenon.test.unit.frontends.onnx.single_node import run

STEPS, BATCH, SIZE, HIDDEN = 5, 3, 7, 6
RANDOM = np.random.default_rng(1)


def product(x: Array, weights: Array, scale: Array, zero: Array) -> Array:
    """Quantises all of `x` by its bounds, and multiplies integers."""
    low, high = min(x.min(), 0), max(x.max(), 0)
    step = np.float32((high - low) / 255) or np.float32(1)
    offset = np.round(np.clip(-low / step, 0, 255))
    codes = np.clip(np.round(x / step) + offset, 0, 255) - offset
    total = codes.astype(np.int64) @ (weights.astype(np.int64) - zero.astype(np.int64))
    return total.astype(np.float32) * (step * scale)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("by_column", [True, False])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_products_are_of_integers(direction: str, by_column: bool, dtype: str):
    count = 1 + (direction == "bidirectional")
    info = np.iinfo(dtype)
    w, r = (
        RANDOM.integers(info.min, info.max + 1, (count, n, 4 * HIDDEN)).astype(dtype) for n in (SIZE, HIDDEN)
    )
    shape = (count, 4 * HIDDEN) if by_column else (count,)
    scales = [RANDOM.uniform(0.004, 0.008, shape).astype(np.float32) for _ in range(2)]
    zeros = [RANDOM.integers(info.min, info.max + 1, shape).astype(dtype) for _ in range(2)]
    x, bias = normal(STEPS, BATCH, SIZE), normal(count, 8 * HIDDEN)
    given = [x, w, r, bias, None, None, None, None, scales[0], zeros[0], scales[1], zeros[1]]
    options: dict[str, Any] = {"hidden_size": HIDDEN, "direction": direction}
    y, last, cell = run("DynamicQuantizeLSTM", given, "com.microsoft", 3, **options)
    for number in range(count):
        backwards = direction == "reverse" or number == 1
        inputs = product(x.reshape(-1, SIZE), w[number], scales[0][number], zeros[0][number])
        inputs = inputs.reshape(STEPS, BATCH, -1) + bias[number, : 4 * HIDDEN] + bias[number, 4 * HIDDEN :]
        h = c = np.zeros((BATCH, HIDDEN), np.float32)
        for step in range(STEPS)[:: -1 if backwards else 1]:
            total = inputs[step] + product(h, r[number], scales[1][number], zeros[1][number])
            enter, leave, forget, new = np.split(total, 4, axis=1)
            c = sigmoid(forget) * c + sigmoid(enter) * np.tanh(new)
            h = sigmoid(leave) * np.tanh(c)
            np.testing.assert_allclose(y[step, number], h, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(last[number], h, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(cell[number], c, rtol=1e-4, atol=1e-4)


def test_weights_are_integers_with_scales():
    x, w = normal(2, 1, 3), np.ones((1, 3, 8), np.int8)
    r, one = np.ones((1, 2, 8), np.int8), np.ones(1, np.float32)
    nothing = [None] * 5
    with pytest.raises(TenonError, match="weights without scales"):
        run("DynamicQuantizeLSTM", [x, w, r, *nothing, one], "com.microsoft", hidden_size=2)
    with pytest.raises(TenonError, match="weights are float32 of shape"):
        given = [x, w.astype(np.float32), r, *nothing, one, None, one]
        run("DynamicQuantizeLSTM", given, "com.microsoft", hidden_size=2)
