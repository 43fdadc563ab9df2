"""Ops on quantised tensors give what onnxruntime's give."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import tenon
from tenon.test.frameworks.onnxruntime.compared import MICROSOFT, Array, both, check, node_model

RANDOM = np.random.default_rng(0)


def codes(*shape: int, dtype: Any = np.uint8) -> Array:
    info = np.iinfo(dtype)
    return RANDOM.integers(info.min, info.max + 1, shape).astype(dtype)


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def scales(*shape: int) -> Array:
    return RANDOM.uniform(0.004, 0.02, shape).astype(np.float32)


def one(value: int, dtype: Any = np.uint8) -> Array:
    return np.array(value, dtype)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_quantize_linear(dtype: Any):
    x = floats(5, 7, 3)
    check("QuantizeLinear", [x, scales(), one(3, dtype)])
    check("QuantizeLinear", [x, scales(7), codes(7, dtype=dtype)], [1, 2], axis=1)
    check("DequantizeLinear", [codes(5, 7, 3, dtype=dtype), scales(3), codes(3, dtype=dtype)], [1, 2], axis=2)
    check("DequantizeLinear", [codes(5, 8, 3, dtype=dtype), scales(5, 2, 3)], [1], axis=1, block_size=4)
    check("DynamicQuantizeLinear", [x], n_outputs=3)


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
def test_matmul_integer(kind: Any):
    a, b = codes(2, 17, 64), codes(64, 33, dtype=kind)
    check("MatMulInteger", [a, b], [1])
    check("MatMulInteger", [a, b, one(120)], [1, 2])
    check("MatMulInteger", [a, b, one(120), one(7, kind)], [1, 3])
    check("MatMulInteger", [a, b, one(120), codes(33, dtype=kind)], [1, 2, 3])


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
def test_qlinear_matmul(kind: Any):
    # Of 7 bits: without instructions for products of bytes onnxruntime adds up two products in 16 bits here.
    a, b = codes(17, 64) // 2, codes(64, 33, dtype=kind)
    inputs = [a, scales(), one(120), b, scales(), one(3, kind), np.float32(0.9).reshape(()), one(130)]
    check("QLinearMatMul", inputs, range(1, 8), off_by=1)
    check("QLinearMatMul", inputs, off_by=1)
    inputs[4], inputs[5] = scales(33), np.zeros(33, kind)
    check("QLinearMatMul", inputs, range(1, 8), off_by=1)


@pytest.mark.parametrize("group", [1, 2])
def test_qlinear_conv(group: int):
    x, w = codes(2, 6, 11, 10), codes(8, 6 // group, 3, 3, dtype=np.int8)
    options = {"pads": [1, 1, 1, 1], "strides": [2, 1], "group": group}
    bias = RANDOM.integers(-1000, 1000, 8).astype(np.int32)
    inputs = [x, scales(), one(120), w, scales(8), np.zeros(8, np.int8), one(1, np.float32), one(11), bias]
    check("QLinearConv", inputs, range(1, 9), off_by=1, **options)
    inputs[4:6] = scales(), one(0, np.int8)
    check("QLinearConv", inputs, range(1, 9), off_by=1, **options)
    check("ConvInteger", [x, codes(8, 6 // group, 3, 3), one(120), one(9)], [1, 2, 3], **options)


def test_fused_products():
    a, b = codes(17, 64), codes(33, 64, dtype=np.int8)
    c = RANDOM.integers(-1000, 1000, 33).astype(np.int32)
    inputs = [a, scales(), one(120), b, scales(33), np.zeros(33, np.int8), c]
    check("QGemm", inputs, range(1, 7), domain=MICROSOFT, transB=1)
    more = [*inputs, one(1, np.float32), one(100)]
    check("QGemm", more, range(1, 9), domain=MICROSOFT, transB=1, off_by=1)
    weights = codes(64, 33, dtype=np.int8)
    for bias in (None, floats(33)):
        check(
            "DynamicQuantizeMatMul",
            [floats(17, 64), weights, scales(33), np.zeros(33, np.int8), bias],
            [1, 2, 3, 4],
            domain=MICROSOFT,
            rtol=1e-4,
            atol=1e-3,
        )
        check(
            "MatMulIntegerToFloat",
            [a, weights, scales(), scales(33), one(120), np.zeros(33, np.int8), bias],
            [1, 3, 5, 6],
            domain=MICROSOFT,
            rtol=1e-4,
            atol=1e-3,
        )


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
def test_elements(kind: Any):
    a, b = codes(5, 33, dtype=kind), codes(33, dtype=kind)
    for op in ("QLinearAdd", "QLinearMul"):
        inputs = [a, scales(), one(20, kind), b, scales(), one(9, kind), scales(), one(7, kind)]
        check(op, inputs, range(4, 8), off_by=1, domain=MICROSOFT)
    x = [a, scales(), one(20, kind), scales(), one(7, kind)]
    check("QLinearSigmoid", x, range(1, 5), off_by=1, domain=MICROSOFT)
    check("QLinearLeakyRelu", x, range(1, 5), off_by=1, domain=MICROSOFT, alpha=0.2)
    parts = [scales(), one(7, kind), a, scales(), one(20, kind), a, scales(), one(3, kind)]
    check("QLinearConcat", parts, [0, 1, 3, 4, 6, 7], off_by=1, domain=MICROSOFT, axis=1)


def test_global_average_pool():
    x = [codes(2, 5, 7, 6), scales(), one(20), scales(), one(7)]
    check("QLinearGlobalAveragePool", x, range(1, 5), off_by=1, domain=MICROSOFT)


@pytest.mark.parametrize("padding", [0, 1])
def test_average_pool(padding: int):
    x = [codes(2, 5, 8, 7), scales(), one(20), scales(), one(7)]
    options = {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1], "count_include_pad": padding}
    check("QLinearAveragePool", x, range(1, 5), off_by=1, domain=MICROSOFT, **options)


def test_average_pool_of_channels_that_are_last():
    x = [codes(2, 8, 7, 5), scales(), one(20), scales(), one(7)]
    with pytest.raises(tenon.TenonError, match=r"QLinearAveragePool.*channels_last is not supported"):
        check("QLinearAveragePool", x, range(1, 5), domain=MICROSOFT, kernel_shape=[2, 2], channels_last=1)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int32])
@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_resized_integers(kind: Any, mode: str):
    x = codes(1, 2, 5, 7, dtype=np.int8).astype(kind)
    check("Resize", [x, None, np.array([1, 1, 2, 4], np.float32)], [2], off_by=1, mode=mode)


@pytest.mark.parametrize("n_rows", [1, 40])
@pytest.mark.parametrize("bits", [4, 8])
def test_matmul_of_blocks(n_rows: int, bits: int):
    n, k, block = 48, 144, 32
    blocks = -(-k // block)
    b = codes(n, blocks, block * bits // 8)
    options = {"K": k, "N": n, "block_size": block, "bits": bits, "domain": MICROSOFT}
    close = {"rtol": 1e-4, "atol": 1e-4}
    a = floats(n_rows, k)
    check("MatMulNBits", [a, b, scales(n * blocks)], [1, 2], **options, **close)
    zeros = codes(n * -(-blocks * bits // 8))
    check("MatMulNBits", [a, b, scales(n * blocks), zeros], [1, 2, 3], **options, **close)


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize(("version", "axis"), [(13, -1), (13, 1), (12, 1)])
def test_softmax(kind: Any, version: int, axis: int):
    zero = one(0 if kind is np.uint8 else -128, kind)
    inputs = [codes(3, 5, 7, dtype=kind), scales(), one(20, kind), np.array(1 / 256, np.float32), zero]
    model, arguments = node_model("QLinearSoftmax", inputs, range(1, 5), domain=MICROSOFT, axis=axis)
    # `opset` is an attribute of the node, not the version of the model.
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("opset", version))
    for found, expected in both(model, arguments):
        assert found.dtype == kind and np.abs(found.astype(int) - expected.astype(int)).max() <= 1
