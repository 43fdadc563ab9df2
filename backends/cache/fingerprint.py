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

from ...import_time import IMPORT_TIME_NS

ROOT = Path(__file__).parents[2]
"""The folder of Tenon's sources."""

_NOT_COMPILING = frozenset(("benchmarks",))
"""Packages in the folder of the sources that compile nothing."""

_SOURCES = (".py", ".ll")
"""How the names of source files end."""

_NUMPY = ("NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES")
"""Environment variables that decide which of its functions numpy folds constants with."""

_FIRST_TIME_NS = 365 * 24 * 3600 * 20 * 10**9
"""Files from before 1990 have no time: some packagers set it to one that is the same for all."""


@cache
def library_fingerprint() -> str:
    """Returns the fingerprint of the sources of this process, which are looked at once."""
    return fingerprint_of(ROOT)


def fingerprint_of(root: Path) -> str:
    """
    Returns a digest of the versions of what Tenon compiles with, of the interpreter, and of the sizes and
    times of the source files in `root`: so one who changes them gets what they say now. Where they have
    changed since this process imported Tenon it is of this process only, which runs what they said before.
    """
    digest = blake2b(digest_size=32)
    versions = (
        sys.implementation.cache_tag,
        sys.platform,
        np.__version__,
        ml_dtypes.__version__,
        *map(os.environ.get, _NUMPY),
    )
    digest.update(repr(versions).encode())
    for line in _version_of(Path(xdsl.__file__).parent):
        digest.update(line.encode())
    sources = sorted(_source_files(str(root)))
    for line, _ in sources:
        digest.update(line.encode())
    if any(changed_ns > IMPORT_TIME_NS for _, changed_ns in sources):
        digest.update(os.urandom(16))
    return digest.hexdigest()


def _version_of(package: Path) -> list[str]:
    """
    Returns the names of a package's files of metadata, which have its version in them; where they lie
    somewhere else its source files.
    """
    installed = sorted(path.name for path in package.parent.glob(f"{package.name}-*"))
    return installed or sorted(line for line, _ in _source_files(str(package)))


def _source_files(folder: str, inside: str = "") -> Iterator[tuple[str, int]]:
    """Yields a line for each source file of a package, and when anything of the file was changed last."""
    with os.scandir(folder) as listing:
        for item in listing:
            if item.name.endswith(_SOURCES):
                found = item.stat()
                times = f"{found.st_size} {found.st_mtime_ns}"
                if found.st_mtime_ns < _FIRST_TIME_NS:
                    times = blake2b(Path(item.path).read_bytes()).hexdigest()
                yield f"{inside}{item.name} {times}\n", max(found.st_mtime_ns, found.st_ctime_ns)
            elif (
                item.name not in _NOT_COMPILING and item.is_dir() and Path(item.path, "__init__.py").exists()
            ):
                yield from _source_files(item.path, f"{inside}{item.name}/")
