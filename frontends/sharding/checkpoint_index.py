"""What a checkpoint holds, as the file that says so: read as data that may be wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, cast

import numpy as np

from ...errors import TenonError
from ...semantics.numpy_types import DTYPES_BY_NAME
from .boxes import Box

INDEX = "index.json"
_FORMAT = "tenon checkpoint 1"
_LARGEST_INDEX = 1 << 28
_FOLDER = re.compile(r"data-[0-9a-f]{16}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LARGEST_EXTENT = 1 << 62


@dataclass(frozen=True)
class Part:
    """A box of an array, in a file of its own: where it begins, its extents, and the digest of its bytes."""

    starts: tuple[int, ...]
    shape: tuple[int, ...]
    digest: str

    @property
    def box(self) -> Box:
        return tuple(
            slice(start, start + extent) for start, extent in zip(self.starts, self.shape, strict=True)
        )


@dataclass(frozen=True)
class SavedArray:
    """An array of a checkpoint: how its tree reaches it, its type, and the parts that it is made of."""

    path: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class CheckpointIndex:
    """The arrays of a checkpoint, and the folder with the files of their parts."""

    folder: str
    arrays: tuple[SavedArray, ...]

    def file(self, root: Path, array: int, part: int) -> Path:
        """Returns where the bytes of a part lie, row-major."""
        return root / self.folder / f"{array}-{part}.bin"

    def text(self) -> str:
        arrays = [
            {
                "path": array.path,
                "dtype": array.dtype.name,
                "shape": array.shape,
                "parts": [
                    {"starts": part.starts, "shape": part.shape, "sha256": part.digest}
                    for part in array.parts
                ],
            }
            for array in self.arrays
        ]
        return json.dumps({"format": _FORMAT, "folder": self.folder, "arrays": arrays}, indent=1) + "\n"


def read_index(root: Path) -> CheckpointIndex:
    """
    Returns what a checkpoint holds.

    Raises:
        TenonError: there is none, or its index is not one.
        OSError: it cannot be read.
    """
    path = root / INDEX
    if not path.is_file():
        raise TenonError(f"checkpoint: {root} has no {INDEX}")
    if path.stat().st_size > _LARGEST_INDEX:
        raise TenonError(f"checkpoint: {path} has {path.stat().st_size} bytes, expected less")
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise _wrong(path, f"it is no JSON ({' '.join(str(error).split())})") from None
    if not isinstance(found, dict) or cast("dict[str, Any]", found).get("format") != _FORMAT:
        raise _wrong(path, f"its format is not {_FORMAT!r}")
    fields = cast("dict[str, Any]", found)
    folder, arrays = fields.get("folder"), fields.get("arrays")
    if not isinstance(folder, str) or not _FOLDER.fullmatch(folder):
        raise _wrong(path, f"its folder is {folder!r}")
    if not isinstance(arrays, list):
        raise _wrong(path, "it has no list of arrays")
    return CheckpointIndex(folder, tuple(_array(path, each) for each in cast("list[Any]", arrays)))


def _array(path: Path, found: Any) -> SavedArray:
    fields = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    name, dtype, parts = fields.get("path"), fields.get("dtype"), fields.get("parts")
    if not isinstance(name, str):
        raise _wrong(path, "an array has no path")
    if not isinstance(dtype, str) or dtype not in DTYPES_BY_NAME:
        raise _wrong(path, f"{name} is of dtype {dtype!r}")
    shape = _extents(path, name, fields.get("shape"))
    if not isinstance(parts, list) or not parts:
        raise _wrong(path, f"{name} has no parts")
    made = tuple(_part(path, name, shape, part) for part in cast("list[Any]", parts))
    if sum(prod(part.shape) for part in made) != prod(shape) or _overlap(made):
        raise _wrong(path, f"the parts of {name} are not the whole of {list(shape)}")
    return SavedArray(name, DTYPES_BY_NAME[dtype], shape, made)


def _part(path: Path, name: str, whole: tuple[int, ...], found: Any) -> Part:
    fields = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    starts, shape = _extents(path, name, fields.get("starts")), _extents(path, name, fields.get("shape"))
    digest = fields.get("sha256")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise _wrong(path, f"a part of {name} has no digest")
    if not len(starts) == len(shape) == len(whole) or any(
        start + extent > end for start, extent, end in zip(starts, shape, whole, strict=True)
    ):
        raise _wrong(path, f"a part of {name} lies outside of {list(whole)}")
    return Part(starts, shape, digest)


def _overlap(parts: Sequence[Part]) -> bool:
    """Returns whether two parts have an element in common: parts of a grid differ in where they begin."""
    filled = [part for part in parts if prod(part.shape)]
    if len({part.starts for part in filled}) < len(filled):
        return True
    ordered = sorted(filled, key=lambda part: part.starts)
    return any(
        all(
            a < b + m and b < a + n
            for a, n, b, m in zip(one.starts, one.shape, other.starts, other.shape, strict=True)
        )
        for number, one in enumerate(ordered)
        for other in ordered[number + 1 :]
        if not one.starts or other.starts[0] < one.starts[0] + one.shape[0]
    )


def _extents(path: Path, name: str, found: Any) -> tuple[int, ...]:
    values: list[Any] = cast("list[Any]", found) if isinstance(found, list) else [None]
    if any(type(value) is not int or not 0 <= value <= _LARGEST_EXTENT for value in values):
        raise _wrong(path, f"{name} has extents {found!r}")
    return tuple(values)


def _wrong(path: Path, why: str) -> TenonError:
    return TenonError(f"checkpoint: {path} is wrong: {why}")
