"""numpy: the obvious way, in f32 where the arguments are; also what all others are checked against."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ..workloads.workload import Array, Workload
from .interface import Thunk

VERSION = np.__version__
FAILURES: tuple[type[Exception], ...] = ()


def matmul(a: Array, b: Array) -> Array:
    return a @ b


def matmul_tn(a: Array, b: Array) -> Array:
    return a.T @ b


def matmul_nt(a: Array, b: Array) -> Array:
    return a @ b.T


def matmul_bias_gelu(a: Array, b: Array, bias: Array) -> Array:
    return gelu(a @ b + bias)


def conv2d(x: Array, w: Array, *, layout: str, groups: int, padding: int) -> Array:
    if layout == "NCHW":
        x, w = x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)
    margins = ((0, 0), (padding, padding), (padding, padding), (0, 0))
    x = np.pad(x, margins)
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[:2], (1, 2))
    if groups == 1:
        result = np.tensordot(windows, w, ((3, 4, 5), (2, 0, 1)))
    else:
        result = np.einsum("nyxcij,ijc->nyxc", windows, w[:, :, 0, :])
    return result.transpose(0, 3, 1, 2) if layout == "NCHW" else result


def gelu(x: Array) -> Array:
    return (
        x * 0.5 * (1 + np.tanh(x.dtype.type(0.7978845608028654) * (x + x.dtype.type(0.044715) * (x * x * x))))
    )


def softmax(x: Array) -> Array:
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def layernorm(x: Array, gamma: Array, beta: Array) -> Array:
    deviation = x - x.mean(axis=-1, keepdims=True)
    variance = np.mean(deviation * deviation, axis=-1, keepdims=True)
    return deviation / np.sqrt(variance + x.dtype.type(1e-5)) * gamma + beta


def rmsnorm(x: Array, gamma: Array) -> Array:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + x.dtype.type(1e-5)) * gamma


def logsumexp(x: Array) -> Array:
    largest = x.max(axis=-1, keepdims=True)
    return np.log(np.exp(x - largest).sum(axis=-1)) + largest[..., 0]


def attention(q: Array, k: Array, v: Array) -> Array:
    scale = q.dtype.type(q.shape[-1] ** -0.5)
    return softmax(q @ k.swapaxes(-1, -2) * scale) @ v


def mlp(x: Array, gamma: Array, beta: Array, w1: Array, b1: Array, w2: Array, b2: Array) -> Array:
    return x + (gelu(layernorm(x, gamma, beta) @ w1 + b1) @ w2 + b2)


def chain(x: Array, y: Array) -> Array:
    a = np.sqrt(np.maximum(x * 1.5 + y, 0.1))
    b = np.abs(a * x - y) + 1
    c = np.minimum(x / b, 2)
    return c * c - a


def reduce_sum(x: Array, *, axis: int) -> Array:
    return x.sum(axis=axis)


def transpose(x: Array) -> Array:
    return np.ascontiguousarray(x.T)


KERNELS: Mapping[str, Callable[..., Array]] = {
    function.__name__: function
    for function in (
        matmul,
        matmul_tn,
        matmul_nt,
        matmul_bias_gelu,
        conv2d,
        gelu,
        softmax,
        layernorm,
        rmsnorm,
        logsumexp,
        attention,
        mlp,
        chain,
        reduce_sum,
        transpose,
    )
}


def contenders(workload: Workload, arguments: Mapping[str, Array], threads: int) -> dict[str, Thunk]:
    if workload.kind == "matmul":
        # numpy's users who care give it the memory of the result.
        return {"numpy": partial(np.matmul, arguments["a"], arguments["b"], out=workload.result())}
    return {"numpy": partial(KERNELS[workload.kind], **arguments, **workload.parameters)}


def expected(workload: Workload, arguments: Mapping[str, Array]) -> Array:
    """Returns the result, computed in f64."""
    wide: dict[str, Any] = {name: array.astype(np.float64) for name, array in arguments.items()}
    return KERNELS[workload.kind](**wide, **workload.parameters)
