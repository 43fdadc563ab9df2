"""
Random numbers, the same ones in each call. The generator is that of `tenon.random`, Threefry4x32: the key
is the 32 bits of `seed`, and without a seed a checksum of what errors call the node, so that nodes give other
numbers.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from ....errors import TenonError
from ... import nn
from ... import numpy as tnp
from ... import random as trandom
from ...tracing.trace import current_trace
from ..registry import onnx_op
from ..tensors import dtype_of_number

_FLOATS = ("float16", "float32", "float64", "bfloat16")


def key_of(seed: float | None, context: Any) -> Any:
    """Returns the key of a node that draws numbers, with a seed that is a float, or an integer of 64 bits."""
    if seed is None:
        number = zlib.crc32(context.who.encode())
    else:
        number = seed % (1 << 64) if isinstance(seed, int) else int(np.float32(seed).view(np.uint32))
    trace = current_trace()
    assert trace is not None, "an op outside of a trace"
    return trace.constant(trandom.key(number).values)


def _float_of(number: int | None, default: np.dtype[Any], who: str) -> np.dtype[Any]:
    dtype = default if number is None else dtype_of_number(number, who)
    if dtype.name not in _FLOATS:
        raise TenonError(f"random numbers of {dtype} are not supported, expected floats")
    return dtype


def _extents(shape: list[int]) -> tuple[int, ...]:
    if any(each < 0 for each in shape):
        raise TenonError(f"the shape {shape} has a negative extent")
    return tuple(shape)


def _normal(shape: Any, dtype: np.dtype[Any], mean: float, scale: float, key: Any) -> Any:
    return tnp.add(tnp.multiply(trandom.normal(key, shape, dtype), scale), mean)


def _uniform(shape: Any, dtype: np.dtype[Any], low: float, high: float, key: Any) -> Any:
    return trandom.uniform(key, shape, dtype, low, high)


@onnx_op("RandomNormal")
def random_normal(
    *,
    shape: list[int],
    dtype: int = 1,
    mean: float = 0.0,
    scale: float = 1.0,
    seed: float | None = None,
    context: Any,
) -> Any:
    wanted = _float_of(dtype, np.dtype(np.float32), "RandomNormal")
    return _normal(_extents(shape), wanted, mean, scale, key_of(seed, context))


@onnx_op("RandomNormalLike")
def random_normal_like(
    x: Any,
    *,
    dtype: int | None = None,
    mean: float = 0.0,
    scale: float = 1.0,
    seed: float | None = None,
    context: Any,
) -> Any:
    return _normal(x.shape, _float_of(dtype, x.dtype, "RandomNormalLike"), mean, scale, key_of(seed, context))


@onnx_op("RandomUniform")
def random_uniform(
    *,
    shape: list[int],
    dtype: int = 1,
    low: float = 0.0,
    high: float = 1.0,
    seed: float | None = None,
    context: Any,
) -> Any:
    wanted = _float_of(dtype, np.dtype(np.float32), "RandomUniform")
    return _uniform(_extents(shape), wanted, low, high, key_of(seed, context))


@onnx_op("RandomUniformLike")
def random_uniform_like(
    x: Any,
    *,
    dtype: int | None = None,
    low: float = 0.0,
    high: float = 1.0,
    seed: float | None = None,
    context: Any,
) -> Any:
    return _uniform(x.shape, _float_of(dtype, x.dtype, "RandomUniformLike"), low, high, key_of(seed, context))


@onnx_op("Bernoulli", since=15)
def bernoulli(x: Any, *, dtype: int | None = None, seed: float | None = None, context: Any) -> Any:
    """1 where a uniform number is less than the element."""
    wanted = x.dtype if dtype is None else dtype_of_number(dtype, "Bernoulli")
    drawn = trandom.uniform(key_of(seed, context), x.shape, x.dtype)
    return tnp.astype(tnp.less(drawn, x), wanted)


@onnx_op("Multinomial")
def multinomial(
    x: Any, *, dtype: int = 6, sample_size: int = 1, seed: float | None = None, context: Any
) -> Any:
    """Draws classes whose logarithms of probabilities, up to a summand, are the rows of `x`."""
    wanted = dtype_of_number(dtype, "Multinomial")
    if wanted.name not in ("int32", "int64") or len(x.shape) != 2 or sample_size < 1:
        raise TenonError(
            f"{sample_size} samples of {wanted} from shape {x.shape}, expected integers, rows of classes"
        )
    shares = tnp.cumulative_sum(nn.softmax(tnp.astype(x, np.dtype(np.float32)), axis=1), axis=1)
    drawn = trandom.uniform(key_of(seed, context), (x.shape[0], sample_size), np.dtype(np.float32))
    # The last sum may be a little less than 1.
    drawn = tnp.multiply(drawn, shares[:, -1:])
    passed = tnp.less_equal(tnp.expand_dims(shares[:, :-1], 1), tnp.expand_dims(drawn, 2))
    return tnp.sum(tnp.astype(passed, wanted), axis=2, dtype=wanted)
