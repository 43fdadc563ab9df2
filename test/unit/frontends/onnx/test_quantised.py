"""Ops on quantised tensors: what they compute, beside numpy, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import tenon
from onnx import helper
from tenon.errors import TenonError
from tenon.test.unit.frontends.onnx.models import Array, model_of, normal
from tenon.test.unit.frontends.onnx.single_node import run

RANDOM = np.random.default_rng(0)


def scalar(value: float, dtype: Any = np.float32) -> Array:
    return np.array(value, dtype)


def test_floats_are_rounded_to_even_and_clipped():
    x = np.array([-400, -1.5, -0.5, 0.5, 1.5, 2.5, 400, np.inf, np.nan], np.float32)
    found = run("QuantizeLinear", [x, scalar(1), scalar(10, np.uint8)])
    np.testing.assert_array_equal(found, np.array([0, 8, 10, 10, 12, 12, 255, 255, 0], np.uint8))
    found = run("QuantizeLinear", [x, scalar(1), scalar(0, np.int8)])
    np.testing.assert_array_equal(found, np.array([-128, -2, 0, 0, 2, 2, 127, 127, -128], np.int8))
    assert run("QuantizeLinear", [x, scalar(1)]).dtype == np.uint8
    assert run("QuantizeLinear", [x, scalar(1)], output_dtype=onnx.TensorProto.INT16).dtype == np.int16


def test_blocks_at_the_end_may_be_short():
    x = RANDOM.integers(-128, 128, (7, 3)).astype(np.int8)
    scale, zero = np.abs(normal(3, 3)), RANDOM.integers(-9, 9, (3, 3)).astype(np.int8)
    found = run("DequantizeLinear", [x, scale, zero], axis=0, block_size=3)
    wide = [np.repeat(each, 3, axis=0)[:7] for each in (scale, zero.astype(np.float32))]
    np.testing.assert_allclose(found, (x - wide[1]) * wide[0], rtol=1e-6)


def test_weights_of_four_bits_in_blocks():
    text = """
    agraph (float[2, 4] x) => (float[2, 2] y) {
        d = DequantizeLinear<axis = 0, block_size = 2>(w, s)
        y = MatMul(x, d)
    }
    """
    model = model_of(text)
    w = np.array([[-8, 7], [1, 2], [3, -4], [5, 6]])
    s = np.array([[0.5, 2], [1, 0.25]], np.float32)
    model.graph.initializer.append(helper.make_tensor("w", onnx.TensorProto.INT4, (4, 2), w.reshape(-1)))
    model.graph.initializer.append(onnx.numpy_helper.from_array(s, "s"))
    x = normal(2, 4)
    found = tenon.from_onnx(model)(x)
    np.testing.assert_allclose(found, x @ (w * np.repeat(s, 2, axis=0)), rtol=1e-5, atol=1e-5)


def test_bounds_of_what_is_quantised_dynamically_include_zero():
    node = "agraph (float[n] x) => (uint8[n] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear(x) }"
    model = tenon.from_onnx(model_of(node))
    y, s, z = model(np.array([1, 2.2, 4], np.float32))
    np.testing.assert_allclose(s, 4 / 255, rtol=1e-6)
    np.testing.assert_array_equal(y, [64, 140, 255])
    assert z == 0
    y, s, z = model(np.zeros(5, np.float32))
    assert s == 1 and z == 0 and not y.any()


@pytest.mark.parametrize("shapes", [((3, 5), (5, 4)), ((2, 3, 5), (5, 4)), ((5,), (5, 4)), ((3, 5), (5,))])
def test_products_of_integers_are_exact(shapes: tuple[tuple[int, ...], tuple[int, ...]]):
    a = RANDOM.integers(0, 256, shapes[0]).astype(np.uint8)
    b = RANDOM.integers(-128, 128, shapes[1]).astype(np.int8)
    expected = (a.astype(np.int32) - 250) @ (b.astype(np.int32) + 128)
    found = run("MatMulInteger", [a, b, scalar(250, np.uint8), scalar(-128, np.int8)])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(run("MatMulInteger", [a, b]), a.astype(np.int32) @ b.astype(np.int32))


def test_zero_points_of_rows_and_columns():
    a, b = (RANDOM.integers(0, 256, shape).astype(np.uint8) for shape in ((3, 5), (5, 4)))
    rows, columns = (RANDOM.integers(0, 256, n).astype(np.uint8) for n in (3, 4))
    wide = [each.astype(np.int32) for each in (a, b, rows, columns)]
    expected = (wide[0] - wide[2][:, None]) @ (wide[1] - wide[3])
    np.testing.assert_array_equal(run("MatMulInteger", [a, b, rows, columns]), expected)


def test_convolutions_pad_with_the_zero_point():
    x, w = np.full((1, 1, 3, 3), 9, np.uint8), np.full((1, 1, 3, 3), 2, np.uint8)
    inputs = [x, w, scalar(7, np.uint8), scalar(1, np.uint8)]
    found = run("ConvInteger", inputs, pads=[1, 1, 1, 1])
    np.testing.assert_array_equal(found[0, 0], [[8, 12, 8], [12, 18, 12], [8, 12, 8]])


@pytest.mark.parametrize("n_rows", [1, 16, 17])
def test_products_of_blocks_of_four_bits(n_rows: int):
    n, k, block = 8, 40, 16
    values, zeros = RANDOM.integers(0, 16, (n, 3, block)), RANDOM.integers(0, 16, (n, 3))
    scale = np.abs(normal(n, 3))
    packed = (values[..., ::2] | values[..., 1::2] << 4).astype(np.uint8)
    padded = np.concatenate([zeros, np.zeros((n, 1), int)], axis=1)
    packed_zeros = (padded[:, ::2] | padded[:, 1::2] << 4).astype(np.uint8)
    x = normal(n_rows, k)
    options = {"domain": "com.microsoft", "K": k, "N": n, "block_size": block}
    for given, zero in ((packed_zeros, zeros), (None, 8), (zeros.astype(np.float32), zeros)):
        weights = (values - np.broadcast_to(zero, (n, 3))[..., None]) * scale[..., None]
        expected = x @ weights.reshape(n, -1)[:, :k].T.astype(np.float32)
        found = run("MatMulNBits", [x, packed, scale.reshape(-1), given], **options)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


X8, F1 = np.zeros((2, 3), np.uint8), scalar(1)

WRONG: dict[str, tuple[str, list[Array | None], dict[str, Any]]] = {
    "scale has shape (2,), expected (3,) for axis 1": (
        "DequantizeLinear",
        [X8, np.ones(2, np.float32)],
        {},
    ),
    "scale has shape (2, 2), expected (2, 1) for blocks of 4": (
        "DequantizeLinear",
        [X8, np.ones((2, 2), np.float32)],
        {"block_size": 4},
    ),
    "blocks of -2 along an axis of extent 3 are not supported": (
        "DequantizeLinear",
        [X8, np.ones((2, 2), np.float32)],
        {"block_size": -2},
    ),
    "the zero point is int8, the input uint8": ("DequantizeLinear", [X8, F1, scalar(0, np.int8)], {}),
    "zero points of shape (3,) for scales of shape ()": (
        "DequantizeLinear",
        [X8, F1, np.zeros(3, np.uint8)],
        {},
    ),
    "output_dtype is int8, the zero point is uint8": (
        "QuantizeLinear",
        [normal(2), F1, scalar(0, np.uint8)],
        {"output_dtype": onnx.TensorProto.INT8},
    ),
    "products of int32 are not supported": ("MatMulInteger", [X8, np.zeros((3, 2), np.int32)], {}),
    "kernel_shape is [2, 2], the kernel has shape (1, 1, 3, 3)": (
        "ConvInteger",
        [np.zeros((1, 1, 4, 4), np.uint8), np.zeros((1, 1, 3, 3), np.uint8)],
        {"kernel_shape": [2, 2]},
    ),
    "1 inputs for parts": ("com.microsoft.QLinearConcat", [F1, scalar(0, np.uint8), X8], {"axis": 0}),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_does_not_go_together_is_an_error_that_names_the_node(message: str):
    op, inputs, attributes = WRONG[message]
    domain, _, name = op.rpartition(".")
    with pytest.raises(TenonError) as caught:
        run(name, inputs, domain, **attributes)
    assert message in str(caught.value) and str(caught.value).startswith(f"{op} (node 0): ")


BLOCKS = {"K": 32, "N": 4, "block_size": 32}


@pytest.mark.parametrize(
    ("shape", "changed", "extra", "message"),
    [
        ((4, 1, 16), {"bits": 2}, [], "weights of 2 bits in blocks of 32 are not supported"),
        ((4, 1, 16), {"block_size": 24}, [], "in blocks of 24"),
        ((4, 1, 16), {"weight_prepacked": 1}, [], "prepacked, are not supported"),
        ((4, 2, 16), {}, [], "weights are uint8 of shape (4, 2, 16), expected uint8 of (4, 1, 16)"),
        ((4, 1, 32), {"K": 64, "block_size": 64}, [], "rows of 32, expected 64"),
        ((4, 1, 16), {}, [None, np.zeros(32, np.int32)], "input 'g_idx' is not supported"),
    ],
)
def test_wrong_blocks_are_errors(
    shape: tuple[int, ...], changed: dict[str, int], extra: list[Array | None], message: str
):
    inputs = [normal(2, 32), np.zeros(shape, np.uint8), np.ones(4, np.float32), *extra]
    with pytest.raises(TenonError) as caught:
        run("MatMulNBits", inputs, "com.microsoft", **{**BLOCKS, **changed})
    assert message in str(caught.value)
