"""Reads a program's arguments from .npy and .npz files, never unpickling anything."""

from __future__ import annotations

import lzma
import tokenize
import zipfile
import zlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ...errors import TenonError
from ...runtime.plan.signature import Signature
from ..tool_run import reason_of
from .safetensors_file import SUFFIX, read_safetensors

Array = npt.NDArray[Any]

_BAD_HEADER = (tokenize.TokenError, SyntaxError, TypeError, RecursionError)
"""What numpy lets through from reading a header, which is a Python literal."""

_UNREADABLE = (
    *_BAD_HEADER,
    ValueError,
    OSError,
    EOFError,
    MemoryError,
    OverflowError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    RuntimeError,
)
"""All that numpy and zipfile raise for the contents of a file; RuntimeError is for encrypted archives."""


def read_array(path: Path) -> Array:
    """
    Returns the array of an .npy file.

    Raises:
        TenonError: the file is not there, cannot be read, or holds something else.
    """
    loaded = _load(path)
    if not isinstance(loaded, np.ndarray):
        raise TenonError(f"{path}: holds several arrays, expected one (hint: use --inputs)")
    return loaded


def read_arrays(path: Path) -> dict[str, Array]:
    """
    Returns the arrays of an .npz or .safetensors file by their names.

    Raises:
        TenonError: the file is not there, cannot be read, or holds something else.
    """
    if path.suffix == SUFFIX:
        return read_safetensors(path)
    loaded = _load(path)
    if isinstance(loaded, np.ndarray):
        raise TenonError(f"{path}: holds one array, expected an .npz file (hint: use --input)")
    return loaded


def _load(path: Path) -> Array | dict[str, Array]:
    try:
        loaded: Any = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return cast(Array, loaded)
        with loaded:
            return {name: loaded[name] for name in loaded.files}
    except FileNotFoundError as error:
        raise TenonError(f"no such file: {path}") from error
    except _UNREADABLE as error:
        reason = str(error).split("\n")[0]
        if "allow_pickle" in reason or "pickle" in reason:
            raise TenonError(
                f"{path}: holds Python objects or is no .npy or .npz file (only plain arrays are read)"
            ) from error
        if isinstance(error, OSError):
            reason = reason_of(error)
        elif isinstance(error, _BAD_HEADER) or reason.startswith("malformed node"):
            reason = "its header is damaged"
        elif "<f1" in reason:
            reason = "numpy cannot read the float8_e5m2 that it saves (hint: save array.view('V1'))"
        raise TenonError(f"cannot read {path}: {reason or type(error).__name__}") from error


def collect_arguments(
    signature: Signature,
    archive: Mapping[str, Array] | None,
    archive_name: str,
    files: Sequence[str],
    fallback: Mapping[str, Array] | None,
    nodes: Collection[str] = (),
) -> tuple[list[Array], list[str]]:
    """
    Returns the arguments in order, and what the user may want to be told. Each of `files` is `name=path` or,
    for the arguments in order, `path`; they win over the arrays of `archive`, which may have tensor `nodes`
    too, and those over `fallback`.

    Raises:
        TenonError: an argument has no array, or a file cannot be read.
    """
    given: dict[str, Array] = dict(fallback or {})
    notes: list[str] = []
    names = signature.argument_names
    found: list[str] = []
    if archive is not None:
        found = list(archive)
        for name, array in archive.items():
            if name in names:
                given[name] = array
            elif name not in nodes:
                notes.append(f"{archive_name}: array '{name}' is not an argument of {signature.name}")
    given |= _named_files(signature, files)
    for name in names:
        if name not in given:
            held = f" ({archive_name} has: {', '.join(found) or 'nothing'})" if archive is not None else ""
            raise TenonError(f"{signature.name}: there is no array for argument '{name}'{held}")
    types = dict(zip(names, signature.argument_types, strict=True))
    return [retyped(given[name], types[name].dtype) for name in names], notes


def _named_files(signature: Signature, files: Sequence[str]) -> dict[str, Array]:
    named: dict[str, Array] = {}
    names = signature.argument_names
    position = 0
    for text in files:
        name, equals, path = text.partition("=")
        if not equals:
            if position == len(names):
                raise TenonError(
                    f"{signature.name}: no argument is left for {text} (arguments: {', '.join(names)})"
                )
            name, path = names[position], text
            position += 1
        elif name not in names:
            raise TenonError(
                f"{signature.name}: there is no argument '{name}' (arguments: {', '.join(names)})"
            )
        if name in named:
            raise TenonError(f"{signature.name}: argument '{name}' is given twice")
        named[name] = read_array(Path(path))
    return named


def readable(array: Array) -> Array:
    """
    Returns an array as it is saved: elements that numpy has no type for as their bytes, which is how numpy
    writes most of them by itself. The header that it writes for float8_e5m2 cannot be read back.
    """
    # A dtype whose byte order was said is not the built-in one, and is written the same.
    is_numpys = np.dtype(array.dtype.type).isbuiltin == 1
    return array if is_numpys else array.view(f"V{array.dtype.itemsize}")


def retyped(array: Array, dtype: np.dtype[Any]) -> Array:
    """Returns an array as it was before it was saved: of a bfloat16 a file keeps only the bytes."""
    is_foreign = dtype.isbuiltin != 1 and array.dtype.kind == "V" and array.dtype.names is None
    return array.view(dtype) if is_foreign and array.dtype.itemsize == dtype.itemsize else array
