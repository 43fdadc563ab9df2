"""What a compiled program depends on beside what was asked for: the versions of everything that compiles."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path

import ml_dtypes
import numpy as np
import xdsl

_ROOT = Path(__file__).parents[1]

_NOT_COMPILING = frozenset((".git", "__pycache__", "benchmarks", "docs", "examples", "out", "shared", "test"))


@cache
def library_fingerprint() -> str:
    """
    Returns a digest of the versions of what Tenon compiles with, of the interpreter, and of the sizes and
    times of Tenon's source files: so one who changes them gets what they say now.
    """
    digest = blake2b(digest_size=32)
    versions = (sys.implementation.cache_tag, sys.platform, np.__version__, ml_dtypes.__version__)
    digest.update(repr(versions).encode())
    for line in (*_version_of(Path(xdsl.__file__).parent), *sorted(_source_files(str(_ROOT)))):
        digest.update(line.encode())
    return digest.hexdigest()


def _version_of(package: Path) -> list[str]:
    """
    Returns the names of a package's files of metadata, which have its version in them; where they lie
    somewhere else its source files.
    """
    installed = sorted(path.name for path in package.parent.glob(f"{package.name}-*"))
    return installed or sorted(_source_files(str(package)))


def _source_files(folder: str, inside: str = "") -> Iterator[str]:
    """Yields a line for each source file."""
    with os.scandir(folder) as listing:
        for item in listing:
            if item.name.endswith(".py"):
                found = item.stat()
                yield f"{inside}{item.name} {found.st_size} {found.st_mtime_ns}\n"
            elif item.name not in _NOT_COMPILING and item.is_dir():
                yield from _source_files(item.path, f"{inside}{item.name}/")
