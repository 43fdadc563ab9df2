"""JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .scanned_layers import ScannedLayers


class JaxLayers(ScannedLayers):
    def __init__(self) -> None:
        super().__init__(jnp)

    def conv(self, x: Any, weight: Any, stride: int, padding: int) -> Any:
        return jax.lax.conv_general_dilated(x, weight, (stride, stride), [(padding, padding)] * 2)

    def upsample(self, x: Any, weight: Any, bias: Any) -> Any:
        out = jax.lax.conv_transpose(
            x, weight, (2, 2), "VALID", dimension_numbers=("NCHW", "OIHW", "NCHW"), transpose_kernel=True
        )
        return self.with_bias(out, bias)

    def max_pool(self, x: Any, window: int, stride: int, padding: int) -> Any:
        sides = [(0, 0), (0, 0), (padding, padding), (padding, padding)]
        sizes, steps = (1, 1, window, window), (1, 1, stride, stride)
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, sizes, steps, sides)

    def gelu(self, x: Any) -> Any:
        return jax.nn.gelu(x, approximate=False)

    def gelu_tanh(self, x: Any) -> Any:
        return jax.nn.gelu(x, approximate=True)

    def sigmoid(self, x: Any) -> Any:
        return jax.nn.sigmoid(x)

    def softmax(self, x: Any) -> Any:
        return jax.nn.softmax(x, axis=-1)

    def scan(self, body: Callable[..., Any], initial: Any, inputs: Any) -> Any:
        return jax.lax.scan(body, initial, inputs)[1]
