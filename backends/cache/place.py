"""Where the cache of this process is, as the environment says."""

from __future__ import annotations

import os
import warnings
from functools import lru_cache
from pathlib import Path

from ...errors import TenonError
from .folder import CacheFolder
from .private_files import NotPrivateError

FOLDER = "TENON_CACHE_DIR"
"""The environment variable with the cache's folder."""

SWITCH = "TENON_CACHE"
"""The environment variable that turns the cache off where it is `0`; `1` is on, as without it."""

LIMIT = "TENON_CACHE_MAX_NBYTES"
"""The environment variable with the number of bytes that the cache may have."""

DEFAULT_MAX_NBYTES = 1 << 30

_MOST_DIGITS = 100
"""More are not read: Python refuses some thousands."""


def cache_folder() -> CacheFolder | None:
    """
    Returns the cache's folder, ready to be used; None where the cache is off, or there can be none: it has no
    place, cannot be made, or could be written by others, of which a warning tells once.

    Raises:
        TenonError: `TENON_CACHE_MAX_NBYTES` is no number of bytes, or `TENON_CACHE` neither 0 nor 1.
    """
    if not is_on():
        return None
    environment = os.environ
    given = environment.get(FOLDER)
    if given and not given.startswith(os.sep):
        return _opened(cache_path(), environment.get(LIMIT))
    # Paths are made once for the same variables: that takes longer than all else here.
    return _found(given, environment.get("XDG_CACHE_HOME"), environment.get("HOME"), environment.get(LIMIT))


def is_on() -> bool:
    """Returns whether `TENON_CACHE` leaves the cache on. Raises `TenonError` where it is neither 0 nor 1."""
    text = os.environ.get(SWITCH, "")
    if text not in ("", "0", "1"):
        raise TenonError(f"{SWITCH} is {text!r}, expected 0 or 1")
    return text != "0"


def cache_path() -> Path | None:
    """
    Returns where the cache is: `TENON_CACHE_DIR`, else the folder `tenon` in `XDG_CACHE_HOME` or `~/.cache`;
    None where the user has no home.
    """
    environment = os.environ
    if given := environment.get(FOLDER):
        return Path(given).absolute()
    base = Path(environment.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():
        try:
            base = Path("~/.cache").expanduser()
        except RuntimeError:
            return None
    return base / "tenon"


def max_nbytes_of(text: str | None) -> int:
    """Returns the limit that `TENON_CACHE_MAX_NBYTES` gives. Raises `TenonError` where it is no number."""
    if not text:
        return DEFAULT_MAX_NBYTES
    if not text.isascii() or not text.isdecimal() or len(text) > _MOST_DIGITS:
        raise TenonError(f"{LIMIT} is {text!r}, expected a number of bytes")
    return int(text)


@lru_cache(maxsize=16)
def _found(given: str | None, base: str | None, home: str | None, limit: str | None) -> CacheFolder | None:
    """Returns the cache's folder where these are the environment variables."""
    del given, base, home
    return _opened(cache_path(), limit)


@lru_cache(maxsize=16)
def _opened(path: Path | None, limit: str | None) -> CacheFolder | None:
    max_nbytes = max_nbytes_of(limit)
    if path is None:
        return None
    folder = CacheFolder(path, max_nbytes)
    try:
        folder.open()
    except NotPrivateError as error:
        warnings.warn(
            f"compiled programs are not kept: {path} could hold what others have written ({error})",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    except OSError:
        return None
    return folder
