"""
What programs call, in numpy: the functions of `tenon.numpy` that they use; loops and branches of Python's.

Nothing here imports Tenon. `numpy_nn.py` has the functions of `tenon.nn`, `numpy_random.py` those of
`tenon.random`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .numpy_nn import NumpyNN
from .numpy_random import NumpyRandom
from .values import FUNCTION, Noise, Value, is_float

_erf = np.vectorize(math.erf, otypes=[np.float64])

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "sinh": np.sinh,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "exp2": np.exp2,
    "erf": _erf,
}
"""Functions of floats that are off by some ulps."""

ROUNDED: dict[str, Callable[[Any], Any]] = {
    "sqrt": np.sqrt,
    "square": np.square,
    "reciprocal": lambda a: 1 / a,
    "rsqrt": lambda a: 1 / np.sqrt(a),
}
"""Functions of floats that are rounded once."""

EXACT: dict[str, Callable[[Any], Any]] = {
    "abs": np.abs,
    "negative": np.negative,
    "relu": lambda a: np.maximum(a, np.zeros((), a.dtype)),
    "sign": np.sign,
    "floor": np.floor,
    "round": np.rint,
    "logical_not": np.logical_not,
}

MOVED = (
    "permute_dims",
    "reshape",
    "broadcast_to",
    "flip",
    "roll",
    "expand_dims",
    "squeeze",
    "tile",
    "repeat",
    "moveaxis",
    "tril",
    "triu",
    "swapaxes",
    "ravel",
    "sort",
    "diagonal",
)
"""Functions of one array that only move its elements."""


class NumpyNumpy:
    """The functions of `tenon.numpy`, on `Value`s."""

    def __init__(self, noise: Noise) -> None:
        self._noise = noise
        for name, function in FUNCTIONS.items():
            setattr(self, name, self._function(function, FUNCTION))
        for name, function in ROUNDED.items():
            setattr(self, name, self._function(function, 1.0))
        for name, function in EXACT.items():
            setattr(self, name, self._exact(function))
        for name in MOVED:
            setattr(self, name, self._moved(getattr(np, name, None) or getattr(np, _OLD_NAMES[name])))

    def _function(self, function: Callable[[Any], Any], epsilons: float) -> Callable[[Value], Value]:
        def called(x: Value) -> Value:
            assert is_float(x.dtype)
            return Value(
                self._noise.rounded(np.asarray(function(x.array)), x.dtype, epsilons), x.dtype, self._noise
            )

        return called

    def _exact(self, function: Callable[[Any], Any]) -> Callable[[Value], Value]:
        return lambda x: x.like(function(x.array))

    def _moved(self, function: Callable[..., Any]) -> Callable[..., Value]:
        def called(x: Value, *rest: Any, **named: Any) -> Value:
            self._noise.work += x.array.size
            return x.like(function(x.array, *rest, **named))

        return called

    def value(self, x: Any, dtype: Any) -> Value:
        return Value(x, dtype, self._noise)

    # creation

    def asarray(self, x: Any, dtype: Any = None) -> Value:
        return self.value(x, np.asarray(x).dtype if dtype is None else dtype)

    def zeros(self, shape: Any, dtype: Any) -> Value:
        return self.value(np.zeros(shape), dtype)

    def ones(self, shape: Any, dtype: Any) -> Value:
        return self.value(np.ones(shape), dtype)

    def full(self, shape: Any, fill: Any, dtype: Any) -> Value:
        return self.value(np.full(shape, fill), dtype)

    def arange(self, *numbers: int, dtype: Any) -> Value:
        return self.value(np.arange(*numbers), dtype)

    def eye(self, count: int, dtype: Any) -> Value:
        return self.value(np.eye(count), dtype)

    # two operands

    def maximum(self, a: Any, b: Any) -> Value:
        return self._lift(a, b).binary("max", b)

    def minimum(self, a: Any, b: Any) -> Value:
        return self._lift(a, b).binary("min", b)

    def clip(self, x: Value, low: Any, high: Any) -> Value:
        return x.binary("max", low).binary("min", high)

    def where(self, condition: Value, a: Any, b: Any) -> Value:
        first = self._lift(a, b)
        second = first.lifted(b)
        dtype = np.promote_types(first.dtype, second.dtype)
        return self.value(np.where(condition.array, first.array, second.array), dtype)

    def hypot(self, a: Value, b: Value) -> Value:
        return self.value(self._noise.rounded(np.hypot(a.array, b.array), a.dtype, FUNCTION), a.dtype)

    def logaddexp(self, a: Value, b: Value) -> Value:
        result = np.logaddexp(a.array, b.array)
        return self.value(self._noise.summed(result, np.abs(result) + 0.5, 16, a.dtype), a.dtype)

    def matmul(self, a: Value, b: Value) -> Value:
        return a @ b

    def einsum(self, text: str, *operands: Value) -> Value:
        dtype = np.result_type(*[each.dtype for each in operands])
        arrays = [each.array for each in operands]
        result = np.asarray(np.einsum(text, *arrays))
        if not is_float(dtype):
            return self.value(result, dtype)
        sources, _, kept = text.partition("->")
        extents = dict(
            pair
            for names, each in zip(sources.split(","), arrays, strict=True)
            for pair in zip(names.strip(), each.shape, strict=True)
        )
        terms = math.prod([extent for name, extent in extents.items() if name not in kept])
        magnitude = np.asarray(np.einsum(text, *[np.abs(each) for each in arrays]))
        return self.value(self._noise.summed(result, magnitude, terms, dtype), dtype)

    # dtypes

    def astype(self, x: Value, dtype: Any) -> Value:
        to = np.dtype(dtype)
        if is_float(to):
            return self.value(self._noise.rounded(x.array.astype(np.float64), to), to)
        if is_float(x.dtype) and to != np.bool_:
            limits = np.iinfo(to)
            return self.value(np.clip(np.trunc(x.array), limits.min, limits.max).astype(to), to)
        return self.value(x.array != 0 if to == np.bool_ else x.array.astype(to), to)

    # reductions

    def sum(self, x: Value, axis: Any = None, keepdims: bool = False) -> Value:
        if not is_float(x.dtype):
            dtype = np.dtype(np.int64) if x.dtype == np.bool_ else np.zeros(1, x.dtype).sum().dtype
            return self.value(np.sum(x.array, axis=axis, keepdims=keepdims), dtype)
        result = np.asarray(np.sum(x.array, axis=axis, keepdims=keepdims))
        magnitude = np.asarray(np.sum(np.abs(x.array), axis=axis, keepdims=keepdims))
        return self.value(self._noise.summed(result, magnitude, _terms(x, result), x.dtype), x.dtype)

    def mean(self, x: Value, axis: Any = None, keepdims: bool = False) -> Value:
        total = self.sum(x, axis, keepdims)
        return total / (x.array.size / max(total.array.size, 1))

    def var(self, x: Value, axis: Any = None, keepdims: bool = False) -> Value:
        centered = x - self.mean(x, axis, True)
        return self.mean(centered * centered, axis, keepdims)

    def max(self, x: Value, axis: Any = None, keepdims: bool = False) -> Value:
        return x.like(np.max(x.array, axis=axis, keepdims=keepdims))

    def min(self, x: Value, axis: Any = None, keepdims: bool = False) -> Value:
        return x.like(np.min(x.array, axis=axis, keepdims=keepdims))

    def any(self, x: Value, axis: Any = None, keepdims: bool = False) -> Value:
        return self.value(np.any(x.array, axis=axis, keepdims=keepdims), np.bool_)

    def all(self, x: Value, axis: Any = None, keepdims: bool = False) -> Value:
        return self.value(np.all(x.array, axis=axis, keepdims=keepdims), np.bool_)

    def logsumexp(self, x: Value, axis: Any = None, keepdims: bool = False) -> Value:
        top = np.max(x.array, axis=axis, keepdims=True)
        total = np.log(np.sum(np.exp(x.array - top), axis=axis, keepdims=True)) + top
        result = total if keepdims else np.squeeze(total, axis)
        magnitude = np.abs(result) + np.log(max(_terms(x, result), 2))
        return self.value(self._noise.summed(result, magnitude, _terms(x, result), x.dtype), x.dtype)

    def argmax(self, x: Value, axis: int | None = None) -> Value:
        return self.value(np.argmax(x.array, axis=axis), np.int64)

    def argmin(self, x: Value, axis: int | None = None) -> Value:
        return self.value(np.argmin(x.array, axis=axis), np.int64)

    def argsort(self, x: Value, axis: int = -1) -> Value:
        return self.value(np.argsort(x.array, axis=axis, kind="stable"), np.int64)

    def cumulative_sum(self, x: Value, axis: int) -> Value:
        result = np.cumsum(x.array, axis=axis)
        if not is_float(x.dtype):
            return self.value(result, result.dtype)
        magnitude = np.cumsum(np.abs(x.array), axis=axis)
        return self.value(self._noise.summed(result, magnitude, x.shape[axis] ** 2, x.dtype), x.dtype)

    # several arrays

    def concat(self, arrays: Sequence[Value], axis: int = 0) -> Value:
        dtype = np.result_type(*[each.dtype for each in arrays])
        return self.value(np.concatenate([each.array for each in arrays], axis=axis), dtype)

    def stack(self, arrays: Sequence[Value], axis: int = 0) -> Value:
        return arrays[0].like(np.stack([each.array for each in arrays], axis=axis))

    def take(self, x: Value, indices: Value, axis: int) -> Value:
        extent = x.shape[axis]
        wrapped = np.where(indices.array < 0, indices.array + extent, indices.array)
        return x.like(np.take(x.array, np.clip(wrapped, 0, extent - 1), axis=axis))

    def take_along_axis(self, x: Value, indices: Value, axis: int) -> Value:
        return x.like(np.take_along_axis(x.array, indices.array, axis=axis))

    def matrix_transpose(self, x: Value) -> Value:
        return x.mT

    def pad(self, x: Value, widths: Any, mode: str = "constant") -> Value:
        return x.like(np.pad(x.array, widths, mode))  # type: ignore[call-overload]

    def _lift(self, a: Any, b: Any) -> Value:
        if isinstance(a, Value):
            return a
        assert isinstance(b, Value), "one of them is an array"
        return b.lifted(a)


_OLD_NAMES = {"permute_dims": "transpose"}
"""Names that numpy before 2.0 does not have."""


def _terms(x: Value, result: Any) -> int:
    return int(x.array.size // max(result.size, 1))


def map_tree(function: Callable[..., Any], *trees: Any) -> Any:
    """Returns what `function` makes of the leaves of equal trees of tuples, lists, dicts and None."""
    first = trees[0]
    if first is None:
        return None
    if isinstance(first, dict):
        return {key: map_tree(function, *[each[key] for each in trees]) for key in first}
    if isinstance(first, tuple | list):
        return type(first)(map_tree(function, *parts) for parts in zip(*trees, strict=True))
    return function(*trees)


class NumpySide:
    """What a program is given as `t`: `t.np`, `t.nn`, `t.random`, and loops and branches."""

    def __init__(self, noise: Noise) -> None:
        self.noise = noise
        self.np: Any = NumpyNumpy(noise)
        self.nn: Any = NumpyNN(self.np)
        self.random: Any = NumpyRandom(self.np, noise)

    def _leaf(self, x: Any) -> Any:
        return x if isinstance(x, Value) else self.np.asarray(x)

    def cond(self, condition: Value, on_true: Any, on_false: Any, *operands: Any) -> Any:
        return (on_true if condition.array else on_false)(*operands)

    def switch(self, index: Value, branches: Sequence[Any], *operands: Any) -> Any:
        return branches[min(max(int(index.array), 0), len(branches) - 1)](*operands)

    def while_loop(self, condition: Any, body: Any, initial: Any) -> Any:
        value = map_tree(self._leaf, initial)
        while condition(value).array:
            value = body(value)
        return value

    def fori_loop(self, begin: int, end: int, body: Any, initial: Any) -> Any:
        value = map_tree(self._leaf, initial)
        for index in range(begin, end):
            value = body(self.np.asarray(np.int64(index)), value)
        return value

    def scan(
        self, body: Any, initial: Any, inputs: Any = None, length: int | None = None, reverse: bool = False
    ):
        value = map_tree(self._leaf, initial)
        extents: list[int] = [] if length is None else [length]
        map_tree(lambda leaf: extents.append(self._leaf(leaf).shape[0]), inputs)
        outputs: list[Any] = []
        indices = range(extents[0])
        for index in reversed(indices) if reverse else indices:
            value, output = body(value, map_tree(lambda leaf, at=index: self._leaf(leaf)[at], inputs))
            outputs.append(output)
        if reverse:
            outputs.reverse()
        return value, map_tree(lambda *each: self.np.stack(each), *outputs)
