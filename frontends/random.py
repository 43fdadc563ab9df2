"""
`tenon.random`: random arrays as functions of a key.

A key is four words, `uint32[4]`. The same key gives the same bits on every backend, whatever the number of
threads; there is no hidden state, so what needs other numbers needs another key: `split` and `fold_in` make
them. Bits are those of Threefry4x32 with 20 rounds (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as
easy as 1, 2, 3", 2011): word k of an array is word k mod 4 of the block whose counter is k div 4. So the
first elements of an array do not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, prod
from typing import Any

import ml_dtypes
import numpy as np

from ..semantics.numpy_types import BF16, F16, F32, F64
from .arrays.array import Array
from .arrays.concrete import ConcreteArray, as_concrete
from .calls.dispatch import array_function
from .tracing import graph_ops as g
from .tracing.trace import TracedArray

__all__ = [
    "bernoulli",
    "bits",
    "exponential",
    "fold_in",
    "integers",
    "key",
    "normal",
    "permutation",
    "split",
    "uniform",
]

DType = np.dtype[Any]

U8, U16, U32, U64 = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32), np.dtype(np.uint64))
I64 = np.dtype(np.int64)

ROUNDS = 20

_BITS, _SPLIT, _FOLD = 0, 1, 2
"""The last word of the counters: what is drawn for one purpose is not drawn for another."""

_FLOATS: dict[DType, tuple[DType, int]] = {F16: (U16, 11), BF16: (U16, 8), F32: (U32, 24), F64: (U64, 53)}
"""Of each float dtype: what its random bits are drawn as, and the bits of its significand."""


def key(seed: Any) -> ConcreteArray:
    """
    Returns the key of a seed, an integer from 0 to 2**128 - 1, as `uint32[4]`, least significant word first.

    Raises:
        TypeError: the seed is no integer.
        ValueError: it is negative or has more than 128 bits.
    """
    if not _is_integer(seed):
        raise TypeError(f"key: seed is {seed!r}, expected an integer")
    number = int(seed)
    if not 0 <= number < 1 << 128:
        raise ValueError(f"key: seed {number} is out of bounds (from 0 to 2**128 - 1)")
    words = [number >> 32 * word & 0xFFFFFFFF for word in range(4)]
    return as_concrete(np.array(words, U32))


def split(key: Array, number: int = 2) -> Array:
    """
    Returns `number` new keys, as `uint32[number, 4]`.

    Raises:
        TypeError: `key` is no key, or `number` no integer.
        ValueError: `number` is negative.
    """
    return _split(key, _extent("split", "number", number))


@array_function(static=("number",))
def _split(key: Any, number: int) -> Any:
    _check_key("split", key)
    first = g.iota(0, U32, (number,))
    words = _threefry(key, [first, *_words(number, 0, 0, _SPLIT)])
    return g.permute(words, (1, 0))


@array_function
def fold_in(key: Any, data: Any) -> Any:
    """
    Returns a new key made of a key and an integer, such as the number of a step; negative ones count as
    their 64 bits.

    Raises:
        TypeError: `key` is no key, or `data` is no integer of rank 0.
    """
    _check_key("fold_in", key)
    _check_array("fold_in", "data", data)
    if data.shape != () or data.dtype.kind not in "iu":
        raise TypeError(f"fold_in: data is {data.dtype}{list(data.shape)}, expected an integer of rank 0")
    wide = g.reshape(g.cast(g.cast(data, I64), U64), (1,))
    return g.reshape(_threefry(key, [*_halves(wide), *_words(1, 0, _FOLD)]), (4,))


def bits(key: Array, shape: int | Sequence[int] = (), dtype: Any = U32) -> Array:
    """
    Returns random bits as an array of `shape`; `dtype` is uint8, uint16, uint32 or uint64.

    Raises:
        TypeError: `key` is no key, or `dtype` another one.
        ValueError: an extent is negative.
    """
    return _bits_array(key, _shape("bits", shape), _dtype("bits", dtype, (U8, U16, U32, U64)))


@array_function(static=("shape", "dtype"))
def _bits_array(key: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    _check_key("bits", key)
    return g.reshape(_drawn(key, prod(shape), dtype), shape)


def uniform(
    key: Array,
    shape: int | Sequence[int] = (),
    dtype: Any = F64,
    low: Any = 0.0,
    high: Any = 1.0,
) -> Array:
    """
    Returns numbers that are uniform in `low <= x < high`, for the default 0 and 1; other bounds are reached
    by `low + (high - low) * u`, which may round to `high`. Every random bit counts: an element is made of as
    many as it has itself, and rounded once, so that numbers near 0 have more bits than the significand. What
    would round to 1 is the greatest number below it. `dtype` is float16, bfloat16, float32 or float64.

    Raises:
        TypeError: `key` is no key, or `dtype` another one.
        ValueError: an extent is negative.
    """
    return _uniform(key, low, high, _shape("uniform", shape), _dtype("uniform", dtype, tuple(_FLOATS)))


@array_function(static=("shape", "dtype"))
def _uniform(key: Any, low: Any, high: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    _check_key("uniform", key)
    unit = g.reshape(_unit(key, prod(shape), dtype), shape)
    return _scaled("uniform", unit, low, high, dtype)


def _scaled(who: str, unit: Any, low: Any, high: Any, dtype: DType) -> Any:
    first, last = _bound(who, "low", low, unit.shape, dtype), _bound(who, "high", high, unit.shape, dtype)
    return g.add(first, g.mul(unit, g.sub(last, first)))


def _bound(who: str, name: str, value: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    _check_array(who, name, value)
    try:
        fits = np.broadcast_shapes(value.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"{who}: {name} has shape {list(value.shape)}, which does not broadcast to {list(shape)}"
        )
    return g.broadcast(g.cast(value, dtype), shape)


def normal(key: Array, shape: int | Sequence[int] = (), dtype: Any = F64) -> Array:
    """
    Returns numbers of the standard normal distribution, in pairs by the transform of Box and Muller ("A note
    on the generation of random normal deviates", 1958). `dtype` is as for `uniform`; float16 and bfloat16 are
    float32 rounded.

    Raises:
        TypeError: `key` is no key, or `dtype` another one.
        ValueError: an extent is negative.
    """
    return _normal(key, _shape("normal", shape), _dtype("normal", dtype, tuple(_FLOATS)))


@array_function(static=("shape", "dtype"))
def _normal(key: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    _check_key("normal", key)
    count = prod(shape)
    wide = F64 if dtype == F64 else F32
    pairs = -(-count // 2)
    unit = g.reshape(_unit(key, 2 * pairs, wide), (pairs, 2))
    first, second = _column(unit, 0), _column(unit, 1)
    # Half of the least step above 0: the logarithm of 0 is left out, and no tail cut off.
    least = g.full(2.0 ** -(8 * wide.itemsize + 1), wide, first.shape)
    radius = g.sqrt(g.mul(g.full(-2.0, wide, first.shape), g.log(g.add(first, least))))
    angle = g.mul(g.full(2 * pi, wide, first.shape), second)
    both = g.concat([g.mul(radius, g.cos(angle)), g.mul(radius, g.sin(angle))], 1)
    return g.cast(g.reshape(_first(g.reshape(both, (2 * pairs,)), count), shape), dtype)


def exponential(key: Array, shape: int | Sequence[int] = (), dtype: Any = F64) -> Array:
    """
    Returns numbers of the exponential distribution with mean 1: the negative logarithm of uniform ones.

    Raises:
        TypeError: `key` is no key, or `dtype` is not float16, bfloat16, float32 or float64.
        ValueError: an extent is negative.
    """
    return _exponential(key, _shape("exponential", shape), _dtype("exponential", dtype, tuple(_FLOATS)))


@array_function(static=("shape", "dtype"))
def _exponential(key: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    _check_key("exponential", key)
    wide = F64 if dtype == F64 else F32
    unit = _unit(key, prod(shape), wide)
    least = g.full(2.0 ** -(8 * wide.itemsize + 1), wide, unit.shape)
    return g.cast(g.reshape(g.neg(g.log(g.add(unit, least))), shape), dtype)


def bernoulli(key: Array, p: Any = 0.5, shape: int | Sequence[int] = ()) -> Array:
    """
    Returns booleans that are true with probability `p`, a number or an array that broadcasts to `shape`.

    Raises:
        TypeError: `key` is no key.
        ValueError: an extent is negative, or `p` does not broadcast to `shape`.
    """
    return _bernoulli(key, p, _shape("bernoulli", shape))


@array_function(static=("shape",))
def _bernoulli(key: Any, p: Any, shape: tuple[int, ...]) -> Any:
    _check_key("bernoulli", key)
    unit = g.reshape(_unit(key, prod(shape), F64), shape)
    return g.lt(unit, _bound("bernoulli", "p", p, shape, F64))


def integers(
    key: Array, low: Any, high: Any = None, shape: int | Sequence[int] = (), dtype: Any = I64
) -> Array:
    """
    Returns integers that are uniform in `low <= x < high`, or in `0 <= x < low` without `high`. An element is
    made of 64 random bits, so that no value is more likely than another by more than one part in 2**64 / n,
    for n values.

    Raises:
        TypeError: `key` is no key, a bound no integer, or `dtype` no integer dtype.
        ValueError: there are no integers between the bounds, they do not fit `dtype`, or an extent is
            negative.
    """
    if high is None:
        low, high = 0, low
    for name, value in (("low", low), ("high", high)):
        if not _is_integer(value):
            raise TypeError(f"integers: {name} is {value!r}, expected an integer")
    found = np.dtype(dtype)
    if found.kind not in "iu":
        raise TypeError(f"integers: dtype is {found}, expected an integer dtype")
    limits = np.iinfo(found)
    if low >= high:
        raise ValueError(f"integers: no integers from {low} to below {high}")
    if low < limits.min or high - 1 > limits.max:
        raise ValueError(
            f"integers: {low} to below {high} does not fit {found} ({limits.min} to {limits.max})"
        )
    count = int(high) - int(low)
    # Modulo 2**64, in which sums are right for signed dtypes too. Arrays that nobody writes to are constants
    # of a program, where those of numpy would be more arguments.
    first, number = (as_concrete(np.array(value % (1 << 64), U64)) for value in (int(low), count))
    return _integers(key, first, number, count == 1 << 64, _shape("integers", shape), found)


@array_function(static=("is_whole", "shape", "dtype"))
def _integers(key: Any, low: Any, count: Any, is_whole: bool, shape: tuple[int, ...], dtype: DType) -> Any:
    _check_key("integers", key)
    drawn = _drawn(key, prod(shape), U64)
    if not is_whole:
        drawn = g.mod(drawn, g.broadcast(count, drawn.shape))
    moved = g.add(drawn, g.broadcast(low, drawn.shape))
    return g.cast(g.reshape(moved, shape), dtype)


def permutation(key: Array, x: Any, axis: int = 0) -> Array:
    """
    Returns the integers from 0 to below `x` in random order, as int64; or the array `x` with what lies along
    `axis` in random order. Elements are sorted by 64 random bits each, of which the lowest, as many as their
    number has, are the element's place: with 1e6 elements 44 decide.

    Raises:
        TypeError: `key` is no key, or `x` neither an integer nor an array.
        ValueError: `x` is negative or of rank 0.
        AxisError: `axis` is out of bounds.
    """
    if _is_integer(x):
        return _order(key, _extent("permutation", "x", x))
    if not isinstance(x, Array | np.ndarray):
        raise TypeError(f"permutation: x is {x!r}, expected an integer or an array")
    if x.ndim == 0:
        raise ValueError("permutation: x is an array of rank 0, expected an integer or an array with an axis")
    if not -x.ndim <= axis < x.ndim:
        raise np.exceptions.AxisError(axis, x.ndim)
    return _shuffled(key, x, axis % x.ndim)


@array_function(static=("count",))
def _order(key: Any, count: int) -> Any:
    _check_key("permutation", key)
    return _ordered(key, count)


def _ordered(key: TracedArray, count: int) -> TracedArray:
    """
    Returns the indices below `count` in random order. Random bits with an index in the lowest ones are sorted
    as numbers, which takes half of the time that the indices of sorted bits take.
    """
    places = _place_bits(count)
    mask = g.broadcast(places, (count,))
    mixed = g.or_(g.and_(_drawn(key, count, U64), g.not_(mask)), g.iota(0, U64, (count,)))
    return g.cast(g.and_(g.sort(mixed, 0), mask), np.dtype(np.int64))


def _place_bits(count: Any) -> TracedArray:
    """Returns a number whose bits are those that indices below `count` have."""
    if isinstance(count, int):
        return g.full((1 << max(count - 1, 0).bit_length()) - 1, U64, ())
    found = g.cast(g.extent(count - 1), U64)
    for width in (1, 2, 4, 8, 16, 32):
        found = g.or_(found, g.shr(found, g.full(width, U64, ())))
    return found


@array_function(static=("axis",))
def _shuffled(key: Any, x: Any, axis: int) -> Any:
    _check_key("permutation", key)
    order = _ordered(key, x.shape[axis])
    taken = g.gather(x, [order], [axis])
    moved = list(range(1, x.ndim))
    moved.insert(axis, 0)
    return g.permute(taken, moved)


def _threefry(key: TracedArray, words: Sequence[TracedArray]) -> TracedArray:
    """Returns the four random words of each counter, as `uint32[4, n]`; `words` are the counters' four."""
    rows = [g.reshape(word, (1, *word.shape)) for word in words]
    return g.threefry(key, g.concat(rows, 0), ROUNDS)


def _words(count: int, *values: int) -> list[TracedArray]:
    return [g.full(value, U32, (count,)) for value in values]


def _halves(wide: TracedArray) -> list[TracedArray]:
    """Returns the two words of each uint64, the less significant one first."""
    return [g.cast(wide, U32), g.cast(g.shr(wide, g.full(32, U64, wide.shape)), U32)]


def _drawn(key: TracedArray, count: int, dtype: DType) -> TracedArray:
    """Returns `count` elements of random bits."""
    n_words = -(-count * dtype.itemsize // 4)
    blocks = -(-n_words // 4)
    counter = g.iota(0, U64, (blocks,))
    words = _threefry(key, [*_halves(counter), *_words(blocks, 0, _BITS)])
    row = g.reshape(g.permute(words, (1, 0)), (4 * blocks,))
    if dtype == U32:
        return _first(row, count)
    if dtype == U64:
        pairs = g.reshape(row, (2 * blocks, 2))
        first, second = g.cast(_column(pairs, 0), U64), g.cast(_column(pairs, 1), U64)
        shifted = g.shl(second, g.full(32, U64, second.shape))
        return _first(g.reshape(g.or_(first, shifted), (2 * blocks,)), count)
    parts = 4 // dtype.itemsize
    shape = (4 * blocks, parts)
    spread = g.broadcast(g.reshape(row, (4 * blocks, 1)), shape)
    shifts = g.mul(g.iota(1, U32, shape), g.full(8 * dtype.itemsize, U32, shape))
    return _first(g.reshape(g.cast(g.shr(spread, shifts), dtype), (4 * blocks * parts,)), count)


def _unit(key: TracedArray, count: int, dtype: DType) -> TracedArray:
    """Returns `count` floats from 0 to below 1, each made of as many random bits as it has itself."""
    drawn_dtype, significand = _FLOATS[dtype]
    drawn = _drawn(key, count, drawn_dtype)
    width = 8 * drawn_dtype.itemsize
    half = width // 2
    wide = F64 if dtype == F64 else F32
    shape = drawn.shape
    # Two halves that a float holds exactly each: only their sum is rounded.
    upper = g.cast(g.shr(drawn, g.full(half, drawn_dtype, shape)), wide)
    lower = g.cast(g.and_(drawn, g.full((1 << half) - 1, drawn_dtype, shape)), wide)
    total = g.add(
        g.mul(upper, g.full(2.0**-half, wide, shape)), g.mul(lower, g.full(2.0**-width, wide, shape))
    )
    return g.min(g.cast(total, dtype), g.full(1 - 2.0**-significand, dtype, shape))


def _column(pairs: TracedArray, number: int) -> TracedArray:
    return g.slice(pairs, (0, number), (pairs.shape[0], 1), (1, 1))


def _first(row: TracedArray, count: int) -> TracedArray:
    return row if row.shape[0] == count else g.slice(row, (0,), (count,), (1,))


def _check_key(who: str, key: Any) -> None:
    _check_array(who, "key", key)
    if key.dtype != U32 or key.shape != (4,):
        raise TypeError(
            f"{who}: key is {key.dtype}{list(key.shape)}, expected uint32[4] "
            "(hint: tenon.random.key makes one)"
        )


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _check_array(who: str, name: str, value: Any) -> None:
    if not isinstance(value, TracedArray):
        raise TypeError(f"{who}: {name} is {value!r}, expected an array")


def _extent(who: str, name: str, value: Any) -> int:
    if not _is_integer(value):
        raise TypeError(f"{who}: {name} is {value!r}, expected an integer")
    if value < 0:
        raise ValueError(f"{who}: {name} {value} is negative")
    return int(value)


def _shape(who: str, shape: Any) -> tuple[int, ...]:
    if isinstance(shape, list | tuple):
        return tuple(_extent(who, "extent", extent) for extent in shape)  # pyright: ignore[reportUnknownVariableType]
    return (_extent(who, "shape", shape),)


def _dtype(who: str, dtype: Any, allowed: tuple[DType, ...]) -> DType:
    found = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    if found not in allowed:
        raise TypeError(f"{who}: dtype is {found}, expected one of {', '.join(map(str, allowed))}")
    return found
