"""Compares arrays with what they should be, in units in the last place."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute

from ...dialects.element_types import NARROW_FLOATS
from ...dialects.float_layout import LAYOUTS
from ...semantics.numpy_types import Array, dtype_of, is_floating

ULPS: dict[Attribute, float] = {f64: 8, f32: 8, **dict.fromkeys(NARROW_FLOATS, 2)}
"""How many units in the last place of the largest element a float result may be off, by element type."""

_BITS: dict[int, np.dtype[Any]] = {nbytes: np.dtype(f"i{nbytes}") for nbytes in (1, 2, 4, 8)}


@dataclass(frozen=True, slots=True)
class Difference:
    """Elements that disagree: how many of how many, and the one that is furthest off."""

    count: int
    total: int
    index: tuple[int, ...]
    actual: Any
    expected: Any
    ulps: int | None
    bound: str

    def __str__(self) -> str:
        place = f"[{', '.join(map(str, self.index))}]"
        ulps = "" if self.ulps is None else f" ({self.ulps} ulps)"
        return (
            f"{self.count} of {self.total} elements differ{self.bound}; the worst at {place}: "
            f"got {self.actual}, expected {self.expected}{ulps}"
        )


def ulp_difference(a: Array, b: Array) -> npt.NDArray[np.uint64]:
    """
    Returns how many floats lie from each element of `a` to that of `b`, both of one float dtype. -0.0 is 0.0,
    inf is next to the greatest number; two NaNs are 0 apart, a NaN and a number 2**64 - 1.
    """
    a, b = np.broadcast_arrays(a, b)
    first, second = _position(a), _position(b)
    # the difference of two int64 fits in a uint64, and wraps to it
    below = np.where(first < second, first, second).view(np.uint64)
    above = np.where(first < second, second, first).view(np.uint64)
    first_nan, second_nan = np.isnan(a), np.isnan(b)
    distance = np.where(first_nan != second_nan, np.uint64(2**64 - 1), above - below)
    return np.where(first_nan & second_nan, np.uint64(0), distance)


def _position(value: Array) -> npt.NDArray[np.int64]:
    """Numbers the floats in order, 0.0 and -0.0 as 0."""
    value = np.ascontiguousarray(value).reshape(value.shape)
    bits = value.view(_BITS[value.dtype.itemsize])
    magnitude = (bits & np.iinfo(bits.dtype).max).astype(np.int64)
    return np.where(bits < 0, -magnitude, magnitude)


def differences(
    actual: Array,
    expected: Array,
    *,
    element_type: Attribute,
    terms: int = 1,
    exact: bool = False,
    ulps: float | None = None,
) -> Difference | None:
    """
    Returns how two arrays of the same dtype and shape disagree, None if they agree.

    Floats agree if both are NaN, if they are equal (-0.0 with 0.0 too), or if they are finite and not further
    apart than `ulps` (for None: `ULPS` of the type) units in the last place of the largest finite magnitude
    of `expected`, times the square root of `terms`, the number of terms that were summed for an element. With
    `exact`, and always for integers and booleans, they agree if they are the same, sign of zero included.
    """
    is_float = is_floating(dtype_of(element_type))
    total = int(np.prod(actual.shape, dtype=np.int64))
    bound = ""
    if not is_float:
        wrong = np.asarray(actual != expected)
    else:
        with np.errstate(all="ignore"):
            wrong = ~(np.isnan(actual) & np.isnan(expected)) & (actual != expected)
            if exact:
                are_numbers = ~np.isnan(actual) & ~np.isnan(expected)
                wrong |= are_numbers & (np.signbit(actual) != np.signbit(expected))
            elif wrong.any():
                allowed = (ULPS[element_type] if ulps is None else ulps) * sqrt(max(terms, 1))
                largest = _largest_finite(expected)
                wide, wide_expected = actual.astype(np.float64), expected.astype(np.float64)
                off = np.abs(wide - wide_expected)
                is_close = (
                    np.isfinite(wide)
                    & np.isfinite(wide_expected)
                    & (off <= allowed * _ulp(largest, element_type))
                )
                wrong &= ~is_close
                bound = f" by more than {allowed:g} ulps of {largest:g}"
    if not wrong.any():
        return None
    distance = ulp_difference(actual, expected) if is_float else None
    worst = int(
        np.argmax(wrong if distance is None else np.where(wrong, distance + np.uint64(1), np.uint64(0)))
    )
    index = tuple(int(part) for part in np.unravel_index(worst, wrong.shape))
    return Difference(
        int(wrong.sum()),
        total,
        index,
        actual[index],
        expected[index],
        None if distance is None else int(distance[index]),
        bound,
    )


def _largest_finite(value: Array) -> float:
    wide = np.abs(value.astype(np.float64))
    return float(np.max(wide, initial=0.0, where=np.isfinite(wide)))


def _ulp(magnitude: float, element_type: Attribute) -> float:
    """The distance from `magnitude`, a float of `element_type`, to the next greater one."""
    layout = LAYOUTS[element_type]
    least = 1 - layout.bias - layout.n_mantissa_bits
    _, exponent = np.frexp(magnitude)
    return float(np.ldexp(1.0, max(int(exponent) - layout.n_mantissa_bits - 1, least)))


def assert_close(
    actual: Array,
    expected: Array,
    *,
    what: str,
    element_type: Attribute,
    terms: int = 1,
    exact: bool = False,
    ulps: float | None = None,
) -> None:
    """
    Checks that two arrays agree as `differences` says.

    Raises AssertionError, beginning with `what`, with the dtypes or shapes that disagree, or the elements.
    """
    dtype = dtype_of(element_type)
    if actual.dtype != dtype or expected.dtype != dtype:
        raise AssertionError(
            f"{what}: got {actual.dtype}, expected {expected.dtype} (both should be {dtype})"
        )
    if actual.shape != expected.shape:
        raise AssertionError(f"{what}: got shape {list(actual.shape)}, expected {list(expected.shape)}")
    found = differences(actual, expected, element_type=element_type, terms=terms, exact=exact, ulps=ulps)
    if found is not None:
        raise AssertionError(f"{what}: {found}")
