"""Element types as dtypes, and constants as arrays."""

import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tenon.dialects.element_types import ELEMENT_TYPES, NARROW_FLOATS, ui8, ui64
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import TenonError
from tenon.semantics.numpy_types import (
    array_of,
    dtype_of,
    element_type_of_dtype,
    is_floating,
    is_masked,
    is_narrow,
    storage_dtype,
)
from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    TensorType,
    VectorType,
    bf16,
    f8E5M2,
    f16,
    f32,
    i1,
    i8,
    i16,
)

BF16 = np.dtype(ml_dtypes.bfloat16)


def test_dtypes_of_element_types():
    assert [dtype_of(type).name for type in ELEMENT_TYPES] == [
        "float64", "float32", "float16", "bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3",
        "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool",
    ]  # fmt: skip
    assert dtype_of(IndexType()) == np.int64
    assert dtype_of(TensorType(bf16, [2, -1])) == dtype_of(VectorType(bf16, [4])) == BF16


@pytest.mark.parametrize("type", ELEMENT_TYPES)
def test_element_types_and_dtypes_are_one_to_one(type: Any):
    assert element_type_of_dtype(dtype_of(type)) == type


def test_unsigned_integers_and_booleans_are_stored_as_signed_ones():
    assert storage_dtype(i1) == storage_dtype(ui8) == storage_dtype(i8) == np.int8
    assert storage_dtype(ui64) == np.int64
    assert storage_dtype(f8E5M2) == dtype_of(f8E5M2)
    assert storage_dtype(MemRefType(f16, [4])) == np.float16
    assert storage_dtype(IndexType()) == np.int64


def test_a_type_without_a_dtype_is_an_error():
    with pytest.raises(TenonError, match=r"^no numpy dtype for i7"):
        dtype_of(IntegerType(7))


def test_a_dtype_without_a_type_is_an_error():
    with pytest.raises(TenonError, match=r"^no element type for dtype complex64"):
        element_type_of_dtype(np.dtype(np.complex64))


def test_kinds_of_floats():
    assert [type for type in ELEMENT_TYPES if is_floating(dtype_of(type))] == list(ELEMENT_TYPES[:7])
    assert [type for type in ELEMENT_TYPES if is_narrow(dtype_of(type))] == list(NARROW_FLOATS)


@pytest.mark.parametrize(
    ("attribute", "expected", "dtype"),
    [
        (IntegerAttr(5, i8), 5, np.int8),
        (IntegerAttr(-1, i1), True, np.bool_),
        (IntegerAttr(0, i1), False, np.bool_),
        (IntegerAttr(200, ui8), 200, np.uint8),
        (IntegerAttr(-300, i16), -300, np.int16),
        (IntegerAttr(2**62, IndexType()), 2**62, np.int64),
        (FloatAttr(0.1, f32), np.float32(0.1), np.float32),
        (FloatAttr(1.0, bf16), 1.0, BF16),
    ],
)
def test_scalar_constants(attribute: Any, expected: Any, dtype: Any):
    found = array_of(attribute)
    assert found.shape == () and found.dtype == dtype and found == expected


@pytest.mark.parametrize(
    ("text", "expected", "dtype"),
    [
        ("dense<[1, -2, 3]> : tensor<3xi32>", [1, -2, 3], np.int32),
        ("dense<true> : tensor<2x2xi1>", [[True, True], [True, True]], np.bool_),
        ("dense<[true, false]> : tensor<2xi1>", [True, False], np.bool_),
        ("dense<[0, 255]> : tensor<2xui8>", [0, 255], np.uint8),
        ("dense<0xFF80> : tensor<bf16>", -np.inf, BF16),
        ("dense<[[0.5], [-0.0]]> : tensor<2x1xf16>", [[0.5], [-0.0]], np.float16),
        ("dense<> : tensor<0x3xf32>", np.zeros((0, 3)), np.float32),
        ("dense<16777216.0> : tensor<2xf32>", [16777216.0, 16777216.0], np.float32),
    ],
)
def test_dense_constants(text: str, expected: Any, dtype: Any):
    (op,) = parse_module(f"%c = graph.constant {text}").body.block.ops
    found = array_of(op.properties["value"])
    wanted = np.array(expected).astype(dtype)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    assert found.tobytes() == wanted.tobytes()


def test_what_is_no_constant_is_an_error():
    with pytest.raises(TenonError, match=r'^reference: "x" is no constant'):
        array_of(StringAttr("x"))


def test_masked_arrays_are_told_from_others():
    assert is_masked(np.ma.masked_array([1.0]))
    assert not any(map(is_masked, (np.zeros(1), 1.0, None)))


def test_nothing_is_masked_where_nobody_imported_masked_arrays(monkeypatch: pytest.MonkeyPatch):
    masked = np.ma.masked_array([1.0])
    monkeypatch.delitem(sys.modules, "numpy.ma")
    assert not is_masked(masked)
