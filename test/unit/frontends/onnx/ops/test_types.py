"""Casts to integers of few bits: which bits are kept, and what becomes of floats that are out of range."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from tenon.test.unit.frontends.onnx.single_node import run

FEW_BITS = {
    onnx.TensorProto.INT4: ml_dtypes.int4,
    onnx.TensorProto.UINT4: ml_dtypes.uint4,
    onnx.TensorProto.INT2: ml_dtypes.int2,
    onnx.TensorProto.UINT2: ml_dtypes.uint2,
}


@pytest.mark.parametrize("number", FEW_BITS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_out_of_range_are_zero(number: int, dtype: type):
    info = ml_dtypes.iinfo(FEW_BITS[number])
    low, high = info.min, info.max
    floats = np.array([low - 1, low - 0.5, low, low + 0.5, high, high + 0.5, high + 1, np.nan, np.inf], dtype)
    found = run("Cast", [floats], opset=25, to=number)
    assert found.dtype == FEW_BITS[number]
    np.testing.assert_array_equal(found.astype(int), [0, low, low, int(low + 0.5), high, high, 0, 0, 0])


@pytest.mark.parametrize("number", FEW_BITS)
def test_integers_keep_their_lowest_bits(number: int):
    info = ml_dtypes.iinfo(FEW_BITS[number])
    whole = np.arange(-40, 40, dtype=np.int16)
    found = run("Cast", [whole], opset=25, to=number)
    np.testing.assert_array_equal(found.astype(int), (whole - info.min) % (1 << info.bits) + info.min)
