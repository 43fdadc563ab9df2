"""Promotion: the Array API's table, numpy's answers outside of it, and Python scalars."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
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


@pytest.mark.parametrize(("first", "second"), [(BF16, np.int32), (E5M2, np.int8), (E4M3FN, np.uint8)])
def test_dtypes_that_nothing_holds_are_an_error(first: Any, second: Any):
    with pytest.raises(
        TypeError, match=r"promotion: no dtype holds the values of .* and of .*cast one of them"
    ):
        promote_dtypes(np.dtype(first), np.dtype(second))
    assert not can_cast(np.dtype(first), np.dtype(second))


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
