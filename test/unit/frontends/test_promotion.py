"""Promotion: the Array API's table, numpy's answers outside of it, and Python scalars."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.frontends.arrays.promotion import can_cast, promote_dtypes, promoted, result_type

SIGNED = [np.dtype(f"i{size}") for size in (1, 2, 4, 8)]
UNSIGNED = [np.dtype(f"u{size}") for size in (1, 2, 4, 8)]
FLOATS = [np.dtype(f"f{size}") for size in (2, 4, 8)]
BOOL = np.dtype(bool)
BF16, E5M2, E4M3FN, E4M3 = (
    np.dtype(kind)
    for kind in (ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3)
)


@pytest.mark.parametrize(("first", "second"), list(product([BOOL, *SIGNED, *UNSIGNED, *FLOATS], repeat=2)))
def test_numpys_dtypes_promote_as_in_numpy(first: Any, second: Any):
    assert promote_dtypes(first, second) == np.promote_types(first, second)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (BF16, np.float32, np.float32),
        (BF16, np.float16, np.float32),
        (BF16, bool, BF16),
        (E5M2, np.float16, np.float16),
        (E5M2, BF16, BF16),
        (E4M3FN, np.float64, np.float64),
        (E4M3FN, E5M2, np.float32),
        (E4M3, E4M3, E4M3),
    ],
)
def test_narrow_floats_promote_to_what_holds_both(first: Any, second: Any, expected: Any):
    for pair in ((first, second), (second, first)):
        assert promote_dtypes(*map(np.dtype, pair)) == np.dtype(expected)


@pytest.mark.parametrize("second", [*SIGNED, *UNSIGNED])
def test_bfloat16_holds_integers_of_8_bits_and_wider_floats_the_others(second: Any):
    expected = {1: BF16, 2: np.float32}.get(second.itemsize, np.float64)
    for pair in ((BF16, second), (second, BF16)):
        assert promote_dtypes(*pair) == np.dtype(expected)
    assert can_cast(second, BF16) == (second.itemsize == 1)
    assert not can_cast(BF16, second)
    values = np.array([np.iinfo(second).min, np.iinfo(second).max], second)
    total = tnp.asarray(values) + tnp.ones(2, dtype=BF16)
    assert total.dtype == np.dtype(expected)


@pytest.mark.parametrize(("first", "second"), [(E5M2, np.int8), (E4M3FN, np.uint8), (E4M3, np.int64)])
def test_floats_of_8_bits_have_no_dtype_in_common_with_integers(first: Any, second: Any):
    first, second = np.dtype(first), np.dtype(second)
    for pair in ((first, second), (second, first)):
        with pytest.raises(
            TypeError, match=f"promotion: {first} and {second} have no dtype in common .*cast one of them"
        ):
            promote_dtypes(*pair)
        assert not can_cast(*pair)


@pytest.mark.parametrize("dtype", [BOOL, *SIGNED, *UNSIGNED, *FLOATS])
@pytest.mark.parametrize("scalar", [True, 3, 2.5])
def test_python_scalars_are_weak_as_in_numpy(dtype: Any, scalar: Any):
    array = np.zeros(2, dtype)
    assert result_type(array, scalar) == np.result_type(array, scalar)
    assert (tnp.asarray(array) + scalar).dtype == (array + scalar).dtype if dtype != BOOL else True


def test_several_scalars_and_arrays():
    assert promoted((), (np.dtype(bool), np.dtype(int))) == np.int64
    assert result_type(1, 2.0) == np.float64
    assert result_type(np.int8, 1, 2.0) == np.float64
    assert result_type(np.float32, "f8", np.zeros(1, np.int8)) == np.float64
    assert result_type(BF16, 2.5) == BF16


X = np.arange(4, dtype=np.float32)

OF_SCALARS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a choice": (lambda x: tnp.where(x > 1, 1.0, 0.0) * x, "float32"),
    "a part of one": (lambda x: tnp.flip(tnp.where(x > 1, 1, 0)[1:].T) * x[1:], "float32"),
    "elements of one": (lambda x: tnp.where(x > 1, 1, 0)[np.array([0, 2, 3, 1])] * x, "float32"),
    "an element of one": (
        lambda x: tenon.fori_loop(0, 2, lambda i, c: c + tnp.where(x > 1, 1, 0)[i], x),
        "float32",
    ),
    "a quotient": (lambda x: tnp.divide(1, 3) * x, "float32"),
    "a function of floats": (lambda x: tnp.sqrt(tnp.where(x > 1, 2, 0)) * x, "float32"),
    "an array": (lambda x: tnp.asarray([1.0, 2.0, 3.0, 4.0]) * x, "float64"),
    "a sum": (lambda x: tnp.sum(tnp.where(x > 1, 1.0, 0.0)) * x, "float64"),
    "a float where x has integers": (lambda x: tnp.where(x > 1, 1.0, 0.0) * x.astype(np.int8), "float64"),
}


@pytest.mark.parametrize("name", OF_SCALARS)
def test_what_is_computed_of_python_scalars_alone_is_weak_in_a_trace_and_out_of_it(name: str):
    function, dtype = OF_SCALARS[name]
    for given in (tnp.asarray(X), tnp.asarray(X)):  # The second calls are those that find their programs.
        for way in (function, tenon.jit(function)):
            found = way(given)
            assert found.dtype == dtype
            np.testing.assert_array_equal(np.asarray(found), np.asarray(function(given)))


def test_weak_arrays_and_others_of_their_dtype_have_programs_of_their_own():
    x, choice = tnp.asarray(X), tenon.jit(lambda x: tnp.where(x > 1, 1.0, 0.0))
    weak = choice(x)
    strong = tnp.asarray(np.asarray(weak))
    product = tenon.jit(lambda a, b: a * b)
    captured = [weak]
    outside = tenon.jit(lambda x: x * captured[0])
    for _ in range(2):
        for array, dtype in ((weak, np.float32), (strong, np.float64)):
            captured[0] = array
            again = (copy.deepcopy(array), pickle.loads(pickle.dumps(array)), tnp.asarray(array, copy=True))
            for each in (array, *again):
                assert (x * each).dtype == (each * x).dtype == product(x, each).dtype == dtype
            assert outside(x).dtype == dtype


def test_a_weak_array_wraps_where_a_python_integer_is_out_of_bounds():
    small = tnp.asarray(np.uint8([1, 2]))
    computed = tnp.where(small > 0, 255, 0) + 1
    for way in (lambda x, y: x + y, tenon.jit(lambda x, y: x + y)):
        np.testing.assert_array_equal(np.asarray(way(small, computed)), np.uint8([1, 2]))
        np.testing.assert_array_equal(np.asarray(way(small, computed[0])), np.uint8([1, 2]))
        with pytest.raises(OverflowError, match="Python integer 256 out of bounds for uint8"):
            way(small, 256)


def test_what_has_no_dtype_is_an_error():
    with pytest.raises(ValueError, match="result_type: no arguments"):
        result_type()
    with pytest.raises(TypeError, match="result_type: cannot take complex 1j"):
        result_type(1j)


def test_can_cast_says_whether_every_value_is_kept():
    assert can_cast(np.dtype(np.int32), np.float64)
    assert not can_cast(np.dtype(np.int64), np.int32)
    assert not can_cast(np.zeros(2, np.uint64), np.int64)
    assert can_cast(tnp.asarray(np.zeros(2, bool)), np.int8)
