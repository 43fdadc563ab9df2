"""What onnxruntime's optimisers write: what it computes, beside numpy, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tenon.errors import TenonError
from tenon.test.unit.frontends.onnx.models import Array, normal
from tenon.test.unit.frontends.onnx.single_node import run

MICROSOFT = "com.microsoft"


def gelu(x: Array) -> Array:
    return (x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))).astype(np.float32)


def softmax(x: Array) -> Array:
    found = np.exp(x - x.max(axis=-1, keepdims=True))
    return found / found.sum(axis=-1, keepdims=True)


def heads(x: Array, count: int) -> Array:
    return x.reshape(*x.shape[:2], count, -1).transpose(0, 2, 1, 3)


def rows(x: Array) -> Array:
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def attended(query: Array, key: Array, value: Array, is_open: Array | bool = True) -> Array:
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    return softmax(np.where(is_open, scores, -1e9)) @ value


def close(found: Array, expected: Array) -> None:
    assert found.dtype == np.float32 and found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_activations():
    x, bias = normal(3, 8), normal(8)
    close(run("Gelu", [x], MICROSOFT), gelu(x))
    close(run("BiasGelu", [x, bias], MICROSOFT), gelu(x + bias))
    close(run("QuickGelu", [x], MICROSOFT), x / (1 + np.exp(-1.702 * x)))
    y = x + bias
    tanh = y * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)))
    close(run("FastGelu", [x, bias], MICROSOFT), tanh)
    close(run("BiasSplitGelu", [x, bias], MICROSOFT), y[:, :4] * gelu(y[:, 4:]))


def test_what_is_skipped_is_added_and_given_too():
    x, skip, gamma, beta, bias = normal(2, 3, 8), normal(3, 8), normal(8), normal(1, 8)[0], normal(8) / 2
    total = x + skip + bias
    centred = total - total.mean(-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(-1, keepdims=True) + 0.1)
    found = run("SkipLayerNormalization", [x, skip, gamma, beta, bias], MICROSOFT, 4, epsilon=0.1)
    for one, other in zip(
        found,
        (centred / deviation * gamma + beta, total.mean(-1, keepdims=True), 1 / deviation, total),
        strict=True,
    ):
        close(one, other)
    size = np.sqrt((total**2).mean(-1, keepdims=True) + 0.1)
    found = run("SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], MICROSOFT, 1, epsilon=0.1)
    close(found, total / size * gamma)
    found = run("SimplifiedLayerNormalization", [total, gamma], n_outputs=2, epsilon=0.1)
    close(found[0], total / size * gamma)
    close(found[1], 1 / size)


def test_words_places_and_segments():
    ids, segments = np.array([[3, 1], [0, 2]], np.int32), np.array([[0, 1], [1, 1]], np.int32)
    tables, gamma, beta = (normal(5, 4), normal(6, 4), normal(2, 4)), normal(4), np.ones(4, np.float32)
    mask = np.array([[1, 0], [1, 1]], np.int32)
    total = tables[0][ids] + tables[1][:2] + tables[2][segments]
    centred = total - total.mean(-1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12) * gamma + beta
    found = run("EmbedLayerNormalization", [ids, segments, *tables, gamma, beta, mask], MICROSOFT, 3)
    close(found[0], expected)
    np.testing.assert_array_equal(found[1], [1, 2])
    close(found[2], total)


def test_fused_products():
    a, b = normal(3, 5, 4), normal(3, 6, 4)
    close(run("FusedMatMul", [a, b], MICROSOFT, transB=1, alpha=0.5), a @ b.swapaxes(1, 2) / 2)
    inside = np.ascontiguousarray(a.swapaxes(0, 1))
    close(run("FusedMatMul", [inside, b], MICROSOFT, transB=1, transBatchA=1), a @ b.swapaxes(1, 2))
    found = run("FusedGemm", [a[0], b[0], normal(6)], MICROSOFT, transB=1, activation="Relu")
    close(found, np.maximum(a[0] @ b[0].T + normal(6), 0))


def test_fused_convolutions():
    x, kernel, added = normal(1, 2, 3, 3), normal(4, 2, 1, 1), normal(1, 4, 3, 3)
    plain = np.einsum("nchw,oc->nohw", x, kernel[:, :, 0, 0])
    found = run("FusedConv", [x, kernel, None, added], MICROSOFT, activation="Relu")
    close(found, np.maximum(plain + added, 0))
    found = run("FusedConv", [x, kernel], MICROSOFT, activation="Clip", activation_params=[-0.5, 0.5])
    close(found, np.clip(plain, -0.5, 0.5))


@pytest.mark.parametrize("is_interleaved", [False, True])
def test_pairs_are_turned_by_the_angle_of_their_place(is_interleaved: bool):
    x, places = normal(2, 3, 12), np.array([[0, 2, 4], [1, 1, 3]])
    angles = normal(5, 2)
    pairs = heads(x, 2)
    order = [0, 2, 1, 3] if is_interleaved else [0, 1, 2, 3]
    turned = pairs[..., order]
    number = (turned[..., :2] + 1j * turned[..., 2:]) * np.exp(1j * angles[places])[:, None]
    both = np.concatenate([number.real, number.imag], axis=-1)[..., order]
    expected = rows(np.concatenate([both, pairs[..., 4:]], axis=-1).astype(np.float32))
    inputs = [x, places, np.cos(angles), np.sin(angles)]
    options = {"interleaved": int(is_interleaved), "num_heads": 2, "rotary_embedding_dim": 4}
    close(run("RotaryEmbedding", inputs, MICROSOFT, **options), expected)
    ones = run("RotaryEmbedding", [x, np.array([1]), *inputs[2:]], MICROSOFT, **options)
    same = run("RotaryEmbedding", [x, np.array([[1, 2, 3]] * 2), *inputs[2:]], MICROSOFT, **options)
    np.testing.assert_array_equal(ones, same)


def test_attention_with_earlier_keys():
    x, weights, bias, past = normal(2, 3, 6), normal(6, 24), normal(24), normal(2, 2, 2, 4, 4)
    query, key, value = (heads(each, 2) for each in np.split(x @ weights + bias, 3, axis=2))
    key, value = (np.concatenate(each, axis=2) for each in ((past[0], key), (past[1], value)))
    is_open = np.arange(7) <= np.arange(3)[:, None] + 4
    options = {"num_heads": 2, "unidirectional": 1, "n_outputs": 2}
    found = run("Attention", [x, weights, bias, None, past], MICROSOFT, **options)
    close(found[0], rows(attended(query, key, value, is_open)))
    close(found[1], np.stack([key, value]))


@pytest.mark.parametrize(
    ("mask", "is_open"),
    [
        (np.array([2, 5], np.int32), np.arange(5) < np.array([2, 5])[:, None, None, None]),
        (
            np.array([[1, 1, 0, 0, 1], [1] * 5], np.int32),
            np.array([[1, 1, 0, 0, 1], [1] * 5], bool)[:, None, None],
        ),
        (np.tri(3, 5, 1, np.int32)[None].repeat(2, 0), np.tri(3, 5, 1, bool)),
    ],
)
def test_keys_that_are_not_seen(mask: Array, is_open: Array):
    query, key, value = normal(2, 3, 8), normal(2, 5, 8), normal(2, 5, 12)
    found = run("MultiHeadAttention", [query, key, value, None, mask], MICROSOFT, num_heads=2)
    close(found, rows(attended(*(heads(each, 2) for each in (query, key, value)), is_open)))


def test_queries_keys_and_values_may_be_packed():
    query, key, value = normal(2, 5, 8), normal(2, 5, 8) + 1, normal(2, 5, 8) * 2
    expected = run("MultiHeadAttention", [query, key, value], MICROSOFT, num_heads=2)
    three = [each.reshape(2, 5, 2, 4) for each in (query, key, value)]
    packed = np.stack(three, axis=3)
    close(run("MultiHeadAttention", [packed], MICROSOFT, num_heads=2), expected)
    pair = np.stack(three[1:], axis=3)
    close(run("MultiHeadAttention", [query, pair], MICROSOFT, num_heads=2), expected)


@pytest.mark.parametrize("n_room", [5, 8])
def test_heads_share_keys_which_lie_in_buffers(n_room: int):
    """The second row of the batch has fewer keys, and the new ones lie right behind them."""
    query, key, value = normal(2, 1, 16), normal(2, 1, 8), normal(2, 1, 8)
    past = normal(2, 2, n_room, 4), normal(2, 2, n_room, 4) * 2
    lengths, total = np.array([5, 3], np.int32), np.array(6, np.int32)
    n_keys = max(n_room, 6)
    buffers: list[Array] = []
    for old, new in zip(past, (key, value), strict=True):
        buffer = np.zeros((2, 2, n_keys, 4), np.float32)
        buffer[:, :, :n_room] = old
        for row, place in enumerate(lengths):
            buffer[row, :, place] = heads(new, 2)[row, :, 0]
        buffers.append(buffer)
    is_open = np.arange(n_keys) <= lengths[:, None, None, None]
    wide = [np.repeat(each, 2, axis=1) for each in buffers]
    options = {"num_heads": 4, "kv_num_heads": 2, "n_outputs": 3}
    found = run("GroupQueryAttention", [query, key, value, *past, lengths, total], MICROSOFT, **options)
    close(found[0], rows(attended(heads(query, 4), *wide, is_open)))
    for one, other in zip(found[1:], buffers, strict=True):
        close(one, other)


X3 = normal(2, 3, 8)
ANGLES = [np.array([0]), normal(4, 2), normal(4, 2)]
GROUPS = [X3, X3, X3, None, None, np.array([2, 2], np.int32), np.array(3, np.int32)]

WRONG: list[tuple[str, list[Array | None], dict[str, Any], str]] = [
    ("BiasSplitGelu", [normal(3), normal(3)], {}, "expected an even number along the last axis"),
    ("FusedMatMul", [normal(2, 2), normal(2, 2)], {"transBatchA": 1}, "expected axes of a batch"),
    (
        "FusedGemm",
        [normal(2, 2), normal(2, 2)],
        {"activation": "Elu"},
        "activation 'Elu' with the numbers []",
    ),
    ("EmbedLayerNormalization", [np.zeros((1, 2), np.int32)], {}, "a table, 'gamma' or 'beta' is missing"),
    (
        "EmbedLayerNormalization",
        [np.zeros((1, 2), np.int32), None, X3[0], X3[0], None, normal(8), normal(8)],
        {"mask_index_type": 1},
        "mask_index_type 1 is not supported",
    ),
    ("RotaryEmbedding", [X3, *ANGLES], {"scale": 2.0}, "is_packed_batching and a scale are not supported"),
    ("RotaryEmbedding", [X3, *ANGLES], {"rotary_embedding_dim": 6}, "rotary_embedding_dim is 6, there are 2"),
    ("RotaryEmbedding", [X3[0], *ANGLES], {}, "expected 3 or 4 axes"),
    ("RotaryEmbedding", [X3, *ANGLES], {"num_heads": 8}, "2 angles for heads of 1"),
    ("RotaryEmbedding", [X3, *ANGLES], {"num_heads": 3}, "8 numbers in 3 heads"),
    ("Attention", [X3, normal(8, 24)], {"num_heads": 2, "do_rotary": 1}, "do_rotary and"),
    (
        "Attention",
        [X3, normal(8, 24)],
        {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 9]},
        "queries, keys and values of [8, 8, 9] in 24 columns",
    ),
    ("MultiHeadAttention", [X3], {"num_heads": 2}, "keys and values are missing"),
    (
        "MultiHeadAttention",
        [X3, X3, X3, None, np.ones((9,), np.int32)],
        {"num_heads": 2},
        "a mask of shape (9,) is not supported",
    ),
    (
        "MultiHeadAttention",
        [X3, X3, X3, *[None] * 5, np.array([3], np.int32)],
        {"num_heads": 2},
        "keys and values in a buffer with more room are not supported",
    ),
    (
        "MultiHeadAttention",
        [normal(2, 3, 2, 3, 4), X3],
        {"num_heads": 2},
        "keys and values beside those that are packed",
    ),
    ("GroupQueryAttention", GROUPS, {"num_heads": 4, "kv_num_heads": 3}, "4 heads of queries for 3 of keys"),
    (
        "GroupQueryAttention",
        GROUPS,
        {"num_heads": 2, "kv_num_heads": 2, "smooth_softmax": 1},
        "smooth_softmax and a head_sink are not supported",
    ),
    (
        "GroupQueryAttention",
        GROUPS,
        {"num_heads": 2, "kv_num_heads": 2, "do_rotary": 1},
        "do_rotary without angles",
    ),
    (
        "GroupQueryAttention",
        GROUPS[:3],
        {"num_heads": 2, "kv_num_heads": 2},
        "input 'seqlens_k' or 'total_sequence_length' is missing",
    ),
]


@pytest.mark.parametrize(("op", "inputs", "attributes", "message"), WRONG)
def test_what_is_not_supported_is_an_error_that_names_the_node(
    op: str, inputs: list[Array | None], attributes: dict[str, Any], message: str
):
    with pytest.raises(TenonError) as caught:
        run(op, inputs, MICROSOFT, **attributes)
    assert message in str(caught.value) and str(caught.value).startswith(f"com.microsoft.{op} (node 0): ")


def test_the_simplified_normalisation_is_along_the_last_axis():
    with pytest.raises(TenonError, match="axis 1 with stash_type 1 is not supported"):
        run("SimplifiedLayerNormalization", [X3, normal(8)], axis=1)


def test_layer_normalisation_in_models_before_version_17():
    found = run("LayerNormalization", [X3, normal(8)], opset=13)
    np.testing.assert_array_equal(found, run("LayerNormalization", [X3, normal(8)], opset=17))
