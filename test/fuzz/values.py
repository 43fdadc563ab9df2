"""
Arrays of the numpy side: what a program computes, independent of Tenon, in float64 for all floats.

A float is held as float64 whatever its dtype is, and its dtype only says how much Tenon may round. `Noise`
adds errors of that size to each result: a run with noise is off by about as much as a right program may be.
So the tolerance of a result follows from how that very program passes errors on, with its depth and its
conditions, and not from a number for all programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

EPSILON = {
    np.dtype(name): float(ml_dtypes.finfo(name).eps)
    for name in (np.float64, np.float32, np.float16, ml_dtypes.bfloat16)
}

SMALLEST = {dtype: float(ml_dtypes.finfo(dtype).smallest_subnormal) for dtype in EPSILON}
"""What a dtype's smallest numbers are apart: they are rounded by more than their epsilons."""

SUMS_OF = {dtype: EPSILON[max(dtype, np.dtype(np.float32), key=lambda d: d.itemsize)] for dtype in EPSILON}
"""The epsilon that sums are added up with: narrow floats are accumulated in float32."""

FUNCTION = 4.0
"""The noise of a function, in epsilons: docs/accuracy.md states at most that many ulps."""

_TABLE = np.random.default_rng(1).uniform(-1.0, 1.0, 1 << 16)


class Noise:
    """Errors to be added, `amplitude` times those that Tenon may make; 0 adds none. Also counts work."""

    def __init__(self, amplitude: float = 0.0, seed: int = 0) -> None:
        self.amplitude = amplitude
        self.work = 0
        self._at = seed * 7919

    def rounded(self, result: Array, dtype: np.dtype[Any], epsilons: float = 1.0) -> Array:
        """Returns `result`, an exact one, as rounded to `dtype`: what the dtype holds stays as it is."""
        self.work += result.size
        if not self.amplitude:
            return result
        size = np.maximum(np.abs(result) * (epsilons * EPSILON[dtype]), SMALLEST[dtype])
        error = np.where(result == 0, 0.0, size * self._drawn(result))
        if epsilons <= 1.0:
            held = np.float32 if dtype == np.float64 else dtype
            error = np.where(result.astype(held).astype(np.float64) == result, 0.0, error)
        return result + error

    def summed(self, result: Array, magnitude: Array, terms: int, dtype: np.dtype[Any]) -> Array:
        """Returns `result`, a sum of `terms` numbers whose magnitudes add up to `magnitude`."""
        self.work += result.size * max(terms, 1)
        if not self.amplitude:
            return result
        error = magnitude * self._drawn(result) * (self.amplitude * SUMS_OF[dtype] * max(terms, 1) ** 0.5)
        # Small whole numbers and their sums are exact.
        whole = (np.rint(magnitude * 16) == magnitude * 16) & (magnitude < 2**15)
        return self.rounded(result + np.where(whole, 0.0, error), dtype)

    def _drawn(self, like: Array) -> Array:
        self._at += 104729 + like.size
        first = self._at % (len(_TABLE) // 2)
        if like.size <= len(_TABLE) // 2:
            return _TABLE[first : first + like.size].reshape(like.shape) * self.amplitude
        return np.resize(_TABLE[first:], like.shape) * self.amplitude


def is_float(dtype: np.dtype[Any]) -> bool:
    return dtype in EPSILON


def stored(array: Any, dtype: np.dtype[Any]) -> Array:
    """Returns what a `Value` of the dtype holds."""
    return np.asarray(array, np.float64 if is_float(dtype) else dtype)


def _dtype_of_scalar(scalar: Any, other: np.dtype[Any]) -> np.dtype[Any]:
    """A number of Python's takes the dtype that it meets, as long as it is of its kind."""
    if isinstance(scalar, bool):
        return np.dtype(np.bool_) if other == np.bool_ else other
    if isinstance(scalar, int) and other != np.bool_:
        return other
    if isinstance(scalar, int):
        return np.dtype(np.int64)
    return other if is_float(other) else np.dtype(np.float64)


def _symbol_method(name: str) -> Callable[..., Any]:
    def method(self: Value, other: Any) -> Value:
        return self.binary(name, other)

    return method


def _reflected(name: str) -> Callable[..., Any]:
    def method(self: Value, other: Any) -> Value:
        return self.lifted(other).binary(name, self)

    return method


_ARITHMETIC: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "rshift": np.right_shift,
    "lshift": np.left_shift,
}
_COMPARISONS: dict[str, Callable[..., Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


class Value:
    """An array with a dtype: floats as float64, the others as what they are."""

    __slots__ = ("array", "dtype", "noise")
    __array_ufunc__ = None

    def __init__(self, array: Any, dtype: Any, noise: Noise) -> None:
        self.dtype = np.dtype(dtype)
        self.array = stored(array, self.dtype)
        self.noise = noise

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def ndim(self) -> int:
        return self.array.ndim

    def like(self, array: Any) -> Value:
        """Returns an array of the same dtype without an error of its own."""
        return Value(array, self.dtype, self.noise)

    def lifted(self, other: Any) -> Value:
        """Returns what `other` is where it meets this."""
        if isinstance(other, Value):
            return other
        if isinstance(other, np.ndarray | np.generic):
            return Value(other, other.dtype, self.noise)
        return Value(other, _dtype_of_scalar(other, self.dtype), self.noise)

    def binary(self, name: str, other: Any) -> Value:
        rhs = self.lifted(other)
        dtype = np.promote_types(self.dtype, rhs.dtype)
        a, b = (side.array.astype(np.float64 if is_float(dtype) else dtype) for side in (self, rhs))
        if name in _COMPARISONS:
            return Value(_COMPARISONS[name](a, b), np.bool_, self.noise)
        if name == "div":
            assert is_float(dtype), "integers are divided by // only"
            return Value(self.noise.rounded(a / b, dtype), dtype, self.noise)
        if name == "floordiv":
            assert not is_float(dtype), "floors jump"
            return Value(np.where(b == 0, 0, a // np.where(b == 0, 1, b)), dtype, self.noise)
        if name == "mod":
            assert not is_float(dtype), "remainders jump"
            return Value(np.where(b == 0, 0, a % np.where(b == 0, 1, b)), dtype, self.noise)
        if name == "pow":
            epsilons = 1.0 if np.all(b == 2) else FUNCTION
            return Value(self.noise.rounded(a**b, dtype, epsilons), dtype, self.noise)
        with np.errstate(over="ignore" if not is_float(dtype) else "warn"):
            result = _ARITHMETIC[name](a, b)
        if is_float(dtype):
            result = self.noise.rounded(result, dtype)
        else:
            self.noise.work += result.size
        return Value(result, dtype, self.noise)

    __add__, __radd__ = _symbol_method("add"), _reflected("add")
    __sub__, __rsub__ = _symbol_method("sub"), _reflected("sub")
    __mul__, __rmul__ = _symbol_method("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _symbol_method("div"), _reflected("div")
    __floordiv__, __mod__, __pow__ = _symbol_method("floordiv"), _symbol_method("mod"), _symbol_method("pow")
    __and__, __or__, __xor__ = _symbol_method("and"), _symbol_method("or"), _symbol_method("xor")
    __rshift__, __lshift__ = _symbol_method("rshift"), _symbol_method("lshift")
    __lt__, __le__ = _symbol_method("lt"), _symbol_method("le")
    __gt__, __ge__ = _symbol_method("gt"), _symbol_method("ge")
    __eq__ = _symbol_method("eq")  # type: ignore[assignment]
    __ne__ = _symbol_method("ne")  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]

    def __neg__(self) -> Value:
        return self.like(-self.array)

    def __invert__(self) -> Value:
        return self.like(~self.array)

    def __matmul__(self, other: Any) -> Value:
        rhs = self.lifted(other)
        dtype = np.promote_types(self.dtype, rhs.dtype)
        if not is_float(dtype):
            self.noise.work += self.array.size * rhs.shape[-1]
            return Value(np.matmul(self.array.astype(dtype), rhs.array.astype(dtype)), dtype, self.noise)
        a, b = self.array.astype(np.float64), rhs.array.astype(np.float64)
        result = np.asarray(np.matmul(a, b))
        magnitude = np.asarray(np.matmul(np.abs(a), np.abs(b))) if self.noise.amplitude else result
        return Value(self.noise.summed(result, magnitude, a.shape[-1], dtype), dtype, self.noise)

    def __getitem__(self, index: Any) -> Value:
        return self.like(self.array[_plain_index(index)])

    @property
    def at(self) -> _At:
        return _At(self)

    @property
    def T(self) -> Value:
        return self.like(self.array.T)

    @property
    def mT(self) -> Value:
        return self.like(np.swapaxes(self.array, -1, -2))


def _plain_index(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(_plain_index(each) for each in index)
    return index.array if isinstance(index, Value) else index


class _At:
    """`x.at[index]`, whose methods give changed copies."""

    def __init__(self, value: Value, index: Any = None) -> None:
        self._value, self._index = value, index

    def __getitem__(self, index: Any) -> _At:
        return _At(self._value, _plain_index(index))

    def set(self, other: Any) -> Value:
        result = self._value.array.copy()
        result[self._index] = self._value.lifted(other).array
        return self._value.like(result)

    def add(self, other: Any) -> Value:
        value, more = self._value, self._value.lifted(other)
        result = value.array.copy()
        np.add.at(result, self._index, more.array)
        if not is_float(value.dtype):
            return value.like(result)
        magnitude = np.abs(value.array)
        np.add.at(magnitude, self._index, np.abs(more.array))
        return value.like(value.noise.summed(result, magnitude, 4, value.dtype))
