"""Layers and small networks, in f32, with channels last."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import learning_loops as loops
from .kernel import Kernel, Size, sizes
from .sides import Side


def _relu(t: Side, x: Any) -> Any:
    return t.np.maximum(x, 0)


def softmax(t: Side, x: Any) -> Any:
    exponentials = t.np.exp(x - t.np.max(x, axis=-1, keepdims=True))
    return exponentials / t.np.sum(exponentials, axis=-1, keepdims=True)


def mlp(t: Side, x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
    x = _relu(t, x @ w1 + b1)
    x = _relu(t, x @ w2 + b2)
    return softmax(t, x @ w3 + b3)


def conv2d_bias(t: Side, x: Any, weights: Any, bias: Any) -> Any:
    return t.convolve(x, weights) + bias


def _pooled(t: Side, x: Any) -> Any:
    batch, rows, columns, channels = x.shape
    x = x[:, : rows // 2 * 2, : columns // 2 * 2]
    return t.np.max(t.np.reshape(x, (batch, rows // 2, 2, columns // 2, 2, channels)), axis=(2, 4))


def lenet(
    t: Side,
    x: Any,
    conv1: Any,
    bias1: Any,
    conv2: Any,
    bias2: Any,
    w1: Any,
    b1: Any,
    w2: Any,
    b2: Any,
    w3: Any,
    b3: Any,
) -> Any:
    x = _pooled(t, _relu(t, t.convolve(x, conv1) + bias1))
    x = _pooled(t, _relu(t, t.convolve(x, conv2) + bias2))
    x = t.np.reshape(x, (x.shape[0], -1))
    x = _relu(t, x @ w1 + b1)
    x = _relu(t, x @ w2 + b2)
    return x @ w3 + b3


def _normalized(t: Side, x: Any) -> Any:
    """NPBench's batch norm: over the batch only, and by the root of the deviation."""
    mean, deviation = t.np.mean(x, axis=0, keepdims=True), t.np.std(x, axis=0, keepdims=True)
    return (x - mean) / t.np.sqrt(deviation + 1e-5)


def resnet(t: Side, x: Any, conv1: Any, conv2: Any, conv3: Any) -> Any:
    """A bottleneck block."""
    inner = t.np.pad(t.convolve(x, conv1), ((0, 0), (1, 1), (1, 1), (0, 0)))
    inner = _relu(t, _normalized(t, inner))
    inner = _relu(t, _normalized(t, t.convolve(inner, conv2)))
    return _relu(t, _normalized(t, t.convolve(inner, conv3)) + x)


def _random(generator: np.random.Generator, **shapes: tuple[int, ...]) -> dict[str, Any]:
    return {name: generator.random(shape, dtype=np.float32) for name, shape in shapes.items()}


def _mlp_inputs(generator: np.random.Generator, size: Size) -> dict[str, Any]:
    inputs, s0, s1, s2 = size["C_in"], size["S0"], size["S1"], size["S2"]
    return _random(
        generator,
        x=(size["N"], inputs),
        w1=(inputs, s0),
        b1=(s0,),
        w2=(s0, s1),
        b2=(s1,),
        w3=(s1, s2),
        b3=(s2,),
    )


def _conv_inputs(generator: np.random.Generator, size: Size) -> dict[str, Any]:
    k, inputs, outputs = size["K"], size["C_in"], size["C_out"]
    return _random(
        generator,
        x=(size["N"], size["H"], size["W"], inputs),
        weights=(k, k, inputs, outputs),
        bias=(outputs,),
    )


def _lenet_inputs(generator: np.random.Generator, size: Size) -> dict[str, Any]:
    rows, columns = (((size[name] - 4) // 2 - 4) // 2 for name in ("H", "W"))
    return _random(
        generator,
        x=(size["N"], size["H"], size["W"], 1),
        conv1=(5, 5, 1, 6),
        bias1=(6,),
        conv2=(5, 5, 6, 16),
        bias2=(16,),
        w1=(16 * rows * columns, 120),
        b1=(120,),
        w2=(120, 84),
        b2=(84,),
        w3=(84, 10),
        b3=(10,),
    )


def _resnet_inputs(generator: np.random.Generator, size: Size) -> dict[str, Any]:
    wide, narrow = size["C1"], size["C2"]
    return _random(
        generator,
        x=(size["N"], size["H"], size["W"], wide),
        conv1=(1, 1, wide, narrow),
        conv2=(3, 3, narrow, narrow),
        conv3=(1, 1, narrow, wide),
    )


def _softmax_inputs(generator: np.random.Generator, size: Size) -> dict[str, Any]:
    return _random(generator, x=(size["N"], size["H"], size["SM"], size["SM"]))


_F32 = 1e-4

KERNELS = (
    Kernel(
        "conv2d_bias",
        sizes(
            {"N": 2, "C_in": 3, "C_out": 4, "K": 2, "H": 6, "W": 7},
            {"N": 8, "C_in": 3, "C_out": 16, "K": 2, "H": 32, "W": 32},
            {"N": 8, "C_in": 3, "C_out": 8, "K": 5, "H": 64, "W": 64},
        ),
        _conv_inputs,
        conv2d_bias,
        loops=loops.conv2d_bias,
        tolerance=_F32,
    ),
    Kernel(
        "lenet",
        sizes({"N": 2, "H": 16, "W": 18}, {"N": 4, "H": 28, "W": 28}, {"N": 8, "H": 56, "W": 56}),
        _lenet_inputs,
        lenet,
        tolerance=_F32,
    ),
    Kernel(
        "mlp",
        sizes(
            {"C_in": 3, "N": 4, "S0": 9, "S1": 7, "S2": 5},
            {"C_in": 3, "N": 8, "S0": 30000, "S1": 2000, "S2": 2000},
            {"C_in": 3, "N": 8, "S0": 30000, "S1": 10000, "S2": 10000},
        ),
        _mlp_inputs,
        mlp,
        tolerance=_F32,
    ),
    Kernel(
        "resnet",
        sizes(
            {"N": 3, "W": 5, "H": 4, "C1": 6, "C2": 3},
            {"N": 8, "W": 14, "H": 14, "C1": 32, "C2": 8},
            {"N": 8, "W": 28, "H": 28, "C1": 64, "C2": 16},
        ),
        _resnet_inputs,
        resnet,
        tolerance=1e-3,
    ),
    Kernel(
        "softmax",
        sizes(
            {"N": 2, "H": 3, "SM": 5},
            {"N": 16, "H": 16, "SM": 128},
            {"N": 32, "H": 8, "SM": 256},
        ),
        _softmax_inputs,
        softmax,
        loops=loops.softmax,
        tolerance=_F32,
    ),
)
