"""Programs that are compiled with schedules of a database, which `tenon.tune` made."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..backends.interface import Backend

if TYPE_CHECKING:
    from ..passes.sched.steps.passes.apply_schedules import ApplySchedulesPass

TUNING = "TENON_TUNING"
"""The environment variable with the path of the database that programs are compiled with."""


def device_key(backend: Backend) -> str:
    """Returns what entries of a database are for: the backend, the device, and the bytes of its vectors."""
    return f"{backend.name} {backend.device.name} {backend.device.vector_nbytes}"


def tuning_path(given: str | Path | None) -> Path | None:
    """Returns the database that a program is compiled with: the one that is given, else `TENON_TUNING`'s."""
    if given is not None:
        return Path(given)
    text = os.environ.get(TUNING)
    return Path(text) if text else None


def tuning_pass(path: Path, backend: Backend) -> ApplySchedulesPass | None:
    """
    Returns what applies the entries of a database for a device; None where it has none for it.

    Raises:
        TuningError: the file cannot be read, or is no database.
    """
    from ..passes.sched.steps.database import TuningError

    try:
        found = path.stat()
    except OSError as error:
        raise TuningError(f"{path}: cannot read the database ({error.strerror or error})") from error
    version = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    digest, devices = _read(path.absolute(), version)
    device = device_key(backend)
    if device not in devices:
        return None
    from ..passes.sched.steps.passes.apply_schedules import ApplySchedulesPass

    return ApplySchedulesPass(str(path.absolute()), device, digest)


@lru_cache(maxsize=16)
def _read(path: Path, version: tuple[int, ...]) -> tuple[str, frozenset[str]]:
    """Reads a database once for each `version` of the file."""
    from ..passes.sched.steps.database import read_database

    del version
    digest, entries = read_database(path)
    return digest, frozenset(entry.device for entry in entries)
