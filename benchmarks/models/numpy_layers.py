"""numpy, which computes in f64 what all others are checked against."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .scanned_layers import ScannedLayers

_ERF = np.frompyfunc(math.erf, 1, 1)


class NumpyLayers(ScannedLayers):
    def __init__(self) -> None:
        super().__init__(np)

    def conv(self, x: Any, weight: Any, stride: int, padding: int) -> Any:
        windows = _windows(x, weight.shape[2], stride, padding, 0)
        return np.moveaxis(np.tensordot(windows, weight, ((1, 4, 5), (1, 2, 3))), -1, 1)

    def upsample(self, x: Any, weight: Any, bias: Any) -> Any:
        batch, _, rows, columns = x.shape
        spread = np.einsum("bcyx,coij->boyixj", x, weight, optimize=True)
        return self.with_bias(spread.reshape(batch, -1, 2 * rows, 2 * columns), bias)

    def max_pool(self, x: Any, window: int, stride: int, padding: int) -> Any:
        return _windows(x, window, stride, padding, -np.inf).max((4, 5))

    def gelu(self, x: Any) -> Any:
        return 0.5 * x * (1 + _ERF(x * 0.5**0.5).astype(x.dtype))

    def scan(self, body: Callable[..., Any], initial: Any, inputs: Any) -> Any:
        state, outputs = initial, list[Any]()
        for each in inputs:
            state, output = body(state, each)
            outputs.append(output)
        return np.stack(outputs)


def _windows(x: Any, window: int, stride: int, padding: int, fill: float) -> Any:
    width = (padding, padding)
    padded = np.pad(x, ((0, 0), (0, 0), width, width), constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(padded, (window, window), axis=(2, 3))
    return view[:, :, ::stride, ::stride]
