"""ONNX Runtime: nodes of a model, one for each layer where there is such a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .array_layers import ArrayLayers
from .model import Array

_CONTRIB = "com.microsoft"


class Value:
    """A value of the model, by its name. Inputs and weights have a shape."""

    def __init__(self, layers: OnnxLayers, name: str, shape: Sequence[int] = ()) -> None:
        self.layers, self.name, self.shape = layers, name, tuple(shape)

    def __add__(self, other: Value) -> Value:
        return self.layers.node("Add", self, other)


class OnnxLayers(ArrayLayers):
    def __init__(self) -> None:
        super().__init__(None)
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self._arrays: dict[str, Array] = {}

    def node(self, kind: str, *inputs: Value | None, **attributes: Any) -> Value:
        return self._several(kind, 1, *inputs, **attributes)[0]

    def _several(self, kind: str, count: int, *inputs: Value | None, **attributes: Any) -> list[Value]:
        names = [f"v{len(self.nodes)}_{number}" for number in range(count)]
        sources = ["" if value is None else value.name for value in inputs]
        self.nodes.append(helper.make_node(kind, sources, names, **attributes))
        return [Value(self, name) for name in names]

    def constant(self, values: Any, dtype: Any) -> Value:
        name = f"c{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(np.asarray(values, dtype), name)
        return Value(self, name, np.shape(values))

    def weight(self, name: str, values: Array) -> Value:
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)
        value = Value(self, name, values.shape)
        self._arrays[name] = values
        return value

    def model(self, weights: Mapping[str, Array], inputs: Mapping[str, Array], forward: Any) -> bytes:
        """Returns the model that `forward` of values for the weights and the inputs writes."""
        given = {name: Value(self, name, array.shape) for name, array in inputs.items()}
        # Weights without a reader are left out by the runtime.
        held = {name: self.weight(name, array) for name, array in weights.items()}
        results = forward(held, *given.values())
        results = results if isinstance(results, tuple) else (results,)
        graph = helper.make_graph(
            self.nodes,
            "model",
            [
                helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
                for name, each in inputs.items()
            ],
            [helper.make_tensor_value_info(each.name, TensorProto.FLOAT, None) for each in results],
            list(self.constants.values()),
        )
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid(_CONTRIB, 1)]
        model = helper.make_model(graph, opset_imports=opsets)
        model.ir_version = min(model.ir_version, onnx.IR_VERSION, 10)
        return model.SerializeToString()

    def conv(self, x: Any, weight: Any, stride: int, padding: int) -> Any:
        return self.node("Conv", x, weight, strides=[stride] * 2, pads=[padding] * 4)

    def upsample(self, x: Any, weight: Any, bias: Any) -> Any:
        return self.node("ConvTranspose", x, weight, bias, strides=[2, 2])

    def max_pool(self, x: Any, window: int, stride: int, padding: int) -> Any:
        sizes: Mapping[str, Any] = {"kernel_shape": [window] * 2, "strides": [stride] * 2}
        return self.node("MaxPool", x, pads=[padding] * 4, **sizes)

    def gelu(self, x: Any) -> Any:
        return self.node("Gelu", x)

    def gelu_tanh(self, x: Any) -> Any:
        return self.node("Gelu", x, approximate="tanh")

    def relu(self, x: Any) -> Any:
        return self.node("Relu", x)

    def embedding(self, ids: Any, table: Any) -> Any:
        return self.node("Gather", table, ids, axis=0)

    def first_rows(self, table: Any, count: Any) -> Any:
        ends = [self.constant([end], np.int64) for end in (0, count, 0)]
        return self.node("Slice", table, *ends)

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        return self.node("MatMul", x, weight) + bias

    def times_transposed(self, x: Any, matrix: Any) -> Any:
        return self.node("MatMul", x, self.node("Transpose", matrix, perm=[1, 0]))

    def layer_norm(self, x: Any, scale: Any, shift: Any, epsilon: float) -> Any:
        return self.node("LayerNormalization", x, scale, shift, epsilon=epsilon)

    def batch_norm(self, x: Any, mean: Any, variance: Any, scale: Any, shift: Any) -> Any:
        return self.node("BatchNormalization", x, scale, shift, mean, variance, epsilon=1e-5)

    def split_heads(self, x: Any, heads: int) -> Any:
        apart = self.node("Reshape", x, self.constant([0, 0, heads, -1], np.int64))
        return self.node("Transpose", apart, perm=[0, 2, 1, 3])

    def join_heads(self, x: Any) -> Any:
        beside = self.node("Transpose", x, perm=[0, 2, 1, 3])
        return self.node("Reshape", beside, self.constant([0, 0, -1], np.int64))

    def attention(self, q: Any, k: Any, v: Any, head_width: int, bias: Any = None) -> Any:
        turned = self.node("Transpose", k, perm=[0, 1, 3, 2])
        scores = self.node("FusedMatMul", q, turned, domain=_CONTRIB, alpha=head_width**-0.5)
        shares = self.node("Softmax", scores if bias is None else scores + bias, axis=-1)
        return self.node("MatMul", shares, v)

    def mask_bias(self, mask: Any) -> Any:
        missing = self.node("Sub", self.constant(1, np.float32), mask)
        bias = self.node("Mul", missing, self.constant(-1e9, np.float32))
        return self._unsqueezed(bias, 1, 2)

    def masked_mean(self, x: Any, mask: Any) -> Any:
        axes = self.constant([1], np.int64)
        total = self.node("ReduceSum", self.node("Mul", x, self._unsqueezed(mask, 2)), axes, keepdims=0)
        mean = self.node("Div", total, self.node("ReduceSum", mask, axes))
        return self.node("LpNormalization", mean, axis=-1)

    def split(self, x: Any, parts: int) -> list[Any]:
        return self._several("Split", parts, x, axis=-1, num_outputs=parts)

    def concat(self, values: Sequence[Any], axis: int) -> Any:
        return self.node("Concat", *values, axis=axis)

    def stack(self, values: Sequence[Any]) -> Any:
        return self.node("Concat", *(self._unsqueezed(value, 0) for value in values), axis=0)

    def item(self, x: Any, index: int) -> Any:
        return self.node("Gather", x, self.constant(index, np.int64), axis=0)

    def mean_of_places(self, x: Any) -> Any:
        return self.node("Flatten", self.node("GlobalAveragePool", x))

    def lstm(self, x: Any, input_gates: Any, state_gates: Any, bias: Any) -> Any:
        """The node has steps first, the gates' matrices outputs first, the output gate second."""
        width = state_gates.shape[0]
        matrices = [self._gates(each, width)[None] for each in (input_gates, state_gates)]
        biases = np.concatenate([self._gates(bias, width), np.zeros(4 * width, np.float32)])[None]
        given = [self.constant(each, np.float32) for each in (*matrices, biases)]
        states = self.node("LSTM", self.node("Transpose", x, perm=[1, 0, 2]), *given, hidden_size=width)
        states = self.node("Squeeze", states, self.constant([1], np.int64))
        return self.node("Transpose", states, perm=[1, 0, 2])

    def _gates(self, weight: Value, width: int) -> Array:
        rows = self._arrays[weight.name].T
        i, f, g, o = (rows[part * width : (part + 1) * width] for part in range(4))
        return np.concatenate([i, o, f, g])

    def _unsqueezed(self, x: Value, *axes: int) -> Value:
        return self.node("Unsqueeze", x, self.constant(axes, np.int64))
