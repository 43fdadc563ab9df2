"""Writing a database of schedules."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

from ...passes.sched.steps.database import ScheduleEntry, TuningError, database_text, read_database


def check_writable(path: Path) -> None:
    """
    Looks whether entries can be added to a database, which need not be there.

    Raises:
        TuningError: there is a file that is no database, or it cannot be written.
    """
    if path.exists():
        read_database(path)
    try:
        with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-"):
            pass
    except OSError as error:
        raise _not_writable(path, error) from error


def save_entries(path: Path, entries: Sequence[ScheduleEntry], tuned: Sequence[tuple[str, str]]) -> None:
    """
    Adds entries to a database, which is made where it is not there. What it has for the kernels and devices
    `tuned` goes, so that a kernel whose default schedule is the best one has none. The file is replaced at
    once. Several who save at the same time wait for one another, on systems with `flock`, and the entries of
    all are there afterwards.

    Raises:
        TuningError: there is a file that is no database, or it cannot be written.
    """
    path = path.resolve()
    try:
        with _locked(path):
            _save(path, entries, tuned)
    except OSError as error:
        raise _not_writable(path, error) from error


def _save(path: Path, entries: Sequence[ScheduleEntry], tuned: Sequence[tuple[str, str]]) -> None:
    kept: dict[tuple[str, str], ScheduleEntry] = {}
    if path.exists():
        _, found = read_database(path)
        kept = {(entry.kernel, entry.device): entry for entry in found}
    for key in tuned:
        kept.pop(key, None)
    kept.update({(entry.kernel, entry.device): entry for entry in entries})
    with NamedTemporaryFile(
        "w", dir=path.parent, prefix=f".{path.name}-", delete=False, encoding="utf-8"
    ) as file:
        temporary = Path(file.name)
        try:
            file.write(database_text(list(kept.values())))
            file.close()
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


@contextmanager
def _locked(path: Path) -> Generator[None]:
    """Keeps other threads and processes from saving a database. Raises `OSError`."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    lock = path.with_name(f".{path.name}.lock")
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_file(lock, descriptor):
                try:
                    yield
                finally:
                    lock.unlink(missing_ok=True)
                return
        finally:
            os.close(descriptor)


def _is_file(path: Path, descriptor: int) -> bool:
    """Returns whether an open file is the one at `path`: who had the lock before has removed it."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _not_writable(path: Path, error: OSError) -> TuningError:
    return TuningError(f"{path}: cannot write the database ({error.strerror or error})")
