"""Writing a database of schedules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

from ..passes.util.schedule_database import ScheduleEntry, TuningError, database_text, read_database


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
    once; of several who write at the same time the last one wins.

    Raises:
        TuningError: there is a file that is no database, or it cannot be written.
    """
    kept: dict[tuple[str, str], ScheduleEntry] = {}
    if path.exists():
        _, found = read_database(path)
        kept = {(entry.kernel, entry.device): entry for entry in found}
    for key in tuned:
        kept.pop(key, None)
    kept.update({(entry.kernel, entry.device): entry for entry in entries})
    try:
        with NamedTemporaryFile(
            "w", dir=path.parent, prefix=f".{path.name}-", delete=False, encoding="utf-8"
        ) as file:
            temporary = Path(file.name)
            file.write(database_text(list(kept.values())))
        try:
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _not_writable(path, error) from error


def _not_writable(path: Path, error: OSError) -> TuningError:
    return TuningError(f"{path}: cannot write the database ({error.strerror or error})")
