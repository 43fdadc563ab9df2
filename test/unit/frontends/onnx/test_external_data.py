"""Tensors in files beside a model are mapped, and no file outside of its folder is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tenon
from tenon.errors import TenonError
from tenon.test.unit.frontends.onnx.models import model_of, normal, with_external_data

TEXT = "agraph (float[2, 3] x) => (float[2, 3] y) <float[3] w = {1, 2, 3}> { y = Mul(x, w) }"


def test_a_tensor_in_a_file_is_read(tmp_path: Path):
    path = with_external_data(model_of(TEXT), tmp_path, "weights.bin", offset="0", length="12")
    x = normal(2, 3)
    np.testing.assert_array_equal(
        tenon.from_onnx(path, backend="reference")(x), x * np.array([1, 2, 3], np.float32)
    )


@pytest.mark.parametrize(
    ("location", "entries", "message"),
    [
        ("../weights.bin", {}, "leads out of the model's folder"),
        ("sub/../../weights.bin", {}, "leads out of the model's folder"),
        ("..\\weights.bin", {}, "leads out of the model's folder"),
        ("/etc/passwd", {}, "leads out of the model's folder"),
        ("C:\\weights.bin", {}, "leads out of the model's folder"),
        ("", {}, "leads out of the model's folder"),
        ("nothing.bin", {}, "there is no file 'nothing.bin' beside the model"),
        ("weights.bin", {"offset": "4"}, "12 bytes from 4 on in 'weights.bin', which has 12 bytes"),
        ("weights.bin", {"length": "8"}, "8 bytes in 'weights.bin', expected 12"),
        ("weights.bin", {"offset": "-4"}, "offset of its data is '-4', expected a number of bytes"),
        ("weights.bin", {"length": "1" * 30}, "length of its data is '1{30}', expected a number"),
    ],
)
def test_what_is_no_part_of_a_file_beside_it_is_refused(
    tmp_path: Path, location: str, entries: dict[str, str], message: str
):
    (tmp_path / "inner").mkdir()
    path = with_external_data(model_of(TEXT), tmp_path / "inner", location, **entries)
    (tmp_path / "weights.bin").write_bytes(bytes(12))
    with pytest.raises(TenonError, match=f"initializer 'w': .*{message}"):
        tenon.from_onnx(path, backend="reference")(normal(2, 3))


@pytest.mark.parametrize("location", ["link.bin", "folder/weights.bin"])
def test_links_are_not_followed(tmp_path: Path, location: str):
    model, outside = tmp_path / "model", tmp_path / "outside"
    model.mkdir()
    outside.mkdir()
    (outside / "weights.bin").write_bytes(bytes(12))
    (model / "link.bin").symlink_to(outside / "weights.bin")
    (model / "folder").symlink_to(outside)
    path = with_external_data(model_of(TEXT), model, location)
    with pytest.raises(TenonError, match="has a link in it, which is not followed"):
        tenon.from_onnx(path, backend="reference")(normal(2, 3))


def test_a_model_of_no_file_has_no_files_beside_it(tmp_path: Path):
    path = with_external_data(model_of(TEXT), tmp_path, "weights.bin")
    with pytest.raises(
        TenonError, match=r"initializer 'w': .*the model was not read from one \(hint: from_onnx"
    ):
        tenon.from_onnx(path.read_bytes(), backend="reference")(normal(2, 3))
