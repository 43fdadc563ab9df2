"""JAX on the CPU, compiled by `jax.jit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from ..workloads.workload import Array, Workload
from .interface import Thunk

VERSION = jax.__version__
FAILURES: tuple[type[Exception], ...] = (jax.errors.JaxRuntimeError,)


def matmul(a: Any, b: Any) -> Any:
    return a @ b


def matmul_tn(a: Any, b: Any) -> Any:
    return a.T @ b


def matmul_nt(a: Any, b: Any) -> Any:
    return a @ b.T


def matmul_bias_gelu(a: Any, b: Any, bias: Any) -> Any:
    return gelu(a @ b + bias)


def conv2d(x: Any, w: Any, *, layout: str, groups: int, padding: int) -> Any:
    kernel = "OIHW" if layout == "NCHW" else "HWIO"
    return jax.lax.conv_general_dilated(
        x,
        w,
        (1, 1),
        [(padding, padding)] * 2,
        dimension_numbers=(layout, kernel, layout),
        feature_group_count=groups,
    )


def gelu(x: Any) -> Any:
    return jax.nn.gelu(x, approximate=True)


def softmax(x: Any) -> Any:
    return jax.nn.softmax(x, axis=-1)


def layernorm(x: Any, gamma: Any, beta: Any) -> Any:
    deviation = x - x.mean(axis=-1, keepdims=True)
    variance = jnp.mean(deviation * deviation, axis=-1, keepdims=True)
    return deviation * jax.lax.rsqrt(variance + 1e-5) * gamma + beta


def rmsnorm(x: Any, gamma: Any) -> Any:
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5) * gamma


def logsumexp(x: Any) -> Any:
    return jax.nn.logsumexp(x, axis=-1)


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, axis=-1), v)


def mlp(x: Any, gamma: Any, beta: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    return x + (gelu(layernorm(x, gamma, beta) @ w1 + b1) @ w2 + b2)


def chain(x: Any, y: Any) -> Any:
    a = jnp.sqrt(jnp.maximum(x * 1.5 + y, 0.1))
    b = jnp.abs(a * x - y) + 1
    c = jnp.minimum(x / b, 2)
    return c * c - a


def reduce_sum(x: Any, *, axis: int) -> Any:
    return x.sum(axis=axis)


def transpose(x: Any) -> Any:
    return x.T


KERNELS: Mapping[str, Callable[..., Any]] = {
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


def traceable(workload: Workload, arguments: Mapping[str, Any]) -> tuple[Callable[..., Any], list[Any]]:
    """Returns the work as a function of the arguments that are not constant, and these."""
    function = KERNELS[workload.kind]
    prepared = {name: jnp.asarray(array) for name, array in arguments.items()}
    constants = {name: prepared.pop(name) for name in workload.constants}
    names = list(prepared)

    def work(*values: Any) -> Any:
        return function(**dict(zip(names, values, strict=True)), **constants, **workload.parameters)

    return work, list(prepared.values())


def contenders(workload: Workload, arguments: Mapping[str, Array], threads: int) -> dict[str, Thunk]:
    work, values = traceable(workload, arguments)
    compiled = jax.jit(work)
    return {"jax": lambda: compiled(*values).block_until_ready()}


def compiler(workload: Workload, arguments: Mapping[str, Array]) -> Thunk:
    work, values = traceable(workload, arguments)
    return lambda: jax.jit(work).lower(*values).compile()
