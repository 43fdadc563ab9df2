"""Steps of optimisers and features, by their formulas in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tenon
from onnx import helper
from tenon.errors import TenonError
from tenon.test.unit.frontends.onnx.models import Array, normal

TRAINING = "ai.onnx.preview.training"


def run_in(
    domain: str, version: int, op: str, inputs: list[Array], n_outputs: int, **options: Any
) -> list[Array]:
    """Returns what a node of a domain gives in the interpreter."""
    names, outputs = [f"i{k}" for k in range(len(inputs))], [f"o{k}" for k in range(n_outputs)]
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in zip(names, inputs, strict=True)
    ]
    node = helper.make_node(op, names, outputs, domain=domain, **options)
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(domain, version)]
    model = helper.make_model(helper.make_graph([node], "g", infos, results), opset_imports=opsets)
    found = tenon.from_onnx(model, backend="reference")(*inputs)
    return list(found) if isinstance(found, tuple) else [found]


RATE = np.array(0.1, np.float32)


@pytest.mark.parametrize("count", [0, 3])
@pytest.mark.parametrize("mode", ["standard", "nesterov"])
def test_momentum(count: int, mode: str):
    xs, gs, vs = ([normal(3, 2), normal(4, 1)] for _ in range(3))
    gs = [each + 1 for each in gs]
    options = {"alpha": 0.9, "beta": 0.5, "norm_coefficient": 0.01, "mode": mode}
    given = [RATE, np.array(count, np.int64), *xs, *gs, *vs]
    found = run_in(TRAINING, 1, "Momentum", given, 4, **options)
    for k in range(2):
        g = xs[k] * 0.01 + gs[k]
        v = 0.9 * vs[k] + (0.5 if count else 1) * g
        x = xs[k] - RATE * (v if mode == "standard" else g + 0.9 * v)
        np.testing.assert_allclose(found[k], x, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found[2 + k], v, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("count", [0, 3])
def test_adam(count: int):
    x, g, v, h = normal(3), normal(3) + 1, normal(3) / 2, np.abs(normal(3))
    options = {
        "alpha": 0.8,
        "beta": 0.9,
        "epsilon": 1e-2,
        "norm_coefficient": 0.1,
        "norm_coefficient_post": 0.2,
    }
    found = run_in(TRAINING, 1, "Adam", [RATE, np.array(count, np.int64), x, g, v, h], 3, **options)
    g = 0.1 * x + g
    v, h = 0.8 * v + 0.2 * g, 0.9 * h + 0.1 * g * g
    rate = RATE * np.sqrt(1 - 0.9**count) / (1 - 0.8**count) if count else RATE
    expected = 0.8 * (x - rate * v / (np.sqrt(h) + 1e-2)), v, h
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_adagrad():
    x, g, h = normal(3), normal(3) + 1, np.abs(normal(3))
    options = {"decay_factor": 0.5, "epsilon": 1e-3, "norm_coefficient": 0.1}
    found = run_in(TRAINING, 1, "Adagrad", [RATE, np.array(2, np.int64), x, g, h], 2, **options)
    g = 0.1 * x + g
    h = h + g * g
    np.testing.assert_allclose(found[0], x - RATE / 2 * g / (np.sqrt(h) + 1e-3), rtol=1e-5)
    np.testing.assert_allclose(found[1], h, rtol=1e-5)


def test_wrong_optimizers_are_errors():
    count, x = np.array(1, np.int64), normal(3)
    with pytest.raises(TenonError, match="4 inputs for tensors, expected 3 for each"):
        run_in(TRAINING, 1, "Adagrad", [RATE, count, x, x, x, x], 2)
    options = {"alpha": 0.9, "beta": 0.5, "norm_coefficient": 0.01, "mode": "fast"}
    with pytest.raises(TenonError, match="mode is 'fast', expected standard or nesterov"):
        run_in(TRAINING, 1, "Momentum", [RATE, count, x, x, x], 2, **options)
    with pytest.raises(TenonError, match=r"not supported: ai\.onnx\.preview\.training\.Gradient"):
        run_in(TRAINING, 1, "Gradient", [x], 1, xs=["i0"], y="i0")


def test_features():
    x = normal(4, 5)
    (found,) = run_in("ai.onnx.ml", 1, "Binarizer", [x], 1, threshold=0.25)
    np.testing.assert_array_equal(found, (x > 0.25).astype(np.float32))
    (found,) = run_in("ai.onnx.ml", 1, "ArrayFeatureExtractor", [x, np.array([[3, 0]], np.int64)], 1)
    np.testing.assert_array_equal(found, x[:, [3, 0]])
    (found,) = run_in("ai.onnx.ml", 1, "ArrayFeatureExtractor", [x[0], np.array([1], np.int64)], 1)
    np.testing.assert_array_equal(found, x[:1, 1:2])
