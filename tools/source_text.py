"""Reads a tool's input: a file or standard input, whole or in chunks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from ..errors import TenonError

STDIN = "<stdin>"

BYTECODE = b"ML\xefR"
"""How files of bytecode begin."""

SPLIT_MARKER = "// -----"


def display_name(path: str | None) -> str:
    """Returns what diagnostics call an input: None and `-` are standard input."""
    return STDIN if path in (None, "-") else path


def read_source(path: str | None) -> str:
    """
    Returns the text of a file, of standard input for None and `-`.

    Raises `TenonError` for a file that is not there, cannot be read or is not UTF-8.
    """
    try:
        data = _standard_input() if path in (None, "-") else Path(path).read_bytes()
    except FileNotFoundError as error:
        raise TenonError(f"no such file: {path}") from error
    except OSError as error:
        raise TenonError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from error
    return decoded(data, path)


def decoded(data: bytes, path: str | None) -> str:
    """Returns the text of a file's bytes. Raises `TenonError` where they are none, at the place."""
    if data.startswith(BYTECODE):
        raise TenonError(
            f"{display_name(path)}: is bytecode of MLIR, expected text (hint: stablehlo-translate "
            "--deserialize, or mlir_module() of what jax.export gave)"
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise TenonError(
            f"byte {data[error.start]:#04x} is not UTF-8", location=f"{display_name(path)}:{line}:{column}"
        ) from error


def _standard_input() -> bytes:
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise TenonError(f"cannot read {STDIN}: it is closed")
    return sys.stdin.buffer.read()


def split_source(text: str, marker: str = SPLIT_MARKER) -> Iterator[str]:
    """
    Yields the chunks between lines that hold the marker and nothing else. Line breaks are put before each
    chunk, so that its lines have the numbers they have in `text`.
    """
    chunk: list[str] = []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if line.strip() == marker:
            yield "".join(chunk)
            chunk = ["\n"] * number
        else:
            chunk.append(line)
    yield "".join(chunk)
