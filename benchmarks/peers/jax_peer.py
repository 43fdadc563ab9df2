"""JAX on the CPU, compiled by `jax.jit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from ..workloads.workload import Array, Workload
from .array_kernels import array_kernels
from .interface import Thunk

VERSION = jax.__version__
FAILURES: tuple[type[Exception], ...] = (jax.errors.JaxRuntimeError,)


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


KERNELS = array_kernels(
    jnp,
    conv2d=conv2d,
    gelu=gelu,
    softmax=softmax,
    layernorm=layernorm,
    rmsnorm=rmsnorm,
    logsumexp=logsumexp,
    attention=attention,
)


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
