"""Tensors of ONNX as numpy arrays: every type, and sizes that are checked."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from tenon.errors import TenonError
from tenon.frontends.onnx.external_data import ExternalData
from tenon.frontends.onnx.tensors import DTYPES, TensorReader, number_of_dtype, type_name

READER = TensorReader(ExternalData(None))


@pytest.mark.parametrize("number", DTYPES, ids=type_name)
@pytest.mark.parametrize("raw", [True, False], ids=["raw", "field"])
def test_elements_of_every_type_are_read(number: int, raw: bool):
    values = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    dtype = DTYPES[number]
    if dtype.name not in ("bool", "int2"):
        values *= 2
        values += 1
    written = values.astype(np.float32 if dtype.kind not in "iub" else np.int64).astype(dtype)
    if raw:
        tensor = onnx.numpy_helper.from_array(written, "t")
        assert tensor.HasField("raw_data")
    else:
        tensor = onnx.helper.make_tensor("t", number, (3, 3), values.reshape(-1).tolist())
    found = READER.read(tensor, "t")
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.astype(np.float32), written.astype(np.float32))
    assert number_of_dtype(dtype) == number


def test_integers_of_few_bits_have_signs():
    values = np.array([-8, 7, -1, 0, 3], np.int8).astype(ml_dtypes.int4)
    found = READER.read(onnx.numpy_helper.from_array(values, "t"), "t")
    np.testing.assert_array_equal(found.astype(np.int8), [-8, 7, -1, 0, 3])


def test_any_byte_but_zero_is_true():
    tensor = onnx.TensorProto(dims=[3], data_type=onnx.TensorProto.BOOL, raw_data=b"\x00\x02\xff")
    np.testing.assert_array_equal(READER.read(tensor, "t"), [False, True, True])


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        ({"dims": [-1], "data_type": 1}, r"t: the shape \(-1,\) has a negative extent"),
        ({"dims": [2], "data_type": 8}, "t: there are no arrays of STRING"),
        ({"dims": [2], "data_type": 14}, "t: there are no arrays of COMPLEX64"),
        ({"dims": [2], "data_type": 99}, "t: there are no arrays of data type 99"),
        (
            {"dims": [2], "data_type": 1, "raw_data": b"1234"},
            "t: 4 bytes for float32 of shape .*, expected 8",
        ),
        ({"dims": [1 << 60], "data_type": 1, "raw_data": b""}, "t: 0 bytes for float32"),
        ({"dims": [1 << 60], "data_type": 1}, "t: 0 elements in float_data"),
        ({"dims": [3], "data_type": 22, "raw_data": b"1"}, "t: 1 bytes for int4 of shape .*, expected 2"),
        ({"dims": [2], "data_type": 7, "int64_data": [1]}, "t: 1 elements in int64_data"),
    ],
)
def test_sizes_are_checked(tensor: dict[str, object], message: str):
    with pytest.raises(TenonError, match=message):
        READER.read(onnx.TensorProto(**tensor), "t")  # type: ignore[arg-type]


class _Counted:
    """A tensor that counts how often its bytes are asked for, each time of which protobuf copies them."""

    def __init__(self, tensor: Any) -> None:
        self._tensor, self.n_copies = tensor, 0

    def __getattr__(self, name: str) -> Any:
        self.n_copies += name == "raw_data"
        return getattr(self._tensor, name)


def test_bytes_are_asked_for_once() -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = _Counted(onnx.numpy_helper.from_array(values))
    np.testing.assert_array_equal(READER.read(tensor, "w"), values)
    assert tensor.n_copies == 1
