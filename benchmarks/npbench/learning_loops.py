"""The kernels of `learning` as loops over elements; those that are numpy's BLAS have none."""

from __future__ import annotations

from typing import Any

import numpy as np


def softmax(x: Any) -> Any:
    result = np.empty_like(x)
    for a in range(x.shape[0]):
        for b in range(x.shape[1]):
            for i in range(x.shape[2]):
                largest = x[a, b, i, 0]
                for j in range(x.shape[3]):
                    largest = max(largest, x[a, b, i, j])
                total = np.float32(0)
                for j in range(x.shape[3]):
                    value = np.exp(x[a, b, i, j] - largest)
                    result[a, b, i, j] = value
                    total += value
                for j in range(x.shape[3]):
                    result[a, b, i, j] /= total
    return result


def conv2d_bias(x: Any, weights: Any, bias: Any) -> Any:
    size, inputs, outputs = weights.shape[0], weights.shape[2], weights.shape[3]
    rows, columns = x.shape[1] - size + 1, x.shape[2] - size + 1
    result = np.empty((x.shape[0], rows, columns, outputs), np.float32)
    for n in range(x.shape[0]):
        for i in range(rows):
            for j in range(columns):
                for o in range(outputs):
                    result[n, i, j, o] = bias[o]
                for di in range(size):
                    for dj in range(size):
                        for c in range(inputs):
                            value = x[n, i + di, j + dj, c]
                            for o in range(outputs):
                                result[n, i, j, o] += value * weights[di, dj, c, o]
    return result
