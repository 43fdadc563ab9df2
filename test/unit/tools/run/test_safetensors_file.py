"""Files of safetensors: written and read, mapped, and refused where they are damaged."""

from __future__ import annotations

import io
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tenon.errors import TenonError
from tenon.test.file_mutations import KINDS, changed_file, file_bytes, outcome
from tenon.tools.run.safetensors_file import read_safetensors, write_safetensors

ARRAYS = {
    "a b": np.arange(6, dtype=np.float32).reshape(2, 3),
    "größe": np.array([True, False, True]),
    "scalar": np.array(2.5),
    "none": np.zeros((0, 4), np.int64),
    "half": np.array([1, 2, -0.0], ml_dtypes.bfloat16),
    "small": np.array([0.5], ml_dtypes.float8_e4m3fn),
    "bytes": np.arange(5, dtype=np.uint8),
}


def written(header: object, data: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(shape: Any, begin: Any, end: Any, dtype: Any = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def test_what_was_written_is_read_and_lies_at_multiples_of_its_elements(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    with path.open("wb") as file:
        write_safetensors(file, ARRAYS)
    found = read_safetensors(path)
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()
        assert not found[name].flags.writeable and found[name].flags.aligned
    again = io.BytesIO()
    write_safetensors(again, dict(reversed(ARRAYS.items())))
    assert again.getvalue() == path.read_bytes()


def test_a_file_of_others_may_have_metadata_and_blanks(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    header = {"__metadata__": {"format": "pt"}, "w": entry([2], 4, 12), "v": entry([1], 0, 4)}
    path.write_bytes(written(json.dumps(header).encode() + b"   ", np.arange(3, dtype="<f4").tobytes()))
    found = read_safetensors(path)
    assert {name: array.tolist() for name, array in found.items()} == {"w": [1, 2], "v": [0]}
    path.write_bytes(written({}, b""))
    assert read_safetensors(path) == {}


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"", "it does not begin with the length of a header"),
        (b"\x00" * 8, "it does not begin with the length of a header"),
        (b"\xff" * 16, "it does not begin with the length of a header"),
        (written(b"{", b""), "it does not begin with the length of a header"),
        (written(b"{]", b""), "its header is no JSON"),
        (written(b"[" * 99_999, b""), "its header is no JSON"),
        (written(b'"\xff"', b""), "its header is no JSON"),
        (written([1], b""), "its header is no table"),
        (written(b'{"w": 1, "w": 1}', b""), "a name in its header is given twice"),
        (written({"w": [1]}, b""), "'w' is not said with dtype, shape and data_offsets"),
        (written({"w": entry([-1], 0, 4)}, b"abcd"), "'w' has shape [-1] and data_offsets [0, 4]"),
        (written({"w": entry([True], 0, 4)}, b"abcd"), "'w' has shape [True]"),
        (written({"w": entry([1.0], 0, 4)}, b"abcd"), "'w' has shape [1.0]"),
        (written({"w": entry([1] * 65, 0, 4)}, b"abcd"), "'w' has shape [1, 1"),
        (written({"w": {**entry([1], 0, 4), "data_offsets": [4]}}, b"abcd"), "and data_offsets [4]"),
        (written({"w": entry([1], 0, 4, "C64")}, b"abcd"), "'w' has elements of 'C64', not of BOOL, U8"),
        (written({"w": entry([1], 0, 4, ["F32"])}, b"abcd"), "'w' has elements of ['F32'], not of"),
        (written({"w": entry([2], 0, 4)}, b"abcd"), "'w' is [2] of float32 at bytes 0 to 4 of 4"),
        (written({"w": entry([1], 4, 8)}, b"abcd"), "'w' is [1] of float32 at bytes 4 to 8 of 4"),
        (written({"w": entry([1 << 62, 1 << 62], 0, 4)}, b"abcd"), "of float32 at bytes 0 to 4 of 4"),
        (written({"w": entry([1], 0, 4), "v": entry([1], 0, 4)}, b"abcd"), "do not lie one after the other"),
        (written({"w": entry([1], 0, 4)}, b"abcdefgh"), "its arrays do not lie one after the other"),
        (written({}, b"abcd"), "its arrays do not lie one after the other"),
    ],
)
def test_damaged_files_are_errors_that_say_why(contents: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(contents)
    with pytest.raises(TenonError) as caught:
        read_safetensors(path)
    assert str(caught.value).startswith(f"cannot read {path}: ") and message in str(caught.value)


def test_files_that_are_not_there_and_elements_without_a_name_are_errors(tmp_path: Path) -> None:
    with pytest.raises(TenonError, match="no such file"):
        read_safetensors(tmp_path / "w.safetensors")
    with pytest.raises(TenonError, match=r"cannot read .*: is a directory"):
        read_safetensors(tmp_path)
    with pytest.raises(TenonError, match=r"'c' is complex64, which \.safetensors cannot hold"):
        write_safetensors(io.BytesIO(), {"c": np.zeros(2, np.complex64)})


@pytest.mark.parametrize("kind", KINDS)
def test_changed_files_are_read_or_errors(kind: str, tmp_path: Path) -> None:
    if kind == "library" and not (shutil.which("cc") or shutil.which("ld")):
        pytest.skip("needs a linker")
    assert outcome(kind, file_bytes(kind), tmp_path) == "read"
    found = Counter(outcome(kind, changed_file(kind, seed), tmp_path) for seed in range(400))
    assert found["error"] and found["read"]
