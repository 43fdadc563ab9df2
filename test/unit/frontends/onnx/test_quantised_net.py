"""A small U-net of quantised ops, layer by layer in integers of numpy: all bits are its."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import tenon
from onnx import helper
from tenon.test.unit.frontends.onnx.models import Array

CHANNELS, SIZE = 8, 16


def scale_of(values: Array) -> np.float32:
    """Returns a scale for which some of the values are out of bounds."""
    return np.float32(np.abs(values).max() / 200)


class Oracle:
    """Builds a model of quantised ops, and computes what they give, in int64 up to the last rounding."""

    def __init__(self, dtype: Any, kernel_zero: int) -> None:
        self.rng = np.random.default_rng(7)
        self.dtype, self.kernel_zero = np.dtype(dtype), kernel_zero
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []
        self.values: dict[str, tuple[Array, np.float32, int]] = {}

    def constant(self, array: Any) -> str:
        name = f"c{len(self.tensors)}"
        self.tensors.append(onnx.numpy_helper.from_array(np.asarray(array), name))
        return name

    def parameters(self, name: str) -> list[str]:
        _, scale, zero = self.values[name]
        return [name, self.constant(scale), self.constant(np.array(zero, self.dtype))]

    def result(self, op: str, inputs: list[str], values: Array, scale: Any, zero: int, **options: Any) -> str:
        """Adds a node; `values` are real numbers, or float32 as the op rounds them, over the scale."""
        name = f"y{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **options))
        info = np.iinfo(self.dtype)
        codes = np.clip(np.round(values) + zero, info.min, info.max).astype(self.dtype)
        self.values[name] = codes, np.float32(scale), zero
        return name

    def conv(self, x: str, out: int, pads: list[int], step: int = 1, group: int = 1) -> str:
        codes, x_scale, x_zero = self.values[x]
        inner = codes.shape[1] // group
        kind = np.uint8 if self.kernel_zero else np.int8
        info = np.iinfo(kind)
        kernel = self.rng.integers(info.min, info.max + 1, (out, inner, 3, 3)).astype(kind)
        bias = self.rng.integers(-3000, 3000, out).astype(np.int32)
        scales = self.rng.uniform(0.001, 0.004, out).astype(np.float32)
        wide = codes.astype(np.int64) - x_zero
        wide = np.pad(wide, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
        windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (2, 3))[:, :, ::step, ::step]
        weights = kernel.astype(np.int64) - self.kernel_zero
        parts = np.split(windows, group, axis=1)
        sums = [
            np.einsum("nchwij,ocij->nohw", part, each)
            for part, each in zip(parts, np.split(weights, group), strict=True)
        ]
        total = np.concatenate(sums, axis=1) + bias[:, None, None]
        spread = (total * scales[:, None, None]).std() * x_scale
        y_scale, y_zero = np.float32(spread / 50), int(self.rng.integers(0, 100))
        factor = (x_scale * scales / y_scale).astype(np.float32)
        inputs = [
            *self.parameters(x),
            self.constant(kernel),
            self.constant(scales),
            self.constant(np.full(out, self.kernel_zero, kind)),
            self.constant(y_scale),
            self.constant(np.array(y_zero, self.dtype)),
            self.constant(bias),
        ]
        values = total.astype(np.float32) * factor[:, None, None]
        return self.result(
            "QLinearConv", inputs, values, y_scale, y_zero, pads=pads, strides=[step, step], group=group
        )

    def own(self, op: str, x: str, zero: int, values: Array, **options: Any) -> str:
        scale = scale_of(values)
        inputs = [
            *self.parameters(x),
            self.constant(scale),
            self.constant(np.array(zero, self.dtype)),
        ]
        return self.result(op, inputs, values / scale, scale, zero, domain="com.microsoft", **options)

    def floats(self, x: str) -> Array:
        codes, scale, zero = self.values[x]
        return (codes.astype(np.int32) - zero).astype(np.float32) * scale

    def both(self, op: str, x: str, y: str, zero: int) -> str:
        function = {"QLinearAdd": np.add, "QLinearMul": np.multiply}[op]
        values = function(self.floats(x), self.floats(y))
        scale = scale_of(values)
        inputs = [
            *self.parameters(x),
            *self.parameters(y),
            self.constant(scale),
            self.constant(np.array(zero, self.dtype)),
        ]
        return self.result(op, inputs, values / scale, scale, zero, domain="com.microsoft")

    def concat(self, parts: list[str], zero: int) -> str:
        values = np.concatenate([self.floats(part) for part in parts], axis=1)
        scale = scale_of(values)
        inputs = [self.constant(scale), self.constant(np.array(zero, self.dtype))]
        inputs += [each for part in parts for each in self.parameters(part)]
        return self.result(
            "QLinearConcat", inputs, values / scale, scale, zero, domain="com.microsoft", axis=1
        )

    def upsampled(self, x: str) -> str:
        """Codes are moved by an op of integers, with the scale that they have."""
        codes, scale, zero = self.values[x]
        sizes = self.constant(np.array([1, 1, 2, 2], np.float32))
        options = {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}
        return self.result(
            "Resize",
            [x, "", sizes],
            codes.repeat(2, 2).repeat(2, 3).astype(int) - zero,
            scale,
            zero,
            **options,
        )

    def pooled(self, x: str) -> str:
        codes, scale, zero = self.values[x]
        blocks = codes.reshape(1, codes.shape[1], codes.shape[2] // 2, 2, -1, 2)
        values = blocks.max((3, 5)).astype(int) - zero
        return self.result("MaxPool", [x], values, scale, zero, kernel_shape=[2, 2], strides=[2, 2])


def u_net(oracle: Oracle) -> str:
    x = "x"
    down = oracle.conv(oracle.conv(x, CHANNELS, [1, 1, 1, 1]), 2 * CHANNELS, [1, 1, 1, 1])
    deep = oracle.conv(oracle.pooled(down), 2 * CHANNELS, [0, 2, 2, 0], group=2)
    leaky = oracle.floats(deep)
    leaky = np.where(leaky < 0, leaky * np.float32(0.125), leaky)
    deep = oracle.own("QLinearLeakyRelu", deep, 3, leaky, alpha=0.125)
    mean = oracle.floats(deep).mean((2, 3), keepdims=True, dtype=np.float64)
    pooled = oracle.own("QLinearGlobalAveragePool", deep, 10, mean, channels_last=0)
    deep = oracle.both("QLinearAdd", deep, oracle.both("QLinearMul", deep, pooled, 20), 5)
    up = oracle.concat([oracle.upsampled(deep), down], 40)
    return oracle.conv(oracle.conv(up, CHANNELS, [1, 0, 0, 1], step=2), 4, [2, 2, 0, 0])


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize(
    ("dtype", "zero", "kernel_zero"),
    [("uint8", 121, 0), ("int8", -7, 0), ("uint8", 0, 128), ("uint8", 3, 77)],
)
def test_a_u_net_of_quantised_ops_is_exact(backend: str, dtype: str, zero: int, kernel_zero: int):
    oracle = Oracle(dtype, kernel_zero)
    info = np.iinfo(dtype)
    x = oracle.rng.integers(info.min, info.max + 1, (1, 3, SIZE, SIZE)).astype(dtype)
    oracle.values["x"] = x, np.float32(0.03), zero
    last = u_net(oracle)
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    names = [node.output[0] for node in oracle.nodes]
    assert names[-1] == last
    graph = helper.make_graph(
        oracle.nodes,
        "u_net",
        [helper.make_tensor_value_info("x", element, x.shape)],
        [helper.make_empty_tensor_value_info(name) for name in names],
        oracle.tensors,
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    found = tenon.from_onnx(helper.make_model(graph, opset_imports=opsets), backend=backend)(x)
    for node, result in zip(oracle.nodes, found, strict=True):
        expected = oracle.values[node.output[0]][0]
        np.testing.assert_array_equal(result, expected, err_msg=f"{node.op_type} {node.output[0]}")
        assert len(np.unique(expected)) > 3, f"{node.op_type}: nothing to see"
