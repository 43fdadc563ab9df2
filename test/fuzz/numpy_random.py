"""
What programs call of `tenon.random`, in numpy: the bits of Threefry4x32 with 20 rounds (Salmon, Moraes, Dror,
Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011), and the distributions as docs/random.md has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, prod
from typing import Any

import ml_dtypes
import numpy as np

from .values import Array, Noise, Value

_ROTATIONS = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))
_PARITY = np.uint32(0x1BD11BDA)
_ROUNDS = 20

_WORK = 40
"""About how many operations a random word takes."""

_SPLIT, _FOLD = 1, 2
"""The last word of counters that keys are made from; it is 0 where bits are drawn."""

_FLOATS: dict[np.dtype[Any], tuple[type, int]] = {
    np.dtype(np.float16): (np.uint16, 11),
    np.dtype(ml_dtypes.bfloat16): (np.uint16, 8),
    np.dtype(np.float32): (np.uint32, 24),
    np.dtype(np.float64): (np.uint64, 53),
}
"""What a uniform float is made of, and how many bits its significand has."""

Shape = int | Sequence[int]


def threefry(key: Array, counters: Array) -> Array:
    """Returns the words of counters, each along axis 0."""
    keys = [*key, np.bitwise_xor.reduce(key) ^ _PARITY]
    with np.errstate(over="ignore"):
        a, b, c, d = (word + keys[place] for place, word in enumerate(counters))
        for number in range(_ROUNDS):
            left, right = _ROTATIONS[number % 8]
            if number % 2 == 0:
                a, c = a + b, c + d
                b, d = _rotated(b, left) ^ a, _rotated(d, right) ^ c
            else:
                a, c = a + d, c + b
                d, b = _rotated(d, left) ^ a, _rotated(b, right) ^ c
            if number % 4 == 3:
                turn = (number + 1) // 4
                a, b, c, d = (word + keys[(turn + place) % 5] for place, word in enumerate((a, b, c, d)))
                d = d + np.uint32(turn)
    return np.stack([a, b, c, d])


def _rotated(words: Array, by: int) -> Array:
    return (words << np.uint32(by)) | (words >> np.uint32(32 - by))


def _counters(numbers: Array, purpose: int) -> Array:
    """Returns counters whose first two words are 64 bits of numbers."""
    low, high = (numbers & 0xFFFFFFFF).astype(np.uint32), (numbers >> np.uint64(32)).astype(np.uint32)
    return np.stack([low, high, np.zeros_like(low), np.full_like(low, purpose)])


def _extents(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


class NumpyRandom:
    """The functions of `tenon.random`, on `Value`s; `xp` has those of `tenon.numpy`."""

    def __init__(self, xp: Any, noise: Noise) -> None:
        self._xp, self._noise = xp, noise

    def key(self, seed: int) -> Value:
        words = [seed >> 32 * place & 0xFFFFFFFF for place in range(4)]
        return self._xp.value(np.array(words, np.uint32), np.uint32)

    def split(self, key: Value, number: int = 2) -> Value:
        return self._xp.value(self._threefry(key, np.arange(number, dtype=np.uint64), _SPLIT).T, np.uint32)

    def fold_in(self, key: Value, data: Any) -> Value:
        number = data.array if isinstance(data, Value) else np.asarray(data)
        wide = number.astype(np.int64).astype(np.uint64).reshape(1)
        return self._xp.value(self._threefry(key, wide, _FOLD).reshape(4), np.uint32)

    def bits(self, key: Value, shape: Shape = (), dtype: Any = np.uint32) -> Value:
        return self._xp.value(self._bits(key, shape, dtype), dtype)

    def uniform(
        self, key: Value, shape: Shape = (), dtype: Any = np.float64, low: Any = 0.0, high: Any = 1.0
    ) -> Value:
        unit = self._unit(key, shape, dtype)
        first, last = (self._bound(bound, dtype) for bound in (low, high))
        return first + (last - first) * unit

    def normal(self, key: Value, shape: Shape = (), dtype: Any = np.float64) -> Value:
        extents, wide = _extents(shape), _wide(dtype)
        pairs = -(-prod(extents) // 2)
        unit = self._unit(key, (pairs, 2), wide)
        radius = self._xp.sqrt(self._logarithm(unit[:, :1]) * -2.0)
        angle = unit[:, 1:] * wide.type(2 * pi)
        both = self._xp.concat([radius * self._xp.cos(angle), radius * self._xp.sin(angle)], axis=1)
        row = self._xp.reshape(both, (2 * pairs,))[: prod(extents)]
        return self._xp.astype(self._xp.reshape(row, extents), dtype)

    def exponential(self, key: Value, shape: Shape = (), dtype: Any = np.float64) -> Value:
        return self._xp.astype(-self._logarithm(self._unit(key, shape, _wide(dtype))), dtype)

    def bernoulli(self, key: Value, p: Any = 0.5, shape: Shape = ()) -> Value:
        return self._unit(key, shape, np.float64) < self._bound(p, np.float64)

    def integers(
        self, key: Value, low: int, high: int | None = None, shape: Shape = (), dtype: Any = np.int64
    ) -> Value:
        first, last = (0, low) if high is None else (low, high)
        drawn = self._bits(key, shape, np.uint64) % np.uint64(last - first)
        moved = drawn + np.array(first % (1 << 64), np.uint64)
        return self._xp.value(moved.astype(dtype), dtype)

    def permutation(self, key: Value, x: Any, axis: int = 0) -> Value:
        count = x.shape[axis] if isinstance(x, Value) else x
        order = np.argsort(self._bits(key, count, np.uint64), kind="stable")
        if not isinstance(x, Value):
            return self._xp.value(order, np.int64)
        return x.like(np.take(x.array, order, axis=axis))

    def _threefry(self, key: Value, numbers: Array, purpose: int) -> Array:
        self._noise.work += _WORK * 4 * numbers.size
        return threefry(key.array, _counters(numbers, purpose))

    def _bits(self, key: Value, shape: Shape, dtype: Any) -> Array:
        extents = _extents(shape)
        nbytes = prod(extents) * np.dtype(dtype).itemsize
        words = self._threefry(key, np.arange(-(-nbytes // 16), dtype=np.uint64), 0)
        stream = np.ascontiguousarray(words.T).astype("<u4").tobytes()
        return np.frombuffer(stream[:nbytes], np.dtype(dtype).newbyteorder("<")).reshape(extents)

    def _unit(self, key: Value, shape: Shape, dtype: Any) -> Value:
        """Returns floats from 0 to below 1: their bits as a fraction, rounded once."""
        to = np.dtype(dtype)
        drawn, significand = _FLOATS[to]
        bits = self._bits(key, shape, drawn)
        # What 32 bits or fewer are is exact in float64, and 64 are rounded once as they become one.
        fraction = np.ldexp(bits.astype(np.float64), -8 * bits.itemsize).astype(to)
        return self._xp.value(np.minimum(fraction.astype(np.float64), 1 - 2.0**-significand), to)

    def _logarithm(self, unit: Value) -> Value:
        """Returns logarithms, of numbers that half of the least step keeps away from 0."""
        return self._xp.log(unit + 2.0 ** -(8 * unit.dtype.itemsize + 1))

    def _bound(self, bound: Any, dtype: Any) -> Value:
        return self._xp.astype(bound if isinstance(bound, Value) else self._xp.value(bound, dtype), dtype)


def _wide(dtype: Any) -> np.dtype[Any]:
    """What a distribution is computed in before it is rounded."""
    return np.dtype(np.float64 if np.dtype(dtype) == np.float64 else np.float32)
