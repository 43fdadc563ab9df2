"""numba: hand-written loops, one row at a time. matmul and digits would be numpy's BLAS again."""

from typing import Any

import numpy as np
from numba import njit


def prepare(array: Any) -> Any:
    return array


@njit(fastmath=True)
def gelu(x: Any) -> Any:
    result = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            v = x[i, j]
            inner = np.float32(0.7978845608) * (v + np.float32(0.044715) * (v * v * v))
            result[i, j] = np.float32(0.5) * v * (np.float32(1) + np.tanh(inner))
    return result


@njit(fastmath=True)
def softmax(x: Any) -> Any:
    result = np.empty_like(x)
    for i in range(x.shape[0]):
        largest = x[i, 0]
        for j in range(x.shape[1]):
            largest = max(largest, x[i, j])
        total = np.float32(0)
        for j in range(x.shape[1]):
            result[i, j] = np.exp(x[i, j] - largest)
            total += result[i, j]
        for j in range(x.shape[1]):
            result[i, j] /= total
    return result


@njit(fastmath=True)
def layernorm(x: Any, gamma: Any, beta: Any) -> Any:
    result = np.empty_like(x)
    share = np.float32(1) / np.float32(x.shape[1])
    for i in range(x.shape[0]):
        mean = np.float32(0)
        for j in range(x.shape[1]):
            mean += x[i, j]
        mean *= share
        variance = np.float32(0)
        for j in range(x.shape[1]):
            variance += (x[i, j] - mean) * (x[i, j] - mean)
        inverse = np.float32(1) / np.sqrt(variance * share + np.float32(1e-5))
        for j in range(x.shape[1]):
            result[i, j] = (x[i, j] - mean) * inverse * gamma[j] + beta[j]
    return result


KERNELS = {"gelu": gelu, "softmax": softmax, "layernorm": layernorm}
