"""What a compiled program depends on beside what was asked for: the versions of everything that compiles."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_ROOT = Path(__file__).parents[1]

_NOT_COMPILING = frozenset((".git", "__pycache__", "benchmarks", "docs", "examples", "out", "shared", "test"))

_PACKAGES = ("tenon", "xdsl", "numpy", "ml_dtypes", "llvmlite")


@cache
def library_fingerprint() -> str:
    """
    Returns a digest of the versions of Tenon and what it compiles with, of the interpreter, and of the sizes
    and times of Tenon's source files: so one who changes them gets what they say now.
    """
    digest = blake2b(digest_size=32)
    digest.update(repr((sys.implementation.cache_tag, sys.platform)).encode())
    for package in _PACKAGES:
        digest.update(f"{package} {_version(package)}\n".encode())
    for line in sorted(_source_files(str(_ROOT))):
        digest.update(line.encode())
    return digest.hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _source_files(folder: str, inside: str = "") -> Iterator[str]:
    """Yields a line for each source file."""
    with os.scandir(folder) as listing:
        for item in listing:
            if item.name.endswith(".py"):
                found = item.stat()
                yield f"{inside}{item.name} {found.st_size} {found.st_mtime_ns}\n"
            elif item.name not in _NOT_COMPILING and item.is_dir():
                yield from _source_files(item.path, f"{inside}{item.name}/")
