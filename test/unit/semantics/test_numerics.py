"""The element semantics that all interpreters share."""

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tenon.dialects.element_types import ui8
from tenon.dialects.sched import CombineKind
from tenon.semantics import numerics
from tenon.semantics.numpy_types import dtype_of
from xdsl.dialects.builtin import bf16, f8E4M3, f8E4M3FN, f8E5M2, f16, f32, f64, i1, i8, i16, i32, i64

Array = npt.NDArray[Any]
BF16 = np.dtype(ml_dtypes.bfloat16)
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
SIGNED = INTEGERS[:4]
FLOATS = [np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16), BF16]
ELEMENT = {op.name.removeprefix("graph."): function for op, function in numerics.ELEMENTWISE.items()}
F8 = [dtype_of(type) for type in (f8E5M2, f8E4M3FN, f8E4M3)]


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def array(values: Any, dtype: Any) -> Array:
    return np.array(values).astype(dtype)


def bits(value: Array) -> bytes:
    return np.asarray(value).tobytes()


def assert_same(found: Array, expected: Any, dtype: Any) -> None:
    """The same bits, but any NaN is like any other."""
    expected = array(expected, dtype)
    assert found.dtype == np.dtype(dtype)
    assert found.shape == expected.shape
    if np.dtype(dtype).kind in "iub":
        np.testing.assert_array_equal(found, expected)
        return
    are_nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), are_nan)
    assert bits(found[~are_nan]) == bits(expected[~are_nan]), f"{found} is not {expected}"


# integers


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap(dtype: Any):
    limits = np.iinfo(dtype)
    greatest, least, one = array([limits.max], dtype), array([limits.min], dtype), array([1], dtype)
    assert_same(numerics.add(greatest, one), [limits.min], dtype)
    assert_same(numerics.subtract(least, one), [limits.max], dtype)
    assert_same(
        numerics.multiply(greatest, array([2], dtype)),
        [-2 % 2**limits.bits if limits.min == 0 else -2],
        dtype,
    )


@pytest.mark.parametrize("dtype", SIGNED)
def test_the_least_integer_has_no_opposite(dtype: Any):
    least = array([np.iinfo(dtype).min], dtype)
    assert_same(ELEMENT["neg"](least), least, dtype)
    assert_same(ELEMENT["abs"](least), least, dtype)
    assert_same(numerics.divide(least, array([-1], dtype)), least, dtype)
    assert_same(ELEMENT["mod"](least, array([-1], dtype)), [0], dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_division_by_zero_gives_zero(dtype: Any):
    values, zero = array([0, 1, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype), array([0] * 4, dtype)
    assert_same(numerics.divide(values, zero), [0] * 4, dtype)
    assert_same(ELEMENT["mod"](values, zero), [0] * 4, dtype)


@pytest.mark.parametrize("dtype", SIGNED)
def test_integer_division_rounds_down(dtype: Any):
    lhs, rhs = array([7, -7, 7, -7, 6], dtype), array([2, 2, -2, -2, -3], dtype)
    assert_same(numerics.divide(lhs, rhs), [3, -4, -4, 3, -2], dtype)
    assert_same(ELEMENT["mod"](lhs, rhs), [1, 1, -1, -1, 0], dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_powers_wrap(dtype: Any):
    for base in (0, 1, 2, 3, 5, 100):
        for exponent in (0, 1, 2, 3, 7, 31, 64, 100):
            found = ELEMENT["pow"](array([base], dtype), array([exponent], dtype))
            width = np.iinfo(dtype).bits
            expected = pow(base, exponent, 2**width)
            if np.iinfo(dtype).min < 0 and expected >= 2 ** (width - 1):
                expected -= 2**width
            assert int(found[0]) == expected, (base, exponent)


@pytest.mark.parametrize("dtype", SIGNED)
def test_a_negative_exponent_gives_zero_except_for_one_and_minus_one(dtype: Any):
    base = array([0, 1, -1, -1, 2, -2, 3], dtype)
    exponent = array([-1, -5, -3, -4, -1, -1, np.iinfo(dtype).min], dtype)
    assert_same(ELEMENT["pow"](base, exponent), [0, 1, -1, 1, 0, 0, 0], dtype)


@pytest.mark.parametrize("dtype", SIGNED)
def test_shifts_by_too_much_leave_zero_or_the_sign(dtype: Any):
    width = np.iinfo(dtype).bits
    amount = array([0, 1, width - 1, width, 127, -1], dtype)
    assert_same(ELEMENT["shl"](array([1] * 6, dtype), amount), [1, 2, np.iinfo(dtype).min, 0, 0, 0], dtype)
    assert_same(ELEMENT["shr"](array([-8] * 6, dtype), amount), [-8, -4, -1, -1, -1, -1], dtype)
    assert_same(ELEMENT["shr"](array([8] * 6, dtype), amount), [8, 4, 8 >> (width - 1), 0, 0, 0], dtype)


def test_shifts_of_unsigned_integers_fill_with_zeros():
    amount = array([0, 1, 7, 8, 255], np.uint8)
    assert_same(ELEMENT["shl"](array([129] * 5, np.uint8), amount), [129, 2, 128, 0, 0], np.uint8)
    assert_same(ELEMENT["shr"](array([129] * 5, np.uint8), amount), [129, 64, 1, 0, 0], np.uint8)


# floats


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_wins_and_zeros_are_ordered_by_sign(dtype: Any):
    lhs = array([0.0, -0.0, -0.0, 0.0, np.nan, 1.0, np.inf, -np.inf], dtype)
    rhs = array([-0.0, 0.0, -0.0, 0.0, 1.0, np.nan, np.nan, 1.0], dtype)
    nan = np.nan
    assert_same(numerics.maximum(lhs, rhs), [0.0, 0.0, -0.0, 0.0, nan, nan, nan, 1.0], dtype)
    assert_same(numerics.minimum(lhs, rhs), [-0.0, -0.0, -0.0, 0.0, nan, nan, nan, -np.inf], dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_number_wins_over_nan_where_asked(dtype: Any):
    lhs, rhs = array([np.nan, 1.0, np.nan, 2.0], dtype), array([1.0, np.nan, np.nan, 3.0], dtype)
    assert_same(numerics.maximum_number(lhs, rhs), [1.0, 1.0, np.nan, 3.0], dtype)
    assert_same(numerics.minimum_number(lhs, rhs), [1.0, 1.0, np.nan, 2.0], dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_relu_keeps_nan_and_turns_minus_zero_into_zero(dtype: Any):
    values = array([-1.0, -0.0, 0.0, 2.0, np.nan, -np.inf, np.inf], dtype)
    assert_same(ELEMENT["relu"](values), [0.0, 0.0, 0.0, 2.0, np.nan, 0.0, np.inf], dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_relu_of_integers_is_at_least_zero(dtype: Any):
    values = array([np.iinfo(dtype).min, 0, 5], dtype)
    assert_same(ELEMENT["relu"](values), [0, 0, 5], dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_remainder_has_the_sign_of_the_divisor(dtype: Any):
    lhs, rhs = (
        array([5.5, -5.5, 5.5, -5.5, 1.0, 4.0], dtype),
        array([2.0, 2.0, -2.0, -2.0, 0.0, np.inf], dtype),
    )
    assert_same(ELEMENT["mod"](lhs, rhs), [1.5, 0.5, -0.5, -1.5, np.nan, 4.0], dtype)
    assert_same(ELEMENT["rem"](lhs, rhs), [1.5, -1.5, 1.5, -1.5, np.nan, 4.0], dtype)


def test_an_overflow_is_infinite_where_there_are_infinities_and_else_nan():
    greatest = {"float8_e5m2": 57344.0, "float8_e4m3fn": 448.0, "float8_e4m3": 240.0}
    for dtype in F8:
        largest = array(greatest[dtype.name], dtype)
        assert float(numerics.add(largest, array(1.0, dtype))) == greatest[dtype.name]
        doubled = float(numerics.multiply(largest, array(2.0, dtype)))
        assert np.isnan(doubled) if dtype.name == "float8_e4m3fn" else doubled == np.inf
        assert float(numerics.divide(array(1.0, dtype), largest)) > 0


def test_casts_round_once_where_f32_between_would_round_twice():
    below, tie = 2**24 * 257, 1 + 2.0**-4
    assert float(numerics.cast(np.int64(below - 1), BF16)) == 2**32
    assert float(numerics.cast(np.int64(below), BF16)) == 2**32, "ties go to even"
    assert float(numerics.cast(np.int64(below + 1), BF16)) == 2**32 + 2**25
    assert float(numerics.cast(np.uint64(2**63 + 2**55 + 1), BF16)) == 2.0**63 + 2.0**56
    assert float(numerics.cast(np.int64(-(2**62) - 2**54 - 1), BF16)) == -(2.0**62) - 2.0**55
    for dtype in F8[1:]:
        assert [float(numerics.cast(np.float64(x), dtype)) for x in (tie, np.nextafter(tie, 2))] == [1, 1.125]


def test_narrow_floats_round_once_after_computing_in_f32():
    # 1 / 3 in f32 is 0x3eaaaaab; an f16 holds 0x3555 of it, a bf16 0x3eab
    assert bits(ELEMENT["recip"](array(3.0, np.float16))) == np.uint16(0x3555).tobytes()
    assert bits(ELEMENT["recip"](array(3.0, BF16))) == np.uint16(0x3EAB).tobytes()
    half_way = array(1.0, BF16), array(2.0**-8, BF16)
    assert float(numerics.add(*half_way)) == 1.0, "ties go to even"
    assert float(numerics.add(array(1.0 + 2.0**-7, BF16), half_way[1])) == 1.0 + 2.0**-6
    # the sum overflows f16 only when it is rounded
    assert np.isinf(numerics.add(array(65504.0, np.float16), array(16.0, np.float16)))
    assert float(numerics.add(array(65504.0, np.float16), array(15.0, np.float16))) == 65504.0


def ulps_from_exact(found: Array, exact: Array) -> float:
    return float(
        np.max(np.abs(found.astype(np.float64) - exact) / np.spacing(np.abs(exact).astype(np.float32)))
    )


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "erf", "sin", "cos"])
def test_functions_of_f32_are_within_half_an_ulp(name: str):
    values = np.random.default_rng(0).uniform(0.01, 20, 2000).astype(np.float32)
    scalar = getattr(math, name)
    exact = np.array([scalar(float(value)) for value in values])
    found = ELEMENT[name](values)
    assert found.dtype == np.float32
    assert ulps_from_exact(found, exact) < 0.5001


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_at_the_edges(dtype: Any):
    edges = array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)
    assert_same(ELEMENT["exp"](edges), [1.0, 1.0, np.inf, 0.0, np.nan], dtype)
    assert_same(ELEMENT["log"](edges), [-np.inf, -np.inf, np.inf, np.nan, np.nan], dtype)
    assert_same(ELEMENT["tanh"](edges), [0.0, -0.0, 1.0, -1.0, np.nan], dtype)
    assert_same(ELEMENT["erf"](edges), [0.0, -0.0, 1.0, -1.0, np.nan], dtype)
    assert_same(ELEMENT["sin"](edges), [0.0, -0.0, np.nan, np.nan, np.nan], dtype)
    assert_same(ELEMENT["cos"](edges), [1.0, 1.0, np.nan, np.nan, np.nan], dtype)
    assert_same(ELEMENT["sqrt"](edges), [0.0, -0.0, np.inf, np.nan, np.nan], dtype)
    assert_same(ELEMENT["rsqrt"](edges), [np.inf, -np.inf, 0.0, np.nan, np.nan], dtype)
    assert_same(ELEMENT["recip"](edges), [np.inf, -np.inf, 0.0, -0.0, np.nan], dtype)


FUNCTIONS_AT_THE_EDGES: dict[str, list[float]] = {
    "expm1": [0.0, -0.0, np.inf, -1.0, np.nan],
    "exp2": [1.0, 1.0, np.inf, 0.0, np.nan],
    "log1p": [0.0, -0.0, np.inf, np.nan, np.nan],
    "log2": [-np.inf, -np.inf, np.inf, np.nan, np.nan],
    "log10": [-np.inf, -np.inf, np.inf, np.nan, np.nan],
    "tan": [0.0, -0.0, np.nan, np.nan, np.nan],
    "asin": [0.0, -0.0, np.nan, np.nan, np.nan],
    "acos": [np.pi / 2, np.pi / 2, np.nan, np.nan, np.nan],
    "atan": [0.0, -0.0, np.pi / 2, -np.pi / 2, np.nan],
    "sinh": [0.0, -0.0, np.inf, -np.inf, np.nan],
    "cosh": [1.0, 1.0, np.inf, np.inf, np.nan],
    "asinh": [0.0, -0.0, np.inf, -np.inf, np.nan],
    "acosh": [np.nan, np.nan, np.inf, np.nan, np.nan],
    "atanh": [0.0, -0.0, np.nan, np.nan, np.nan],
    "sign": [0.0, 0.0, 1.0, -1.0, np.nan],
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FUNCTIONS_AT_THE_EDGES)
def test_more_functions_at_the_edges(name: str, dtype: Any):
    edges = array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)
    assert_same(ELEMENT[name](edges), FUNCTIONS_AT_THE_EDGES[name], dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_atan2_knows_the_quadrants_of_zeros_and_infinities(dtype: Any):
    y = array([0.0, -0.0, 0.0, -0.0, np.inf, -np.inf, 1.0, np.nan], dtype)
    x = array([0.0, 0.0, -0.0, -0.0, -np.inf, np.inf, -np.inf, 0.0], dtype)
    expected = [0.0, -0.0, np.pi, -np.pi, 3 * np.pi / 4, -np.pi / 4, np.pi, np.nan]
    assert_same(ELEMENT["atan2"](y, x), expected, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_hypot_of_an_infinity_is_one_even_beside_nan(dtype: Any):
    lhs, rhs = array([np.inf, np.nan, np.nan, 3.0], dtype), array([np.nan, -np.inf, 1.0, -4.0], dtype)
    assert_same(ELEMENT["hypot"](lhs, rhs), [np.inf, np.inf, np.nan, 5.0], dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_logaddexp_of_infinities(dtype: Any):
    lhs, rhs = array([np.inf, -np.inf, -np.inf, 0.0], dtype), array([-np.inf, -np.inf, 2.0, np.nan], dtype)
    assert_same(ELEMENT["logaddexp"](lhs, rhs), [np.inf, -np.inf, 2.0, np.nan], dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_next_value_is_of_the_element_type(dtype: Any):
    one, zero = array([1.0], dtype), array([0.0], dtype)
    least = ELEMENT["nextafter"](zero, one)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    assert least.view(unsigned) == 1
    assert ELEMENT["nextafter"](one, array([2.0], dtype)).view(unsigned) == one.view(unsigned) + 1
    assert_same(ELEMENT["nextafter"](zero, array([-0.0], dtype)), [-0.0], dtype)
    assert_same(ELEMENT["nextafter"](-least, one), [-0.0], dtype)
    assert_same(ELEMENT["nextafter"](array([np.nan], dtype), one), [np.nan], dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_divisions_of_floats_told_apart(dtype: Any):
    lhs = array([7.0, -7.0, 7.0, -7.0, 0.0, 1.0, np.inf, 1.0], dtype)
    rhs = array([2.0, 2.0, -2.0, -2.0, -1.0, 0.0, 1.0, -np.inf], dtype)
    assert_same(ELEMENT["floordiv"](lhs, rhs), [3.0, -4.0, -4.0, 3.0, -0.0, np.inf, np.nan, -1.0], dtype)
    assert_same(ELEMENT["rem"](lhs, rhs), [1.0, -1.0, 1.0, -1.0, 0.0, np.nan, np.nan, 1.0], dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_division_of_integers_towards_zero(dtype: Any):
    limits = np.iinfo(dtype)
    lhs, rhs = array([7, 7, limits.max, 0], dtype), array([2, 0, 1, 3], dtype)
    assert_same(ELEMENT["truncdiv"](lhs, rhs), [3, 0, limits.max, 0], dtype)
    assert_same(ELEMENT["rem"](lhs, rhs), [1, 0, 0, 0], dtype)
    if limits.min:
        lhs, rhs = array([-7, 7, -7, limits.min, -1], dtype), array([2, -2, -2, -1, 0], dtype)
        assert_same(ELEMENT["truncdiv"](lhs, rhs), [-3, -3, 3, limits.min, 0], dtype)
        assert_same(ELEMENT["rem"](lhs, rhs), [-1, 1, -1, 0, 0], dtype)
        assert_same(ELEMENT["sign"](lhs), [-1, 1, -1, -1, -1], dtype)


def test_erf_of_a_scalar_and_of_no_elements():
    assert_same(ELEMENT["erf"](array(0.5, np.float32)), math.erf(0.5), np.float32)
    assert_same(ELEMENT["erf"](np.zeros((0, 3))), np.zeros((0, 3)), np.float64)


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_powers_are_those_of_ieee(dtype: Any):
    base = array([2.0, -2.0, 0.0, np.nan, 1.0, -1.0, -8.0], dtype)
    exponent = array([10.0, 3.0, -1.0, 0.0, np.nan, np.inf, 0.5], dtype)
    assert_same(ELEMENT["pow"](base, exponent), [1024.0, -8.0, np.inf, 1.0, 1.0, 1.0, np.nan], dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_rounding_to_integers(dtype: Any):
    values = array([-1.5, -0.5, 0.5, 1.5, 2.5, np.inf, np.nan], dtype)
    assert_same(ELEMENT["floor"](values), [-2.0, -1.0, 0.0, 1.0, 2.0, np.inf, np.nan], dtype)
    assert_same(ELEMENT["ceil"](values), [-1.0, -0.0, 1.0, 2.0, 3.0, np.inf, np.nan], dtype)
    assert_same(ELEMENT["trunc"](values), [-1.0, -0.0, 0.0, 1.0, 2.0, np.inf, np.nan], dtype)
    assert_same(ELEMENT["round"](values), [-2.0, -0.0, 0.0, 2.0, 2.0, np.inf, np.nan], dtype)


# casts


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_casting_floats_to_integers_truncates_and_saturates(source: Any, dtype: Any):
    limits = np.iinfo(dtype)
    values = array([1.75, -1.75, np.nan, np.inf, -np.inf, 1e30, -1e30, -0.0], source)
    negative = -1 if limits.min < 0 else 0
    wide = limits.max if np.isinf(values[5]) or float(values[5]) > 1e20 else 0
    assert_same(
        numerics.cast(values, np.dtype(dtype)),
        np.array([1, negative, 0, limits.max, limits.min, wide, limits.min, 0], dtype),
        dtype,
    )


def test_casting_to_i64_saturates_at_its_very_edge():
    below = np.nextafter(2.0**63, 0)
    values = np.array([below, 2.0**63, -(2.0**63), np.nextafter(-(2.0**63), -np.inf)])
    limits = np.iinfo(np.int64)
    expected = [2**63 - 1024, limits.max, limits.min, limits.min]
    assert_same(numerics.cast(values, np.dtype(np.int64)), np.array(expected, np.int64), np.int64)


def test_casting_integers_keeps_the_low_bits():
    values = array([300, -1, 2**31, -(2**40) + 7], np.int64)
    assert_same(numerics.cast(values, np.dtype(np.int8)), [44, -1, 0, 7], np.int8)
    assert_same(numerics.cast(values, np.dtype(np.uint8)), [44, 255, 0, 7], np.uint8)
    assert_same(numerics.cast(values, np.dtype(np.int32)), [300, -1, -(2**31), 7], np.int32)
    assert_same(numerics.cast(array([255], np.uint8), np.dtype(np.int8)), [-1], np.int8)
    assert_same(numerics.cast(array([255], np.uint8), np.dtype(np.int32)), [255], np.int32)


@pytest.mark.parametrize("dtype", [*FLOATS, *map(np.dtype, INTEGERS)])
def test_casting_to_i1_asks_whether_it_is_zero(dtype: Any):
    assert_same(numerics.cast(array([0, 2, 4], dtype), np.dtype(np.bool_)), [False, True, True], np.bool_)
    assert_same(numerics.cast(array([False, True], np.bool_), dtype), [0, 1], dtype)


def test_casting_nan_to_i1_gives_true():
    assert_same(numerics.cast(array([np.nan, -0.0], np.float32), np.dtype(np.bool_)), [True, False], np.bool_)


def nearest(value: float, dtype: Any) -> float:
    """The float of a 16-bit dtype nearest to `value`, ties to even, by looking at all of them."""
    table = np.arange(2**16, dtype=np.uint16).view(dtype)
    table = table[np.isfinite(table)]
    exact = np.array([float(entry) for entry in table])
    order = np.argsort(np.abs(exact - value), kind="stable")[:4]
    best = min(
        order,
        key=lambda i: (
            abs(Fraction(exact[i]) - Fraction(value)),
            int(table[i : i + 1].view(np.uint16)[0]) & 1,
        ),
    )
    return float(exact[best])


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16])
@pytest.mark.parametrize(
    "value",
    [
        1 + 2.0**-11,
        1 + 2.0**-11 + 2.0**-40,
        1 + 2.0**-8,
        1 + 2.0**-8 + 2.0**-40,
        1 + 2.0**-8 - 2.0**-40,
        1 + 3 * 2.0**-8 - 2.0**-45,
        -1 - 2.0**-8 - 2.0**-50,
        2.0**-25,
        2.0**-25 + 2.0**-60,
        1.5 * 2.0**-134,
        2.0**-160,
    ],
)
def test_casting_f64_to_narrow_floats_rounds_once(dtype: Any, value: float):
    assert float(numerics.cast(array([value], np.float64), dtype)[0]) == nearest(value, dtype)


@settings(max_examples=30, deadline=None)
@given(st.floats(-60000, 60000), st.sampled_from([np.dtype(np.float16), BF16]))
def test_casting_f64_to_narrow_floats_is_to_nearest(value: float, dtype: Any):
    assert float(numerics.cast(array([value], np.float64), dtype)[0]) == nearest(value, dtype)


def test_casting_f32_to_bf16_overflows_to_inf_and_keeps_nan():
    values = array([3.4e38, -3.4e38, np.nan, 3.3895e38], np.float32)
    assert_same(numerics.cast(values, BF16), [np.inf, -np.inf, np.nan, 3.3895e38], BF16)


# fma


def exact_fma(a: float, b: float, c: float) -> float:
    if not all(map(math.isfinite, (a, b, c))) or a == 0 or b == 0:
        return a * b + c if not math.isinf(c) or not (math.isfinite(a) and math.isfinite(b)) else c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return (
            -0.0
            if c == 0 and math.copysign(1, a) * math.copysign(1, b) < 0 and math.copysign(1, c) < 0
            else 0.0
        )
    try:
        magnitude = float(abs(exact))
    except OverflowError:
        magnitude = math.inf
    return magnitude if exact > 0 else -magnitude


doubles = st.floats(width=64)
singles = st.floats(width=32)


@settings(max_examples=400, deadline=None)
@given(doubles, doubles, doubles)
@example(1.0 + 2.0**-52, 1.0 + 2.0**-52, -1.0)
@example(1.0 + 2.0**-30, 1.0 - 2.0**-30, -1.0)
@example(2.0**-600, 2.0**-600, 2.0**-1074)
@example(2.0**-600, -(2.0**-600), 0.0)
@example(2.0**1000, 2.0**1000, -math.inf)
@example(2.0**1000, 2.0**100, -(2.0**1023))
@example(2.0**600, 2.0**600, 1.0)
@example(-(2.0**600), 2.0**600, 1.0)
@example(1.5, 2.0**-1074, 2.0**-1074)
@example(0.1, 10.0, -1.0)
@example(3.0, 2.0, -6.0)
@example(0.0, 1.0, -0.0)
@example(2.0**53 + 2, 2.0**53 + 2, 1.0)
def test_fma_of_f64_rounds_once(a: float, b: float, c: float):
    found = numerics.fma(*(np.array([operand]) for operand in (a, b, c)))
    assert_same(found, [exact_fma(a, b, c)], np.float64)


@settings(max_examples=300, deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(-1e12, 1e12))
def test_fma_of_ordinary_f64_rounds_once(a: float, b: float, c: float):
    for addend in (c, -a * b, -a * b * (1 + 2.0**-52)):
        found = numerics.fma(*(np.array([operand]) for operand in (a, b, addend)))
        assert_same(found, [exact_fma(a, b, addend)], np.float64)


def nearest_f32(exact: Fraction) -> float:
    """The f32 nearest to an exact value in range, ties to even."""
    guess = np.float32(float(exact))
    around = [np.nextafter(guess, np.float32(-np.inf)), guess, np.nextafter(guess, np.float32(np.inf))]
    finite = [value for value in around if np.isfinite(value)]
    return float(min(finite, key=lambda v: (abs(Fraction(float(v)) - exact), int(v.view(np.int32)) & 1)))


@settings(max_examples=400, deadline=None)
@given(singles, singles, singles)
@example(1.0 + 2.0**-12, 1.0 + 2.0**-12, 2.0**-60)
@example(1.0 + 2.0**-23, 2.0**-24, 1.0)
@example(2.0**-75, 2.0**-75, 2.0**-149)
@example(2.0**-75, -(2.0**-75), 2.0**-149)
@example(4097.0, 4097.0, 2.0**-100)
def test_fma_of_f32_rounds_once(a: float, b: float, c: float):
    found = numerics.fma(*(np.array([operand], np.float32) for operand in (a, b, c)))
    if not all(map(math.isfinite, (a, b, c))):
        assert_same(found, np.array([a * b + c]), np.float32)
        return
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if abs(exact) >= Fraction(2) ** 128:
        assert np.isinf(found[0]) and (found[0] > 0) == (exact > 0)
    elif abs(exact) < Fraction(float(np.finfo(np.float32).max)):
        assert float(found[0]) == nearest_f32(exact)


def test_fma_of_narrow_floats_is_that_of_f32_rounded_once():
    a, b, c = (array([value], np.float16) for value in (1.0 + 2.0**-10, 1.0 + 2.0**-10, 2.0**-11))
    exact = np.float32((1 + 2.0**-10) ** 2 + 2.0**-11)
    assert_same(numerics.fma(a, b, c), [exact], np.float16)


def test_fma_takes_operands_of_several_shapes():
    for dtype in (np.float32, np.float64):
        a, b, c = array(2.0, dtype), array([1.0, 3.0], dtype), array([[0.5], [1.5]], dtype)
        assert_same(numerics.fma(a, b, c), [[2.5, 6.5], [3.5, 7.5]], dtype)
        assert_same(numerics.fma(a, a, a), 6.0, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fma_of_many_numbers_is_that_of_each(dtype: Any):
    """As many as are computed at once and some more, with numbers of all exponents among ordinary ones."""
    random = np.random.default_rng(0)
    n = 2**14 + 37
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    wild = random.integers(0, np.iinfo(bits).max, (3, n), bits, endpoint=True).view(dtype)
    operands = np.where(random.random(n) < 0.5, random.standard_normal((3, n)).astype(dtype), wild)
    with np.errstate(all="ignore"):
        found = numerics.fma(*operands)
        for part in (slice(0, 40), slice(n - 80, n)):
            each = [numerics.fma(*operands[:, i : i + 1])[0] for i in range(n)[part]]
            assert_same(found[part], np.array(each, dtype), dtype)


# reductions of `sched`


@pytest.mark.parametrize("kind", list(CombineKind))
@pytest.mark.parametrize("type", [f64, f32, f16, bf16, i64, i32, i16, i8, ui8, i1])
def test_the_identity_changes_nothing(kind: CombineKind, type: Any):
    is_float = type in (f64, f32, f16, bf16)
    if is_float != kind.value.endswith("f"):
        return
    start = numerics.identity(kind, type)
    if type == i1:
        values = np.array([False, True])
    elif is_float:
        values = array([-np.inf, -1.5, 0.0, 2.0, np.inf], start.dtype)
    else:
        values = array([np.iinfo(start.dtype).min, 0, 1, np.iinfo(start.dtype).max], start.dtype)
    assert_same(np.asarray(numerics.COMBINE[kind](np.full(values.shape, start), values)), values, start.dtype)


def test_booleans_combine_modulo_two():
    lhs, rhs = np.array([False, False, True, True]), np.array([False, True, False, True])
    assert_same(numerics.COMBINE[CombineKind.ADDI](lhs, rhs), [False, True, True, False], np.bool_)
    assert_same(numerics.COMBINE[CombineKind.MAXSI](lhs, rhs), [False, False, False, True], np.bool_)
    assert_same(numerics.COMBINE[CombineKind.MAXUI](lhs, rhs), [False, True, True, True], np.bool_)
