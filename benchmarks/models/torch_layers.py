"""PyTorch: what its users call for each layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional

from .array_layers import ArrayLayers


class TorchLayers(ArrayLayers):
    def __init__(self) -> None:
        super().__init__(torch)

    def conv(self, x: Any, weight: Any, stride: int, padding: int) -> Any:
        return functional.conv2d(x, weight, stride=stride, padding=padding)

    def upsample(self, x: Any, weight: Any, bias: Any) -> Any:
        return functional.conv_transpose2d(x, weight, bias, stride=2)

    def max_pool(self, x: Any, window: int, stride: int, padding: int) -> Any:
        return functional.max_pool2d(x, window, stride, padding)

    def gelu(self, x: Any) -> Any:
        return functional.gelu(x)

    def gelu_tanh(self, x: Any) -> Any:
        return functional.gelu(x, approximate="tanh")

    def relu(self, x: Any) -> Any:
        return functional.relu(x)

    def embedding(self, ids: Any, table: Any) -> Any:
        return functional.embedding(ids, table)

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        return functional.linear(x, weight.t(), bias)

    def times_transposed(self, x: Any, matrix: Any) -> Any:
        return functional.linear(x, matrix)

    def layer_norm(self, x: Any, scale: Any, shift: Any, epsilon: float) -> Any:
        return functional.layer_norm(x, scale.shape, scale, shift, epsilon)

    def batch_norm(self, x: Any, mean: Any, variance: Any, scale: Any, shift: Any) -> Any:
        return functional.batch_norm(x, mean, variance, scale, shift)

    def split_heads(self, x: Any, heads: int) -> Any:
        return x.unflatten(2, (heads, -1)).transpose(1, 2)

    def join_heads(self, x: Any) -> Any:
        return x.transpose(1, 2).flatten(2)

    def attention(self, q: Any, k: Any, v: Any, head_width: int, bias: Any = None) -> Any:
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)

    def masked_mean(self, x: Any, mask: Any) -> Any:
        mean = (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        return functional.normalize(mean, dim=-1)

    def concat(self, values: Sequence[Any], axis: int) -> Any:
        return torch.cat(list(values), axis)

    def stack(self, values: Sequence[Any]) -> Any:
        return torch.stack(list(values))

    def mean_of_places(self, x: Any) -> Any:
        return x.mean((2, 3))

    def lstm(self, x: Any, input_gates: Any, state_gates: Any, bias: Any) -> Any:
        """The gates' matrices have outputs first here, and there are two biases."""
        zeros = x.new_zeros((1, x.shape[0], state_gates.shape[1]))
        weights = [input_gates, state_gates, bias, torch.zeros_like(bias)]
        return torch.lstm(x, (zeros, zeros), weights, True, 1, 0.0, False, False, True)[0]
