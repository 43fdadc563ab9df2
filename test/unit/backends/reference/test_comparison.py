"""Comparing arrays in ulps."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tenon.backends.reference.comparison import assert_close, differences, ulp_difference
from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i32

BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = {f64: np.dtype(np.float64), f32: np.dtype(np.float32), f16: np.dtype(np.float16), bf16: BF16}
NAN_TO_NUMBER = 2**64 - 1


@pytest.mark.parametrize("dtype", FLOATS.values())
def test_ulp_difference_counts_floats_in_between(dtype: Any):
    bits = {2: np.int16, 4: np.int32, 8: np.int64}[dtype.itemsize]
    one = np.array([1.0]).astype(dtype)
    three_on = (one.view(bits) + 3).view(dtype)
    assert ulp_difference(one, three_on).tolist() == [3] == ulp_difference(three_on, one).tolist()
    assert ulp_difference(-one, -three_on).tolist() == [3]


@pytest.mark.parametrize("dtype", FLOATS.values())
def test_ulp_difference_across_zero_and_at_the_edges(dtype: Any):
    bits = {2: np.int16, 4: np.int32, 8: np.int64}[dtype.itemsize]
    least = np.array([1], bits).view(dtype)
    greatest = (np.array([np.inf]).astype(dtype).view(bits) - 1).view(dtype)
    a = np.concatenate([least, np.array([0.0, np.nan, np.nan, 1.0, np.inf]).astype(dtype)])
    b = np.concatenate([-least, np.array([-0.0, np.nan, 1.0, np.nan]).astype(dtype), greatest])
    assert ulp_difference(a, b).tolist() == [2, 0, 0, NAN_TO_NUMBER, NAN_TO_NUMBER, 1]


def test_ulp_difference_of_the_extreme_doubles_does_not_overflow():
    distance = ulp_difference(np.array([np.inf]), np.array([-np.inf]))
    assert distance.tolist() == [2 * 0x7FF0000000000000]


@settings(max_examples=100, deadline=None)
@given(st.floats(width=32, allow_nan=False), st.floats(width=32, allow_nan=False))
def test_ulp_difference_is_symmetric_and_zero_for_equals_only(a: float, b: float):
    first, second = np.array([a], np.float32), np.array([b], np.float32)
    assert ulp_difference(first, second) == ulp_difference(second, first)
    assert (ulp_difference(first, second)[0] == 0) == (a == b)


@pytest.mark.parametrize("element_type", FLOATS)
def test_nan_inf_and_zeros_agree(element_type: Any):
    values = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0]).astype(FLOATS[element_type])
    others = np.array([np.nan, np.inf, -np.inf, -0.0, 1.0]).astype(FLOATS[element_type])
    assert differences(values, others, element_type=element_type) is None
    found = differences(values, others, element_type=element_type, exact=True)
    assert found is not None
    assert (found.count, found.index, found.ulps) == (1, (3,), 0)


@pytest.mark.parametrize(
    ("actual", "expected"), [(np.inf, 3e38), (np.nan, 1.0), (1.0, np.nan), (-np.inf, np.inf)]
)
def test_special_values_agree_with_themselves_only(actual: float, expected: float):
    found = differences(
        np.array([actual], np.float32), np.array([expected], np.float32), element_type=f32, ulps=1e30
    )
    assert found is not None


def test_the_tolerance_is_in_ulps_of_the_largest_element():
    expected = np.array([1.0, 1e-6], np.float32)
    for ulps, agrees in ((7.9, False), (8.1, True)):
        actual = expected + np.array([0, 8 * 2.0**-23], np.float32)
        assert (differences(actual, expected, element_type=f32, ulps=ulps) is None) == agrees


def test_the_tolerance_grows_with_the_root_of_the_terms():
    expected, actual = np.array([1.0], np.float32), np.array([1.0 + 30 * 2.0**-23], np.float32)
    assert differences(actual, expected, element_type=f32) is not None
    assert differences(actual, expected, element_type=f32, terms=16) is None


@pytest.mark.parametrize("element_type", FLOATS)
def test_the_default_tolerance_by_type(element_type: Any):
    dtype, allowed = FLOATS[element_type], {f64: 8, f32: 8, f16: 2, bf16: 2}[element_type]
    bits = {2: np.int16, 4: np.int32, 8: np.int64}[dtype.itemsize]
    one = np.array([1.0]).astype(dtype)
    for off in (allowed, allowed + 1):
        other = (one.view(bits) + off).astype(bits).view(dtype)
        assert (differences(other, one, element_type=element_type) is None) == (off == allowed)


def test_integers_and_booleans_agree_exactly():
    assert differences(np.array([1, 2], np.int32), np.array([1, 2], np.int32), element_type=i32) is None
    found = differences(np.array([1, 3], np.int32), np.array([1, 2], np.int32), element_type=i32)
    assert str(found) == "1 of 2 elements differ; the worst at [1]: got 3, expected 2"
    assert differences(np.array([True]), np.array([False]), element_type=i1) is not None


def test_a_scalar_and_no_elements():
    assert differences(np.float32(1), np.array(1, np.float32), element_type=f32) is None
    assert differences(np.zeros((0, 2)), np.zeros((0, 2)), element_type=f64) is None
    found = differences(np.array(2.0), np.array(1.0), element_type=f64)
    assert found is not None and found.index == ()


def test_the_message_names_the_worst_element():
    expected = np.ones((2, 3), np.float32)
    actual = expected.copy()
    actual[0, 1], actual[1, 2] = 1.0 + 16 * 2.0**-23, 1.5
    with pytest.raises(AssertionError) as error:
        assert_close(actual, expected, what="softmax", element_type=f32)
    assert str(error.value) == (
        "softmax: 2 of 6 elements differ by more than 8 ulps of 1; the worst at [1, 2]: "
        "got 1.5, expected 1.0 (4194304 ulps)"
    )
    assert_close(expected, expected.copy(), what="softmax", element_type=f32, exact=True)


def test_dtypes_and_shapes_are_compared_first():
    single, double = np.ones(3, np.float32), np.ones(3)
    with pytest.raises(AssertionError, match=r"x: got float64, expected float32 \(both should be float32\)"):
        assert_close(double, single, what="x", element_type=f32)
    with pytest.raises(AssertionError, match=r"x: got shape \[3\], expected \[1, 3\]"):
        assert_close(single, single[np.newaxis], what="x", element_type=f32)
