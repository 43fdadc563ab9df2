"""
Files of safetensors: a length of 8 bytes, that many bytes of JSON, and then the elements of all arrays.

    {"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}

Read and written here: the package safetensors is a library of Rust for what these lines do, and numpy's part
of it has no bfloat16. The format is that of https://github.com/huggingface/safetensors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO, Any, NoReturn, cast

import numpy as np
import numpy.typing as npt

from ...errors import TenonError
from ...semantics.numpy_types import BF16, F8_DTYPES
from ..tool_run import reason_of

Array = npt.NDArray[Any]

SUFFIX = ".safetensors"

_DTYPES: Mapping[str, np.dtype[Any]] = {
    "BOOL": np.dtype(np.bool_),
    "U8": np.dtype("u1"),
    "I8": np.dtype("i1"),
    "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "BF16": BF16,
    "F8_E5M2": F8_DTYPES[0],
    "F8_E4M3": F8_DTYPES[1],
}
"""What elements are, by their names in the header."""

_METADATA = "__metadata__"
_MOST_HEADER_NBYTES = 100_000_000
_LENGTH_NBYTES = 8
_MOST_RANK = 64


def read_safetensors(path: Path) -> dict[str, Array]:
    """
    Returns the arrays of a file by their names, mapped into memory: they cannot be written to.

    Raises:
        TenonError: the file is not there, cannot be read, or is damaged; an array has elements of a dtype
            that Tenon has not.
    """
    try:
        with path.open("rb") as file:
            nbytes = file.seek(0, 2)
            contents: bytes | mmap = b"" if nbytes == 0 else mmap(file.fileno(), 0, access=ACCESS_READ)
    except FileNotFoundError as error:
        raise TenonError(f"no such file: {path}") from error
    except OSError as error:
        raise TenonError(f"cannot read {path}: {reason_of(error)}") from error
    return _Reader(path, contents).arrays()


class _Reader:
    def __init__(self, path: Path, contents: bytes | mmap) -> None:
        self._path, self._contents = path, contents

    def _fail(self, why: str) -> NoReturn:
        raise TenonError(f"cannot read {self._path}: {why}")

    def arrays(self) -> dict[str, Array]:
        length = int.from_bytes(self._contents[:_LENGTH_NBYTES], "little")
        begin = _LENGTH_NBYTES + length
        if not 2 <= length <= _MOST_HEADER_NBYTES or begin > len(self._contents):
            self._fail("it does not begin with the length of a header")
        header = self._header(bytes(self._contents[_LENGTH_NBYTES:begin]))
        data = memoryview(self._contents)[begin:]
        places: list[tuple[int, int]] = []
        found: dict[str, Array] = {}
        for name, entry in header.items():
            if name == _METADATA:
                continue
            dtype, shape, (first, end) = self._entry(name, entry)
            if not 0 <= first <= end <= len(data) or end - first != math.prod(shape) * dtype.itemsize:
                self._fail(f"'{name}' is {shape} of {dtype} at bytes {first} to {end} of {len(data)}")
            places.append((first, end))
            found[name] = np.frombuffer(data[first:end], dtype).reshape(shape)
        # Bytes that two arrays share, or that are none's, are how files carry what nobody looks at.
        places.sort()
        if [0, *(end for _, end in places)] != [*(first for first, _ in places), len(data)]:
            self._fail("its arrays do not lie one after the other")
        return found

    def _header(self, text: bytes) -> dict[str, Any]:
        def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            names = [name for name, _ in pairs]
            if len(set(names)) != len(names):
                self._fail("a name in its header is given twice")
            return dict(pairs)

        try:
            header: Any = json.loads(text.decode("utf-8"), object_pairs_hook=unique)
        except (ValueError, RecursionError):
            self._fail("its header is no JSON")
        if not isinstance(header, dict):
            self._fail("its header is no table")
        return cast("dict[str, Any]", header)

    def _entry(self, name: str, entry: Any) -> tuple[np.dtype[Any], list[int], list[int]]:
        if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:  # pyright: ignore[reportUnknownMemberType]
            self._fail(f"'{name}' is not said with dtype, shape and data_offsets")
        fields = cast("dict[str, Any]", entry)
        shape, offsets = fields["shape"], fields["data_offsets"]
        if (
            not _are_numbers(shape)
            or not _are_numbers(offsets)
            or len(offsets) != 2
            or len(shape) > _MOST_RANK
        ):
            self._fail(f"'{name}' has shape {shape!r:.80} and data_offsets {offsets!r:.80}")
        dtype = _DTYPES.get(fields["dtype"]) if isinstance(fields["dtype"], str) else None
        if dtype is None:
            self._fail(f"'{name}' has elements of {fields['dtype']!r:.80}, not of {', '.join(_DTYPES)}")
        return dtype, shape, offsets


def _are_numbers(found: Any) -> bool:
    return isinstance(found, list) and all(
        type(each) is int and 0 <= each < 1 << 63 for each in cast("list[object]", found)
    )


def write_safetensors(file: IO[bytes], arrays: Mapping[str, Array]) -> None:
    """
    Writes a file of arrays: the largest elements first, so that all lie at multiples of their size.

    Raises:
        TenonError: an array has elements that the format has no name for.
    """
    names = {dtype: name for name, dtype in _DTYPES.items()}
    header: dict[str, Any] = {}
    end = 0
    order = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    for name in order:
        array = arrays[name]
        if array.dtype not in names:
            raise TenonError(f"weights: '{name}' is {array.dtype}, which {SUFFIX} cannot hold (hint: .npz)")
        first, end = end, end + array.nbytes
        header[name] = {"dtype": names[array.dtype], "shape": list(array.shape), "data_offsets": [first, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _LENGTH_NBYTES)
    file.write(len(text).to_bytes(_LENGTH_NBYTES, "little") + text)
    for name in order:
        file.write(np.ascontiguousarray(arrays[name]).tobytes())
