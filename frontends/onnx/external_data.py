"""
Tensors in files beside a model, which are mapped into memory. A file must lie in the model's folder: paths
that lead out of it are refused, and so are links.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import TenonError


class ExternalData:
    """The files beside one model, in the folder that it was read from; None for a model of no file."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._mapped: dict[Path, npt.NDArray[Any]] = {}

    def read(self, entries: Mapping[str, str], nbytes: int, who: str) -> npt.NDArray[Any]:
        """
        Returns `nbytes` bytes of a file, as the entries of a tensor say where: they share the file's pages.

        Raises:
            TenonError: the model is of no file, the file does not lie in its folder, or has too few bytes.
        """
        if self._folder is None:
            raise TenonError(
                f"{who}: its data lies in another file, and the model was not read from one "
                "(hint: from_onnx of the model's path)"
            )
        location = entries.get("location", "")
        offset = _number(entries, "offset", 0, who)
        length = _number(entries, "length", nbytes, who)
        if length != nbytes:
            raise TenonError(f"{who}: {length} bytes in {location!r}, expected {nbytes}")
        mapped = self._file(location, who)
        if offset + nbytes > len(mapped):
            raise TenonError(
                f"{who}: {nbytes} bytes from {offset} on in {location!r}, which has {len(mapped)} bytes"
            )
        return mapped[offset : offset + nbytes]

    def _file(self, location: str, who: str) -> npt.NDArray[Any]:
        assert self._folder is not None, "a model of no file"
        parts = PurePosixPath(location.replace("\\", "/"))
        is_outside = parts.is_absolute() or ".." in parts.parts or PureWindowsPath(location).drive
        if not location or "\0" in location or is_outside:
            raise TenonError(f"{who}: the path {location!r} of its data leads out of the model's folder")
        path = self._folder / parts
        found = self._mapped.get(path)
        if found is not None:
            return found
        step = self._folder
        for part in parts.parts:
            step = step / part
            if step.is_symlink():
                raise TenonError(f"{who}: {location!r} has a link in it, which is not followed")
        if not path.is_file():
            raise TenonError(f"{who}: there is no file {location!r} beside the model")
        nbytes = path.stat().st_size
        mapped = np.memmap(path, np.uint8, "r") if nbytes else np.zeros(0, np.uint8)
        self._mapped[path] = np.asarray(mapped)
        return self._mapped[path]


def _number(entries: Mapping[str, str], key: str, default: int, who: str) -> int:
    text = entries.get(key)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise TenonError(f"{who}: {key} of its data is {text[:40]!r}, expected a number of bytes")
    return int(text)
