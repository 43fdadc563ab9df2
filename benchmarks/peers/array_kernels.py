"""The work on arrays of a library that has operators and numpy's names, as one writes it there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Kernel = Callable[..., Any]


def array_kernels(xp: Any, **own: Kernel) -> Mapping[str, Kernel]:
    """
    Returns a function for each kind of work, written with the functions of `xp`. `own` are those that its
    users would write another way, and convolutions, for which numpy has no name; the others use them too.
    """

    def matmul(a: Any, b: Any) -> Any:
        return a @ b

    def matmul_tn(a: Any, b: Any) -> Any:
        return a.T @ b

    def matmul_nt(a: Any, b: Any) -> Any:
        return a @ b.T

    def default_gelu(x: Any) -> Any:
        return 0.5 * x * (1 + xp.tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x))))

    def default_softmax(x: Any) -> Any:
        exponentials = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
        return exponentials / xp.sum(exponentials, axis=-1, keepdims=True)

    def default_layernorm(x: Any, gamma: Any, beta: Any) -> Any:
        deviation = x - xp.mean(x, axis=-1, keepdims=True)
        variance = xp.mean(deviation * deviation, axis=-1, keepdims=True)
        return deviation / xp.sqrt(variance + 1e-5) * gamma + beta

    gelu = own.get("gelu", default_gelu)
    softmax = own.get("softmax", default_softmax)
    layernorm = own.get("layernorm", default_layernorm)

    def rmsnorm(x: Any, gamma: Any) -> Any:
        return x / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + 1e-5) * gamma

    def logsumexp(x: Any) -> Any:
        largest = xp.max(x, axis=-1, keepdims=True)
        return xp.log(xp.sum(xp.exp(x - largest), axis=-1)) + xp.squeeze(largest, axis=-1)

    def matmul_bias_gelu(a: Any, b: Any, bias: Any) -> Any:
        return gelu(a @ b + bias)

    def attention(q: Any, k: Any, v: Any) -> Any:
        scores = q @ xp.matrix_transpose(k) * q.shape[-1] ** -0.5
        return softmax(scores) @ v

    def mlp(x: Any, gamma: Any, beta: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
        return x + (gelu(layernorm(x, gamma, beta) @ w1 + b1) @ w2 + b2)

    def chain(x: Any, y: Any) -> Any:
        a = xp.sqrt(xp.maximum(x * 1.5 + y, 0.1))
        b = xp.abs(a * x - y) + 1
        c = xp.minimum(x / b, 2)
        return c * c - a

    def reduce_sum(x: Any, *, axis: int) -> Any:
        return xp.sum(x, axis=axis)

    def transpose(x: Any) -> Any:
        return x.T

    return {
        "matmul": matmul,
        "matmul_tn": matmul_tn,
        "matmul_nt": matmul_nt,
        "matmul_bias_gelu": matmul_bias_gelu,
        "gelu": gelu,
        "softmax": softmax,
        "layernorm": layernorm,
        "rmsnorm": rmsnorm,
        "logsumexp": logsumexp,
        "attention": attention,
        "mlp": mlp,
        "chain": chain,
        "reduce_sum": reduce_sum,
        "transpose": transpose,
        **own,
    }
