"""Models that dequantise what they multiply: products of the integers, and weights that stay narrow."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
import tenon
from onnx import helper
from tenon.frontends.onnx.quantised import form_rules, weights
from tenon.test.unit.frontends.onnx.models import Array, model_of, normal

RANDOM = np.random.default_rng(3)


def imported(text: str, tensors: dict[str, Any], backend: str = "llvm") -> Any:
    """Returns a model in text with initializers: `q(x)` and `d(x)` stand beside what they say."""
    model = model_of(text)
    for name, values in tensors.items():
        array = np.asarray(values)
        if array.dtype in (ml_dtypes.int4, ml_dtypes.uint4):
            kind = onnx.TensorProto.INT4 if array.dtype == ml_dtypes.int4 else onnx.TensorProto.UINT4
            tensor = helper.make_tensor(name, kind, array.shape, array.astype(np.int32).reshape(-1))
        else:
            tensor = onnx.numpy_helper.from_array(array, name)
        model.graph.initializer.append(tensor)
    return tenon.from_onnx(model, backend=backend)


def of_bytes(*shape: int, dtype: Any) -> Array:
    info = np.iinfo(dtype)
    return RANDOM.integers(info.min, info.max + 1, shape).astype(dtype)


def codes(x: Array, scale: Any, zero: Any, dtype: Any) -> Array:
    info = np.iinfo(dtype)
    return np.clip(np.round(x / np.float32(scale)) + zero, info.min, info.max).astype(dtype)


QDQ_MATMUL = """
agraph (float[m, 40] x) => (uint8[m, 24] y) {
    q = QuantizeLinear(x, xs, xz)
    a = DequantizeLinear(q, xs, xz)
    b = DequantizeLinear<axis = 1>(w, ws, wz)
    c = MatMul(a, b)
    y = QuantizeLinear(c, ys, yz)
}
"""


@pytest.mark.parametrize("kind", ["uint8", "int8"])
@pytest.mark.parametrize("weight", ["uint8", "int8"])
def test_products_between_dequantised_matrices_are_of_integers(kind: str, weight: str):
    x, w = normal(7, 40), of_bytes(40, 24, dtype=weight)
    xs, ws, ys = np.float32(0.02), RANDOM.uniform(0.01, 0.02, 24).astype(np.float32), np.float32(0.3)
    xz, wz, yz = np.array(5, kind), of_bytes(24, dtype=weight), np.uint8(99)
    tensors = {"w": w, "xs": xs, "ws": ws, "ys": ys, "xz": xz, "wz": wz, "yz": yz}
    total = (codes(x, xs, 5, kind).astype(np.int64) - 5) @ (w.astype(np.int64) - wz.astype(np.int64))
    expected = np.clip(np.round(total.astype(np.float32) * (xs * ws / ys)) + 99, 0, 255).astype(np.uint8)
    assert len(np.unique(expected)) > 50
    for backend in ("llvm", "reference"):
        np.testing.assert_array_equal(imported(QDQ_MATMUL, tensors, backend)(x), expected)


def test_a_gemm_adds_a_bias_that_has_the_scale_of_the_product():
    text = """
    agraph (uint8[5, 40] q) => (float[5, 24] y, uint8[5, 24] z) {
        a = DequantizeLinear(q, xs)
        b = DequantizeLinear<axis = 0>(w, ws)
        c = DequantizeLinear<axis = 0>(k, ks)
        y = Gemm<transB = 1>(a, b, c)
        z = QuantizeLinear(y, ys)
    }
    """
    q, w = of_bytes(5, 40, dtype="uint8"), of_bytes(24, 40, dtype="int8")
    k = RANDOM.integers(-999, 999, 24)
    xs, ws, ys = np.float32(0.01), RANDOM.uniform(0.01, 0.02, 24).astype(np.float32), np.float32(0.05)
    tensors = {"w": w, "xs": xs, "ws": ws, "ys": ys, "k": k.astype(np.int32), "ks": xs * ws}
    total = q.astype(np.int64) @ w.T.astype(np.int64) + k
    y, z = imported(text, tensors)(q)
    np.testing.assert_array_equal(y, total.astype(np.float32) * (xs * ws))
    np.testing.assert_array_equal(z, np.clip(np.round(total.astype(np.float32) * (xs * ws / ys)), 0, 255))
    # A bias of another scale is added as a float.
    y, z = imported(text, {**tensors, "ks": xs * ws * 2})(q)
    np.testing.assert_allclose(y, total.astype(np.float32) * (xs * ws) + k * (xs * ws), rtol=1e-5, atol=1e-4)
    assert np.abs(z.astype(int) - np.clip(np.round(y / ys), 0, 255)).max() <= 1


@pytest.mark.parametrize("has_bias", [True, False])
def test_convolutions_of_dequantised_images_are_of_integers(has_bias: bool):
    text = """
    agraph (uint8[2, 3, 9, 9] q) => (float[2, 8, 9, 9] y, int8[2, 8, 9, 9] z) {
        a = DequantizeLinear(q, xs, xz)
        b = DequantizeLinear<axis = 0>(w, ws)
        c = DequantizeLinear<axis = 0>(k, ks)
        y = Conv<pads = [1, 1, 1, 1]>(a, b%s)
        z = QuantizeLinear(y, ys, yz)
    }
    """
    q, w = of_bytes(2, 3, 9, 9, dtype="uint8"), of_bytes(8, 3, 3, 3, dtype="int8")
    k = RANDOM.integers(-999, 999, 8).astype(np.int32)
    xs, ws, ys = np.float32(0.01), RANDOM.uniform(0.01, 0.02, 8).astype(np.float32), np.float32(0.5)
    tensors = {"w": w, "xs": xs, "xz": np.uint8(120), "ws": ws, "ys": ys, "yz": np.int8(-9), "k": k}
    y, z = imported(text % (", c" if has_bias else ""), {**tensors, "ks": xs * ws})(q)
    wide = np.pad(q.astype(np.int64) - 120, [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (2, 3))
    total = np.einsum("nchwij,ocij->nohw", windows, w.astype(np.int64)) + has_bias * k[:, None, None]
    factor = (xs * ws)[:, None, None]
    np.testing.assert_array_equal(y, total.astype(np.float32) * factor)
    expected = np.round(total.astype(np.float32) * (factor / ys)) - 9
    np.testing.assert_array_equal(z, np.clip(expected, -128, 127))


def test_what_is_moved_between_two_equal_scales_stays_integers():
    text = """
    agraph (uint8[2, 6, 4] q) => (uint8[2, 24] y, uint8[2, 24] z) {
        a = DequantizeLinear(q, xs, xz)
        t = Transpose<perm = [0, 2, 1]>(a)
        r = Reshape(t, shape)
        y = QuantizeLinear(r, xs, xz)
        z = QuantizeLinear(r, ys, xz)
    }
    """
    q = of_bytes(2, 6, 4, dtype="uint8")
    tensors = {"xs": np.float32(0.3), "ys": np.float32(0.6), "xz": np.uint8(7), "shape": np.array([2, 24])}
    y, z = imported(text, tensors)(q)
    moved = q.transpose(0, 2, 1).reshape(2, 24)
    np.testing.assert_array_equal(y, moved)
    expected = np.round((moved - np.float32(7)) * np.float32(0.3) / np.float32(0.6)) + 7
    np.testing.assert_array_equal(z, expected)
    # A scale at the edge of what floats hold is not looked through: all of these are 0.
    tiny = {**tensors, "xs": np.float32(1e-45), "ys": np.float32(1e-45)}
    assert imported(text, tiny)(q)[0].shape == (2, 24)


def test_others_are_multiplied_as_floats():
    text = """
    agraph (float[20, 40] x, uint16[20, 40] q) => (float[20, 24] y, float[20, 24] z) {
        a = DequantizeLinear(q, xs)
        b = DequantizeLinear<axis = 0, block_size = 20>(w, ws)
        y = MatMul(a, b)
        z = MatMul(x, b)
    }
    """
    x, q = normal(20, 40), of_bytes(20, 40, dtype="uint16")
    w, ws = of_bytes(40, 24, dtype="int8"), RANDOM.uniform(0.01, 0.02, (2, 24)).astype(np.float32)
    model = imported(text, {"w": w, "xs": np.float32(0.001), "ws": ws})
    y, z = model(x, q)
    wide = w * np.repeat(ws, 20, axis=0)
    np.testing.assert_allclose(y, (q * np.float32(0.001)) @ wide, rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(z, x @ wide, rtol=1e-4, atol=1e-3)


WEIGHTS = {
    "one scale": (np.int8, (1,), 1, 0, False),
    "columns": (np.int8, (160,), 1, 0, False),
    "columns of a transposed matrix": (np.uint8, (160,), 0, 0, True),
    "blocks": (np.int8, (8, 160), 0, 16, False),
    "columns of four bits": (ml_dtypes.int4, (160,), 1, 0, False),
    "blocks of four bits": (ml_dtypes.uint4, (4, 160), 0, 32, False),
    "blocks of four bits, transposed": (ml_dtypes.int4, (160, 4), 1, 32, True),
}


@pytest.mark.parametrize("has_zero", [True, False])
@pytest.mark.parametrize("n_rows", [1, 16, 17])
@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_of_few_rows_stay_narrow(
    name: str, n_rows: int, has_zero: bool, monkeypatch: pytest.MonkeyPatch
):
    made: list[Any] = []

    def noted(*arguments: Any) -> Any:
        made.append(weights.product_with_weights(*arguments))
        return made[-1]

    monkeypatch.setattr(form_rules, "product_with_weights", noted)
    dtype, shape, axis, block, is_turned = WEIGHTS[name]
    text = f"""
    agraph (float[{n_rows}, 128] x) => (float[{n_rows}, 160] y) {{
        b = DequantizeLinear<axis = {axis}, block_size = {block}>(w, s{", z" * has_zero})
        y = {"Gemm<transB = 1>" if is_turned else "MatMul"}(x, b)
    }}
    """
    info: Any = ml_dtypes.iinfo(dtype)
    whole = (160, 128) if is_turned else (128, 160)
    w = RANDOM.integers(info.min, int(info.max) + 1, whole).astype(dtype)
    z = RANDOM.integers(info.min, int(info.max) + 1, shape).astype(dtype)
    s = RANDOM.uniform(0.01, 0.02, shape).astype(np.float32)
    s, z = (each.reshape(()) if shape == (1,) else each for each in (s, z))
    x = normal(n_rows, 128)
    found = imported(text, {"w": w, "s": s, **({"z": z} if has_zero else {})})(x)

    def spread(values: Array) -> Array:
        if block:
            return np.repeat(values, block, axis=axis)
        return values if values.ndim == 0 else np.expand_dims(values, 1 - axis)

    wide = w.astype(np.float64) - (spread(z.astype(np.float64)) if has_zero else 0)
    wide *= spread(s)
    expected = x @ (wide.T if is_turned else wide)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-4 * np.abs(expected).max())
    assert [each is not None for each in made] == [n_rows <= 16]
