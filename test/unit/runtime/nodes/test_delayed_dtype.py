from itertools import permutations, product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tenon.dialects.element_types import ELEMENT_TYPES, ui8
from tenon.errors import TenonError
from tenon.runtime.nodes.delayed_dtype import (
    DefaultDtype,
    InferredDtype,
    SpecifiedDtype,
    normalize_dtype,
    promote_dtype,
    promote_dtypes,
)
from tenon.semantics.numpy_types import dtype_of
from xdsl.dialects.builtin import bf16, f8E4M3FN, f32, i1

DTYPES = [dtype_of(type) for type in ELEMENT_TYPES]
BF16 = np.dtype(ml_dtypes.bfloat16)

PROMOTIONS = [
    ("float32", "float64", "float64"),
    ("float16", "float32", "float32"),
    ("float16", "bfloat16", "float32"),
    ("bfloat16", "float64", "float64"),
    ("int64", "float16", "float16"),
    ("uint8", "bfloat16", "bfloat16"),
    ("bool", "bfloat16", "bfloat16"),
    ("bool", "int8", "int8"),
    ("bool", "bool", "bool"),
    ("int8", "uint8", "int16"),
    ("uint32", "int8", "int64"),
    ("uint32", "uint64", "uint64"),
    ("uint64", "float8_e5m2", "float8_e5m2"),
    ("float8_e4m3", "float8_e5m2", "float32"),
    ("float8_e4m3fn", "float16", "float32"),
    ("float8_e4m3fn", "float64", "float64"),
    ("int32", "uint8", "int32"),
    ("int16", "int64", "int64"),
]


@pytest.mark.parametrize(("first", "second", "expected"), PROMOTIONS)
def test_the_promotion_of_two_is_the_one_in_the_table(first: str, second: str, expected: str):
    assert promote_dtype(normalize_dtype(first), normalize_dtype(second)) == normalize_dtype(expected)


def test_promotion_does_not_depend_on_order_or_grouping():
    for first, second, third in product(DTYPES, repeat=3):
        assert promote_dtype(first, first) == first
        try:
            expected = promote_dtypes((first, second, third))
        except TenonError:
            for order in permutations((first, second, third)):
                with pytest.raises(TenonError):
                    promote_dtypes(order)
            continue
        assert {promote_dtypes(order) for order in permutations((first, second, third))} == {expected}
        if not is_undefined(second, third):
            assert promote_dtype(first, promote_dtype(second, third)) == expected


def is_undefined(first: np.dtype[Any], second: np.dtype[Any]) -> bool:
    return {first.kind, second.kind} == {"i", "u"} and np.dtype(np.uint64) in (first, second)


def test_no_integer_dtype_holds_a_uint64_and_a_signed_integer():
    with pytest.raises(
        TenonError, match=r"^no integer dtype holds both uint64 and int8 \(hint: give a dtype\)"
    ):
        promote_dtype(np.dtype(np.uint64), np.dtype(np.int8))


def test_promotion_stays_among_the_element_types():
    pairs = [pair for pair in product(DTYPES, repeat=2) if not is_undefined(*pair)]
    assert {promote_dtype(*pair) for pair in pairs} <= set(DTYPES)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("float32", "float32"), (np.int8, "int8"), (np.dtype(">f8"), "float64"), (BF16, BF16)],
)
def test_a_dtype_is_named_as_numpy_does(dtype: Any, expected: Any):
    assert normalize_dtype(dtype) == np.dtype(expected)


def test_a_dtype_of_8_bits_is_named_as_ml_dtypes_does():
    assert normalize_dtype("float8_e4m3fn") == dtype_of(f8E4M3FN)


def test_a_dtype_is_named_by_its_element_type():
    assert [normalize_dtype(type) for type in (f32, bf16, i1, ui8)] == [
        np.dtype(np.float32),
        BF16,
        np.dtype(np.bool_),
        np.dtype(np.uint8),
    ]


def test_a_dtype_that_no_element_type_has_is_an_error():
    with pytest.raises(TenonError, match="no element type for dtype complex128"):
        normalize_dtype(np.complex128)


@pytest.mark.parametrize(
    ("name", "named"), [("f32", "float32"), ("bf16", "bfloat16"), ("ui8", "uint8"), ("f16", "float16")]
)
def test_the_name_of_an_element_type_is_told_from_a_dtype_s(name: str, named: str):
    message = rf"^dtype '{name}' is the name of an element type \(hint: '{named}'\)$"
    with pytest.raises(TenonError, match=message):
        normalize_dtype(name)
    assert normalize_dtype(named) == np.dtype(named)


def test_a_name_that_numpy_does_not_know_is_an_error():
    with pytest.raises(TenonError, match=r"^dtype: data type 'float33' not understood$"):
        normalize_dtype("float33")


def test_a_delayed_dtype_says_how_it_is_decided():
    float32, int8 = np.dtype(np.float32), np.dtype(np.int8)
    inferred = InferredDtype((lambda: int8, lambda: float32))
    assert [str(each) for each in (DefaultDtype(float32), inferred, SpecifiedDtype(int8, "asked for"))] == [
        "default float32",
        "inferred dtype",
        "specified int8",
    ]
    assert inferred.resolve() == float32
