"""Which code is of a package that is installed, or of Python's own library."""

from __future__ import annotations

import os
import site
from functools import cache, lru_cache
from pathlib import Path

MOST_FILES = 4096
"""Of how many files it is kept whose they are."""


@lru_cache(MOST_FILES)
def installed_package(filename: str) -> str | None:
    """
    Returns the top package that a file of code is of, where that is installed, "" for Python's own library,
    and None for code of the user's: files elsewhere, packages that are installed to be edited, and what is
    typed in or made of text.
    """
    if filename.startswith("<frozen "):
        return ""
    path = Path(filename)
    for folder in package_folders():
        if path.is_relative_to(folder):
            return path.relative_to(folder).parts[0].removesuffix(".py")
    return "" if path.is_relative_to(_LIBRARY) else None


@cache
def package_folders() -> tuple[Path, ...]:
    """Returns the folders that packages are installed in."""
    return (*map(Path, site.getsitepackages()), Path(site.getusersitepackages()))


_LIBRARY = Path(os.__file__).parent
