"""What onnxruntime's optimisers write gives what it gives there."""

from __future__ import annotations

import numpy as np
import pytest
from tenon.test.frameworks.onnxruntime.compared import MICROSOFT, Array, check

RANDOM = np.random.default_rng(0)
CLOSE = {"domain": MICROSOFT, "rtol": 1e-4, "atol": 1e-4}


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def test_activations():
    x, bias = floats(5, 7, 24), floats(24)
    check("Gelu", [x], **CLOSE)
    check("FastGelu", [x], **CLOSE)
    check("FastGelu", [x, bias], [1], **CLOSE)
    check("BiasGelu", [x, bias], [1], **CLOSE)
    check("QuickGelu", [x], **CLOSE, alpha=1.5)


@pytest.mark.parametrize("n_outputs", [1, 4])
def test_skip_layer_normalization(n_outputs: int):
    x, skip, gamma, beta, bias = floats(2, 7, 24), floats(2, 7, 24), floats(24), floats(24), floats(24)
    for inputs in ([x, skip, gamma], [x, skip, gamma, beta], [x, skip, gamma, beta, bias]):
        outputs = ["o0", "", "", "o3"][:n_outputs]
        check("SkipLayerNormalization", inputs, [2, 3, 4], outputs=outputs, **CLOSE)
        check("SkipLayerNormalization", inputs, [2, 3, 4], outputs=outputs, **CLOSE, epsilon=0.1)
    for inputs in ([x, skip, gamma], [x, skip, gamma, bias]):
        check("SkipSimplifiedLayerNormalization", inputs, [2, 3], outputs=outputs, **CLOSE)
    check("SkipLayerNormalization", [x, floats(1, 7, 24), gamma, beta], [2, 3], **CLOSE)


def test_simplified_layer_normalization():
    check("SimplifiedLayerNormalization", [floats(2, 7, 24), floats(24)], [1], epsilon=0.01)
    inputs = [floats(2, 7, 24), floats(24), floats(24)]
    check("LayerNormalization", inputs, [1, 2], epsilon=0.01, opset=13)


def test_embed_layer_normalization():
    ids, segments = (RANDOM.integers(0, n, (3, 6)).astype(np.int32) for n in (50, 2))
    mask = (np.arange(6) < np.array([[6], [2], [4]])).astype(np.int32)
    tables = [floats(50, 16), floats(10, 16), floats(2, 16)]
    inputs = [ids, segments, *tables, floats(16), floats(16), mask]
    check("EmbedLayerNormalization", inputs, range(2, 7), n_outputs=3, **CLOSE)
    check("EmbedLayerNormalization", inputs[:-1], range(2, 7), n_outputs=2, **CLOSE)
    places = RANDOM.integers(0, 10, (3, 6)).astype(np.int32)
    check("EmbedLayerNormalization", [*inputs, places], range(2, 7), n_outputs=2, **CLOSE)
    without = [ids, None, *tables[:2], None, *inputs[5:]]
    check("EmbedLayerNormalization", without, range(2, 7), n_outputs=2, **CLOSE)


def test_fused_products():
    a, b = floats(3, 5, 17), floats(3, 17, 6)
    check("FusedMatMul", [a, b], alpha=0.5, **CLOSE)
    check(
        "FusedMatMul", [a.transpose(0, 2, 1).copy(), b.transpose(0, 2, 1).copy()], transA=1, transB=1, **CLOSE
    )
    check("FusedMatMul", [a.transpose(1, 0, 2).copy(), b], transBatchA=1, **CLOSE)
    check("FusedGemm", [floats(4, 5), floats(5, 6), floats(6)], activation="Relu", **CLOSE)


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("Relu", None),
        ("Tanh", None),
        ("Sigmoid", None),
        ("LeakyRelu", [0.2]),
        ("Clip", [-0.5, 0.5]),
        ("HardSigmoid", [0.3, 0.4]),
    ],
)
def test_fused_conv(name: str, numbers: list[float] | None):
    inputs = [floats(2, 4, 9, 9), floats(8, 4, 3, 3), floats(8)]
    options = {"activation": name, "pads": [1, 1, 1, 1], **CLOSE}
    if numbers:
        options["activation_params"] = numbers
    check("FusedConv", inputs, [1, 2], **options)
    if name == "Relu":
        check("FusedConv", [*inputs, floats(2, 8, 9, 9)], [1, 2], **options)


@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotary_embedding(interleaved: int):
    angles = RANDOM.uniform(0, 6, (20, 4)).astype(np.float32)
    caches = [np.cos(angles), np.sin(angles)]
    options = {"interleaved": interleaved, **CLOSE}
    places = RANDOM.integers(0, 20, (2, 5))
    check("RotaryEmbedding", [floats(2, 5, 24), places, *caches], [2, 3], **options)
    check("RotaryEmbedding", [floats(2, 3, 5, 8), np.array([7]), *caches], [2, 3], **options)
    part = {"num_heads": 2, "rotary_embedding_dim": 8}
    check("RotaryEmbedding", [floats(2, 5, 24), places, *caches], [2, 3], **options, **part)


@pytest.mark.parametrize("unidirectional", [0, 1])
def test_attention(unidirectional: int):
    x, weights, bias = floats(2, 6, 20), floats(20, 72), floats(72)
    options = {"num_heads": 3, "unidirectional": unidirectional, **CLOSE}
    check("Attention", [x, weights, bias], [1, 2], **options)
    masks = [
        np.array([4, 6], np.int32),
        (np.arange(6) < np.array([[3], [6]])).astype(np.int32),
        np.tril(np.ones((2, 6, 6), np.int32)),
    ]
    for mask in masks:
        check("Attention", [x, weights, bias, mask], [1, 2], **options)
    past = floats(2, 2, 3, 4, 8)
    check("Attention", [x, weights, bias, None, past], [1, 2], n_outputs=2, **options)
    check("Attention", [x, weights, bias, None, None, floats(2, 3, 6, 6)], [1, 2], **options)
    check("Attention", [x, floats(20, 66), floats(66)], [1, 2], qkv_hidden_sizes=[24, 24, 18], **options)


@pytest.mark.parametrize("unidirectional", [0, 1])
def test_multi_head_attention(unidirectional: int):
    query, key, value, bias = floats(2, 5, 24), floats(2, 7, 24), floats(2, 7, 24), floats(72)
    options = {"num_heads": 3, **CLOSE}
    check("MultiHeadAttention", [query, key, value], **options)
    check("MultiHeadAttention", [query, key, value, bias], [3], scale=0.2, **options)
    mask = (np.arange(7) < np.array([[3], [7]])).astype(np.int32)
    check("MultiHeadAttention", [query, key, value, bias, mask], [3], **options)
    check("MultiHeadAttention", [query, key, value, None, None, floats(1, 3, 5, 7)], **options)
    options["unidirectional"] = unidirectional
    own = [query, floats(2, 5, 24), floats(2, 5, 24), bias]
    past = [floats(2, 3, 4, 8), floats(2, 3, 4, 8)]
    check("MultiHeadAttention", own, [3], **options)
    check("MultiHeadAttention", [*own, None, None, *past], [3], n_outputs=3, **options)


@pytest.mark.parametrize("do_rotary", [0, 1])
@pytest.mark.parametrize("window", [-1, 3])
def test_group_query_attention(do_rotary: int, window: int):
    angles = RANDOM.uniform(0, 6, (20, 8)).astype(np.float32)
    caches = [np.cos(angles), np.sin(angles)] if do_rotary else []
    options = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": do_rotary, "local_window_size": window}
    options |= {"n_outputs": 3, **CLOSE}
    for count, n_past in ((6, 0), (1, 5), (1, 9)):
        total = max(count + n_past, 6)
        query, key, value = floats(2, count, 64), floats(2, count, 32), floats(2, count, 32)
        past = [floats(2, 2, n_past, 16), floats(2, 2, n_past, 16)]
        lengths = np.array([total - 1] * 2, np.int32)
        inputs = [query, key, value, *past, lengths, np.array(total, np.int32), *caches]
        check("GroupQueryAttention", inputs, [6], **options)
        packed = np.concatenate([query, key, value], axis=2)
        check("GroupQueryAttention", [packed, None, None, *inputs[3:]], [6], **options)
