"""What programs call of `tenon.nn`, in numpy: convolutions and pools of windows that are views."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .values import Value, is_float

Pairs = Sequence[tuple[int, int]]


def _each(value: Any, count: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,) * count


def widths_of(padding: Any, extents: Sequence[int], windows: Sequence[int], strides: Sequence[int]) -> Pairs:
    """Returns how much is padded before and after each spatial axis."""
    if padding == "valid":
        return [(0, 0)] * len(extents)
    if padding == "same":
        totals = [
            max((math.ceil(extent / stride) - 1) * stride + window - extent, 0)
            for extent, window, stride in zip(extents, windows, strides, strict=True)
        ]
        return [(total // 2, total - total // 2) for total in totals]
    return [each if isinstance(each, tuple) else (each, each) for each in _each(padding, len(extents))]


def windows_of(array: Any, sizes: Sequence[int], strides: Sequence[int], dilation: Sequence[int]) -> Any:
    """Returns the windows over the last axes, their elements in axes at the end."""
    count = len(sizes)
    spans = [(size - 1) * apart + 1 for size, apart in zip(sizes, dilation, strict=True)]
    views = np.lib.stride_tricks.sliding_window_view(array, spans, axis=tuple(range(-count, 0)))
    steps = tuple(slice(None, None, stride) for stride in strides)
    inside = tuple(slice(None, None, apart) for apart in dilation)
    return views[(..., *steps, *inside)]


class NumpyNN:
    def __init__(self, xp: Any) -> None:
        self._xp = xp

    def conv(
        self,
        x: Value,
        kernel: Value,
        *,
        strides: Any = 1,
        padding: Any = "valid",
        dilation: Any = 1,
        groups: int = 1,
    ) -> Value:
        count = x.ndim - 2
        strides, dilation = _each(strides, count), _each(dilation, count)
        sizes = kernel.shape[2:]
        spans = [(size - 1) * apart + 1 for size, apart in zip(sizes, dilation, strict=True)]
        widths = widths_of(padding, x.shape[2:], spans, strides)
        padded = np.pad(x.array, [(0, 0), (0, 0), *widths])
        return self._correlated(padded, kernel.array, strides, dilation, groups, x)

    def _correlated(
        self, padded: Any, kernel: Any, strides: Any, dilation: Any, groups: int, like: Value
    ) -> Value:
        count = padded.ndim - 2
        views = windows_of(padded, kernel.shape[2:], strides, dilation)
        outputs, inner = kernel.shape[0] // groups, kernel.shape[1]
        axes = (1, *range(2 + count, 2 + 2 * count))
        parts, magnitudes = [], []
        for group in range(groups):
            seen = views[:, group * inner : (group + 1) * inner]
            weights = kernel[group * outputs : (group + 1) * outputs]
            of_kernel = (1, *range(2, 2 + count))
            for found, a, b in ((parts, seen, weights), (magnitudes, np.abs(seen), np.abs(weights))):
                found.append(np.moveaxis(np.tensordot(a, b, (axes, of_kernel)), -1, 1))
        result = np.concatenate(parts, axis=1)
        if not is_float(like.dtype):
            return like.like(result)
        terms = math.prod(kernel.shape[1:])
        magnitude = np.concatenate(magnitudes, axis=1)
        return like.like(like.noise.summed(result, magnitude, terms, like.dtype))

    def conv_transpose(
        self, x: Value, kernel: Value, *, strides: Any = 1, padding: Any = 0, output_padding: Any = 0
    ) -> Value:
        count = x.ndim - 2
        strides, more = _each(strides, count), _each(output_padding, count)
        cut = [each if isinstance(each, tuple) else (each, each) for each in _each(padding, count)]
        sizes = kernel.shape[2:]
        apart = np.zeros(
            (*x.shape[:2], *((n - 1) * s + 1 for n, s in zip(x.shape[2:], strides, strict=True)))
        )
        apart[(..., *(slice(None, None, stride) for stride in strides))] = x.array
        around = [(size - 1, size - 1 + extra) for size, extra in zip(sizes, more, strict=True)]
        padded = np.pad(apart, [(0, 0), (0, 0), *around])
        flipped = np.flip(np.swapaxes(kernel.array, 0, 1), tuple(range(2, 2 + count)))
        kept = tuple(
            slice(low, extent - high) for (low, high), extent in zip(cut, padded.shape[2:], strict=True)
        )
        padded = padded[(..., *kept)]
        return self._correlated(padded, flipped, (1,) * count, (1,) * count, 1, x)

    def max_pool(self, x: Value, window: Any, *, strides: Any = None, padding: Any = "valid") -> Value:
        views, _ = self._pooled(x, window, strides, padding, -np.inf)
        return x.like(views.max(axis=tuple(range(x.ndim, views.ndim))))

    def avg_pool(self, x: Value, window: Any, *, strides: Any = None, padding: Any = "valid") -> Value:
        views, inside = self._pooled(x, window, strides, padding, 0.0)
        axes = tuple(range(x.ndim, views.ndim))
        total, counts = views.sum(axis=axes), inside.sum(axis=axes)
        noise = x.noise
        terms = math.prod(views.shape[x.ndim :])
        return x.like(noise.summed(total / counts, np.abs(views).sum(axis=axes) / counts, 4 * terms, x.dtype))

    def _pooled(self, x: Value, window: Any, strides: Any, padding: Any, filler: float) -> tuple[Any, Any]:
        count = x.ndim - 2 if isinstance(window, int) else len(window)
        sizes = _each(window, count)
        steps = sizes if strides is None else _each(strides, count)
        widths = [(0, 0)] * (x.ndim - count) + list(widths_of(padding, x.shape[-count:], sizes, steps))
        ones = (1,) * count
        padded = np.pad(x.array, widths, constant_values=filler)
        inside = np.pad(np.ones_like(x.array), widths)
        return windows_of(padded, sizes, steps, ones), windows_of(inside, sizes, steps, ones)

    def relu(self, x: Value) -> Value:
        return self._xp.relu(x)

    def sigmoid(self, x: Value) -> Value:
        return 1.0 / (self._xp.exp(-x) + 1.0)

    def silu(self, x: Value) -> Value:
        return x * self.sigmoid(x)

    def gelu(self, x: Value) -> Value:
        return x * 0.5 * (self._xp.erf(x * 0.5**0.5) + 1.0)

    def softplus(self, x: Value) -> Value:
        return self._xp.logaddexp(x, x * 0.0)

    def softmax(self, x: Value, *, axis: int = -1) -> Value:
        weights = self._xp.exp(x - self._xp.max(x, axis=axis, keepdims=True))
        return weights / self._xp.sum(weights, axis=axis, keepdims=True)

    def log_softmax(self, x: Value, *, axis: int = -1) -> Value:
        return x - self._xp.logsumexp(x, axis=axis, keepdims=True)

    def one_hot(self, x: Value, num_classes: int, *, axis: int = -1, dtype: Any = np.float64) -> Value:
        assert axis == -1
        return self._xp.value(x.array[..., None] == np.arange(num_classes), dtype)
