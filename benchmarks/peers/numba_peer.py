"""
numba: hand-written loops, one row at a time, in parallel where there is more than one thread. Products would
be numpy's BLAS again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import prange

from ..workloads.workload import Array, Workload
from .interface import Thunk

VERSION = numba.__version__
FAILURES: tuple[type[Exception], ...] = (numba.core.errors.NumbaError,)

# Else numba would use no vectors for sums at all. NaN and infinities count, as for all others.
_ALLOWED = {"reassoc", "contract"}


def gelu(x: Any, result: Any) -> None:
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            v = x[i, j]
            inner = np.float32(0.7978845608) * (v + np.float32(0.044715) * (v * v * v))
            result[i, j] = np.float32(0.5) * v * (np.float32(1) + np.tanh(inner))


def softmax(x: Any, result: Any) -> None:
    for i in prange(x.shape[0]):
        largest = x[i, 0]
        for j in range(x.shape[1]):
            largest = max(largest, x[i, j])
        total = np.float32(0)
        for j in range(x.shape[1]):
            result[i, j] = np.exp(x[i, j] - largest)
            total += result[i, j]
        scale = np.float32(1) / total
        for j in range(x.shape[1]):
            result[i, j] *= scale


def layernorm(x: Any, gamma: Any, beta: Any, result: Any) -> None:
    share = np.float32(1) / np.float32(x.shape[1])
    for i in prange(x.shape[0]):
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


def rmsnorm(x: Any, gamma: Any, result: Any) -> None:
    share = np.float32(1) / np.float32(x.shape[1])
    for i in prange(x.shape[0]):
        squares = np.float32(0)
        for j in range(x.shape[1]):
            squares += x[i, j] * x[i, j]
        inverse = np.float32(1) / np.sqrt(squares * share + np.float32(1e-5))
        for j in range(x.shape[1]):
            result[i, j] = x[i, j] * inverse * gamma[j]


def logsumexp(x: Any, result: Any) -> None:
    for i in prange(x.shape[0]):
        largest = x[i, 0]
        for j in range(x.shape[1]):
            largest = max(largest, x[i, j])
        total = np.float32(0)
        for j in range(x.shape[1]):
            total += np.exp(x[i, j] - largest)
        result[i] = np.log(total) + largest


def chain(x: Any, y: Any, result: Any) -> None:
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            u, v = x[i, j], y[i, j]
            a = np.sqrt(max(u * np.float32(1.5) + v, np.float32(0.1)))
            b = abs(a * u - v) + np.float32(1)
            c = min(u / b, np.float32(2))
            result[i, j] = c * c - a


def sum_over_axis_0(x: Any, result: Any) -> None:
    for j in prange(x.shape[1]):
        result[j, :] = 0
        for i in range(x.shape[0]):
            for k in range(x.shape[2]):
                result[j, k] += x[i, j, k]


def sum_over_axis_1(x: Any, result: Any) -> None:
    for i in prange(x.shape[0]):
        result[i, :] = 0
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                result[i, k] += x[i, j, k]


def sum_over_axis_2(x: Any, result: Any) -> None:
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            total = np.float32(0)
            for k in range(x.shape[2]):
                total += x[i, j, k]
            result[i, j] = total


def transpose(x: Any, result: Any) -> None:
    tile = 32
    for block in prange((x.shape[0] + tile - 1) // tile):
        begin = block * tile
        end = min(begin + tile, x.shape[0])
        for left in range(0, x.shape[1], tile):
            for j in range(left, min(left + tile, x.shape[1])):
                for i in range(begin, end):
                    result[j, i] = x[i, j]


_LOOPS: Mapping[str, Callable[..., None]] = {
    "gelu": gelu,
    "softmax": softmax,
    "layernorm": layernorm,
    "rmsnorm": rmsnorm,
    "logsumexp": logsumexp,
    "chain": chain,
    "transpose": transpose,
}
_SUMS = (sum_over_axis_0, sum_over_axis_1, sum_over_axis_2)


def _loops_of(workload: Workload) -> Callable[..., None] | None:
    if workload.kind == "reduce_sum":
        return _SUMS[workload.parameters["axis"]]
    return _LOOPS.get(workload.kind)


@cache
def _compiled(loops: Callable[..., None], parallel: bool) -> Callable[..., None]:
    return numba.njit(fastmath=_ALLOWED, parallel=parallel)(loops)


def contenders(workload: Workload, arguments: Mapping[str, Array], threads: int) -> dict[str, Thunk]:
    loops = _loops_of(workload)
    if loops is None:
        return {}
    compiled, result = _compiled(loops, threads > 1), workload.result()

    def call() -> Array:
        compiled(*arguments.values(), result)
        return result

    return {"numba": call}


def compiler(workload: Workload, arguments: Mapping[str, Array]) -> Thunk | None:
    loops = _loops_of(workload)
    if loops is None:
        return None
    types = tuple(numba.typeof(array) for array in (*arguments.values(), workload.result()))
    return lambda: numba.njit(fastmath=_ALLOWED)(loops).compile(types)
