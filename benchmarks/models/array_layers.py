"""The layers that models consist of, over a library with numpy's names; images have channels first."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any


class ArrayLayers(ABC):
    """What numpy, Tenon and JAX write alike. Matrices of weights have the axes (inputs, outputs)."""

    def __init__(self, names: Any) -> None:
        self.np = names

    @abstractmethod
    def conv(self, x: Any, weight: Any, stride: int, padding: int) -> Any: ...

    @abstractmethod
    def upsample(self, x: Any, weight: Any, bias: Any) -> Any:
        """A transposed convolution of windows of 2 x 2 that lie side by side."""
        ...

    @abstractmethod
    def max_pool(self, x: Any, window: int, stride: int, padding: int) -> Any: ...

    @abstractmethod
    def gelu(self, x: Any) -> Any:
        """By the error function."""
        ...

    @abstractmethod
    def lstm(self, x: Any, input_gates: Any, state_gates: Any, bias: Any) -> Any:
        """
        Returns all states, of sequences of the axes (batch, step, feature). The gates are input, forget, cell
        and output.
        """
        ...

    def gelu_tanh(self, x: Any) -> Any:
        return 0.5 * x * (1 + self.np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

    def relu(self, x: Any) -> Any:
        return self.np.maximum(x, 0)

    def sigmoid(self, x: Any) -> Any:
        return 1 / (1 + self.np.exp(-x))

    def softmax(self, x: Any) -> Any:
        powers = self.np.exp(x - self.np.max(x, axis=-1, keepdims=True))
        return powers / self.np.sum(powers, axis=-1, keepdims=True)

    def embedding(self, ids: Any, table: Any) -> Any:
        flat = self.np.take(table, self.np.reshape(ids, (-1,)), axis=0)
        return self.np.reshape(flat, (*ids.shape, table.shape[-1]))

    def first_rows(self, table: Any, count: Any) -> Any:
        return table[:count]

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        return x @ weight + bias

    def times_transposed(self, x: Any, matrix: Any) -> Any:
        return x @ self.np.permute_dims(matrix, (1, 0))

    def layer_norm(self, x: Any, scale: Any, shift: Any, epsilon: float) -> Any:
        deviation = x - self.np.mean(x, axis=-1, keepdims=True)
        variance = self.np.mean(deviation * deviation, axis=-1, keepdims=True)
        return deviation / self.np.sqrt(variance + epsilon) * scale + shift

    def batch_norm(self, x: Any, mean: Any, variance: Any, scale: Any, shift: Any) -> Any:
        factor = scale / self.np.sqrt(variance + 1e-5)
        return x * factor[:, None, None] + (shift - mean * factor)[:, None, None]

    def split_heads(self, x: Any, heads: int) -> Any:
        batch, length, width = x.shape
        return self.np.permute_dims(self.np.reshape(x, (batch, length, heads, width // heads)), (0, 2, 1, 3))

    def join_heads(self, x: Any) -> Any:
        batch, heads, length, width = x.shape
        return self.np.reshape(self.np.permute_dims(x, (0, 2, 1, 3)), (batch, length, heads * width))

    def attention(self, q: Any, k: Any, v: Any, head_width: int, bias: Any = None) -> Any:
        scores = q @ self.np.permute_dims(k, (0, 1, 3, 2)) * head_width**-0.5
        return self.softmax(scores if bias is None else scores + bias) @ v

    def mask_bias(self, mask: Any) -> Any:
        """Returns what is added to the scores: nearly minus infinity where the mask is 0."""
        return ((1 - mask) * -1e9)[:, None, None, :]

    def masked_mean(self, x: Any, mask: Any) -> Any:
        """Returns the mean over axis 1 of the rows where the mask is 1, divided by its norm."""
        total = self.np.sum(x * mask[:, :, None], axis=1)
        mean = total / self.np.sum(mask, axis=1, keepdims=True)
        return mean / self.np.sqrt(self.np.sum(mean * mean, axis=-1, keepdims=True))

    def split(self, x: Any, parts: int) -> list[Any]:
        width = x.shape[-1] // parts
        return [x[..., part * width : (part + 1) * width] for part in range(parts)]

    def concat(self, values: Sequence[Any], axis: int) -> Any:
        return self.np.concat(values, axis=axis)

    def stack(self, values: Sequence[Any]) -> Any:
        return self.np.stack(values, axis=0)

    def item(self, x: Any, index: int) -> Any:
        return x[index]

    def mean_of_places(self, x: Any) -> Any:
        return self.np.mean(x, axis=(2, 3))

    def with_bias(self, x: Any, bias: Any) -> Any:
        """Adds a number to each channel of images."""
        return x + bias[:, None, None]
