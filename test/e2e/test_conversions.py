"""
Casts between element types at every level and on every backend, on every bit pattern where there are few and
at every place where rounding decides; and that bitcasts keep every bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.dialects.element_types import ELEMENT_TYPES, NARROW_FLOATS, is_float
from tenon.dialects.float_layout import LAYOUTS
from tenon.semantics.numpy_types import dtype_of
from xdsl.dialects.builtin import IntegerType, bf16, f16, f32, f64, i1
from xdsl.ir import Attribute

Array = np.ndarray[Any, np.dtype[Any]]

WAYS: dict[str, dict[str, Any]] = {
    "graph": {"backend": "reference"},
    "sched": {"backend": "reference", "level": "sched"},
    "low": {"backend": "reference", "level": "low"},
    "llvm": {"backend": "llvm"},
    "opencl": {"backend": "opencl"},
}
EVERY_WAY = pytest.mark.parametrize("way", WAYS)

FLOATS = [type for type in ELEMENT_TYPES if is_float(type)]
INTEGERS = [type for type in ELEMENT_TYPES if isinstance(type, IntegerType) and type != i1]


def converted(way: str, source: Attribute, values: Array, targets: Sequence[Attribute]) -> list[Array]:
    return applied("cast", way, source, values, targets)


def applied(op: str, way: str, source: Attribute, values: Array, targets: Sequence[Attribute]) -> list[Array]:
    """Returns the results of one op, for each of the types it may go to."""
    given = f"tensor<{len(values)}x{source}>"
    types = ", ".join(f"tensor<{len(values)}x{target}>" for target in targets)
    names = ", ".join(f"%r{number}" for number in range(len(targets)))
    lines = [
        f"%r{number} = graph.{op} %x : {given} -> tensor<{len(values)}x{target}>"
        for number, target in enumerate(targets)
    ]
    body = "\n".join([*lines, f"func.return {names} : {types}"])
    compiled = tenon.compile(f"func.func @main(%x: {given}) -> ({types}) {{\n{body}\n}}", **WAYS[way])
    results = compiled(values)
    return list(results) if len(targets) > 1 else [results]


def every_pattern(type: Attribute) -> Array:
    """Returns every value of a type of up to 16 bits."""
    dtype = dtype_of(type)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return np.arange(1 << 8 * dtype.itemsize).astype(unsigned).view(dtype)


def assert_same(found: Array, expected: Array, values: Array, what: str) -> None:
    """The same bits, but any NaN is as good as another."""
    assert found.dtype == expected.dtype
    bits = np.dtype(f"u{found.dtype.itemsize}")
    differ = found.view(bits) != expected.view(bits)
    if found.dtype.kind in "fV":
        with np.errstate(invalid="ignore"):
            differ &= ~(np.isnan(found) & np.isnan(expected))
    where = np.flatnonzero(differ)
    assert not len(where), (
        f"{what}: {len(where)} differ, {values[where[0]]!r} gives {found[where[0]]}, not {expected[where[0]]}"
    )


def decoded(bits: int, type: Attribute) -> Fraction | None:
    """Returns the number that a magnitude of a float type stands for, None for an infinity or a NaN."""
    layout = LAYOUTS[type]
    exponent, mantissa = bits >> layout.n_mantissa_bits, bits & layout.mantissa
    if bits >= layout.least_special:
        return None
    if exponent:
        mantissa |= 1 << layout.n_mantissa_bits
    return mantissa * Fraction(2) ** (max(exponent, 1) - layout.bias - layout.n_mantissa_bits)


@cache
def rounding_cases(source: Attribute, target: Attribute) -> tuple[Array, Array]:
    """
    Returns floats of `source` and what they are in `target`: each number of `target`, the middle between it
    and the next greater one (for the greatest: where the next would be), and what is just below and above.
    """
    layout, dtype = LAYOUTS[target], dtype_of(target)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    wide = dtype_of(source)
    values: list[float] = []
    expected: list[int] = []

    def towards(value: float, limit: float) -> float:
        with np.errstate(over="ignore"):
            return float(np.nextafter(wide.type(value), wide.type(limit)))

    for bits in range(layout.least_special):
        number = decoded(bits, target)
        assert number is not None
        after, before = decoded(bits + 1, target), decoded(bits - 1, target) if bits else None
        if after is None:
            # past the greatest one, numbers go on as if they had no limit
            assert before is not None
            after = 2 * number - before
        middle = (number + after) / 2
        if float(wide.type(float(middle))) != middle:
            continue
        even = bits if bits % 2 == 0 else bits + 1
        values.append(float(number))
        expected.append(bits)
        for value, result in (
            (towards(float(middle), 0), bits),
            (float(middle), even),
            (towards(float(middle), np.inf), bits + 1),
        ):
            values.append(value)
            expected.append(result)
    found = np.array(values, wide)
    results = np.array(expected, unsigned)
    sign = unsigned.type(layout.sign)
    return np.concatenate([found, -found]), np.concatenate([results, results | sign]).view(dtype)


@EVERY_WAY
@pytest.mark.parametrize("source", NARROW_FLOATS, ids=str)
def test_every_narrow_float_widens_exactly_and_narrows_as_ml_dtypes_does(source: Attribute, way: str) -> None:
    values = every_pattern(source)
    for target, found in zip(FLOATS, converted(way, source, values, FLOATS), strict=True):
        with np.errstate(all="ignore"):
            expected = values.astype(np.float32).astype(dtype_of(target))
        assert_same(found, expected, values, f"{source} to {target}")


@EVERY_WAY
@pytest.mark.parametrize("target", NARROW_FLOATS, ids=str)
@pytest.mark.parametrize("source", [f32, f64], ids=str)
def test_floats_are_rounded_once_to_nearest_even(source: Attribute, target: Attribute, way: str) -> None:
    values, expected = rounding_cases(source, target)
    assert len(values) > 4 * (LAYOUTS[target].least_special - 200)
    (found,) = converted(way, source, values, [target])
    assert_same(found, expected, values, f"{source} to {target}")


@EVERY_WAY
@pytest.mark.parametrize("target", NARROW_FLOATS, ids=str)
def test_f32_of_every_high_half_is_rounded_as_ml_dtypes_does(target: Attribute, way: str) -> None:
    high = np.arange(1 << 16, dtype=np.uint32) << 16
    values = np.concatenate([high | low for low in (0, 1, 0x8000, 0x8001, 0xFFFF)]).view(np.float32)
    with np.errstate(all="ignore"):
        expected = values.astype(dtype_of(target))
    (found,) = converted(way, f32, values, [target])
    assert_same(found, expected, values, f"f32 to {target}")


def integers_near_ties(source: Attribute, precision: int) -> Array:
    """Returns integers of a type around where rounding to so many bits has ties, and its limits."""
    dtype = dtype_of(source)
    limits = np.iinfo(dtype)
    found: set[int] = set()
    for width in range(1, limits.bits + 1):
        top = 1 << width - 1
        for step in (0, 1, 2, 3):
            middle = top + (top >> precision) + step * (top >> precision - 1)
            found.update(middle + delta for delta in (-1, 0, 1))
    found |= {-value for value in found} | {limits.min, limits.min + 1, limits.max, limits.max - 1}
    return np.array(sorted(value for value in found if limits.min <= value <= limits.max), dtype)


def nearest(value: int, target: Attribute) -> float:
    """Returns an integer rounded to nearest even in a float type, infinite or NaN if it is too large."""
    layout = LAYOUTS[target]
    magnitude, precision = abs(value), layout.n_mantissa_bits + 1
    shift = max(magnitude.bit_length() - precision, 0)
    quotient, rest = magnitude >> shift, magnitude & (1 << shift) - 1
    half = 1 << shift - 1 if shift else 1
    quotient += rest > half or (rest == half and quotient & 1)
    rounded = quotient << shift
    if rounded > greatest(target):
        rounded = np.inf if layout.has_infinity else np.nan
    return float(-rounded if value < 0 else rounded)


@cache
def greatest(target: Attribute) -> int:
    """Returns the greatest finite number of a float type, which is a whole one."""
    number = decoded(LAYOUTS[target].least_special - 1, target)
    assert number is not None and number.denominator == 1
    return int(number)


@cache
def integers_near_ties_of_floats(source: Attribute) -> Array:
    """Returns integers around where rounding to any float type has ties."""
    parts = [integers_near_ties(source, LAYOUTS[target].n_mantissa_bits + 1) for target in FLOATS]
    return np.unique(np.concatenate(parts))


@cache
def nearest_floats(source: Attribute, target: Attribute) -> Array:
    values = integers_near_ties_of_floats(source)
    return np.array([nearest(int(value), target) for value in values]).astype(dtype_of(target))


@EVERY_WAY
@pytest.mark.parametrize("source", INTEGERS, ids=str)
def test_integers_are_rounded_once_to_every_float_type(source: Attribute, way: str) -> None:
    values = integers_near_ties_of_floats(source)
    for target, found in zip(FLOATS, converted(way, source, values, FLOATS), strict=True):
        assert_same(found, nearest_floats(source, target), values, f"{source} to {target}")


def saturated(value: float, least: int, greatest: int) -> int:
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return greatest if value > 0 else least
    return min(max(int(value), least), greatest)


@EVERY_WAY
@pytest.mark.parametrize("source", FLOATS, ids=str)
def test_floats_become_integers_towards_zero_and_saturate(source: Attribute, way: str) -> None:
    values = edge_floats(source)
    for target, found in zip(INTEGERS, converted(way, source, values, INTEGERS), strict=True):
        assert_same(found, saturated_edges(source, target), values, f"{source} to {target}")


def edge_floats(source: Attribute) -> Array:
    """Returns every value of a type of up to 16 bits, else values around the limits of integer types."""
    dtype = dtype_of(source)
    if dtype.itemsize <= 2:
        return every_pattern(source)
    with np.errstate(over="ignore"):
        edges = [0.0, 0.5, 0.999999, 1.0, 1.5, 127.5, 3e9, 1e30, np.inf, np.nan]
        edges += [2.0**power for power in (7, 8, 15, 16, 31, 32, 52, 53, 62, 63, 64)]
        near = [dtype.type(edge) for edge in edges]
        near += [np.nextafter(edge, dtype.type(to)) for edge in near for to in (0, np.inf)]
        return np.array([*near, *(-value for value in near)], dtype)


@cache
def saturated_edges(source: Attribute, target: Attribute) -> Array:
    limits = np.iinfo(dtype_of(target))
    least, greatest = int(limits.min), int(limits.max)
    with np.errstate(invalid="ignore"):  # NaNs that signal
        values = edge_floats(source).astype(np.float64).tolist()
    return np.array([saturated(value, least, greatest) for value in values], dtype_of(target))


@EVERY_WAY
@pytest.mark.parametrize("source", INTEGERS, ids=str)
def test_integers_become_others_by_their_low_bits(source: Attribute, way: str) -> None:
    values = integers_near_ties(source, 8)
    for target, found in zip(INTEGERS, converted(way, source, values, INTEGERS), strict=True):
        width = dtype_of(target).itemsize * 8
        low = [int(value) % (1 << width) for value in values]
        if dtype_of(target).kind == "i":
            low = [value - (1 << width) if value >> width - 1 else value for value in low]
        assert_same(found, np.array(low, dtype_of(target)), values, f"{source} to {target}")


@EVERY_WAY
@pytest.mark.parametrize("source", [type for type in ELEMENT_TYPES if type != i1], ids=str)
def test_bitcasts_keep_every_bit_of_every_nan(source: Attribute, way: str) -> None:
    dtype = dtype_of(source)
    bits = np.dtype(f"u{dtype.itemsize}")
    if dtype.itemsize <= 2:
        values = every_pattern(source)
    else:
        random = np.random.default_rng(0).integers(0, np.iinfo(bits).max, 1000, bits, endpoint=True)
        layout = LAYOUTS[f32 if dtype.itemsize == 4 else f64]
        nans = [layout.exponents + 1, layout.exponents + layout.mantissa, layout.sign + layout.exponents + 1]
        values = np.concatenate([random, np.array(nans, bits)]).view(dtype)
    targets = [type for type in ELEMENT_TYPES if type.bitwidth == source.bitwidth]  # pyright: ignore
    for target, found in zip(targets, applied("bitcast", way, source, values, targets), strict=True):
        assert found.dtype == dtype_of(target)
        np.testing.assert_array_equal(found.view(bits), values.view(bits), f"{source} to {target}")


def test_cases_have_ties_at_both_ends_of_a_type() -> None:
    values, expected = rounding_cases(f64, f16)
    assert {2.0**-25, 65520.0, -65520.0} <= set(values.tolist())
    assert np.isinf(expected[values == 65520.0]).all() and not np.isinf(expected[values == 65519.0]).any()
    values, expected = rounding_cases(f32, bf16)
    assert values.max() > 3.39e38
