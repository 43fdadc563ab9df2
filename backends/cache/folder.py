"""
One folder of entries, which any number of processes read and write at the same time, without locks.

Files are written whole and renamed into place, so that a reader sees one or none. What was not used for
longest goes first when there is more than the limit. An entry that is not what it should be is removed, and
counts as missing.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from .frame import CorruptEntryError, Record, decoded, digest_of, encoded
from .private_files import NotPrivateError, make_private_folder, note_used, read_private, write_private
from .tally import Tally

ENTRY_SUFFIX = ".entry"
DATA_SUFFIX = ".data"
_TEMPORARY_SUFFIX = ".tmp"
_TALLY = "nbytes.tally"

_NAME = re.compile(r"[a-z]+-[0-9a-f]{64}\.entry|[0-9a-f]{64}\.data")

_KEPT_OF_LIMIT = 0.8
"""The share of the limit that is left when entries are dropped: so it is not done at each write."""

_FULL_OF_LIMIT = 15 / 16
"""
The share of the limit from which on entries are dropped when a process looks: else the next ones would look
again soon.
"""

_TEMPORARY_SECONDS = 3600
"""How long a temporary file may be one that is being written."""


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file of the folder: its name, its bytes, and when it was used last, in seconds of the epoch."""

    name: str
    nbytes: int
    used: float

    @property
    def is_entry(self) -> bool:
        """Whether it is an entry; else it is a long section of some."""
        return self.name.endswith(ENTRY_SUFFIX)

    @property
    def key(self) -> str:
        return self.name.removesuffix(ENTRY_SUFFIX)


class CacheFolder:
    """
    The entries in `path`. Only `open`, `files` and `clear` raise for what the system refuses; else
    what cannot be read is not there, what cannot be written is not kept. Any thread may use it.
    """

    def __init__(self, path: Path, max_nbytes: int) -> None:
        self.path = path
        self.max_nbytes = max_nbytes
        self._tally = Tally(path / _TALLY)

    def open(self) -> None:
        """
        Makes the folder, unless it is there.

        Raises:
            NotPrivateError: it is a link or no folder, belongs to somebody else, or others could write to it.
            OSError: it cannot be made.
        """
        make_private_folder(self.path)

    def load(self, key: str) -> Record | None:
        """Returns what was stored under `key`, None where there is nothing or not what was stored."""
        path = self._entry_path(key)
        try:
            return self._loaded(key, path)
        except FileNotFoundError:
            return None
        except (CorruptEntryError, NotPrivateError):
            self._remove(path)
            return None
        except OSError:
            return None

    def has(self, key: str) -> bool:
        """Returns whether there is something under `key`; it may be damaged."""
        return self._entry_path(key).exists()

    def store(self, key: str, record: Record) -> bool:
        """Keeps a record under `key`, in place of what was there, and returns whether that worked."""
        parts, outside = encoded(key, record)
        nbytes = sum(map(len, parts)) + sum(map(len, outside.values()))
        if nbytes > self.max_nbytes:
            return False
        try:
            try:
                written = self._stored(key, parts, outside)
            except FileNotFoundError:
                # Somebody has removed the folder since it was opened.
                self.open()
                written = self._stored(key, parts, outside)
        except OSError:
            return False
        self._bound(written)
        return True

    def discard(self, key: str) -> None:
        """Forgets what was stored under `key`."""
        self._remove(self._entry_path(key))

    def files(self) -> list[FileInfo]:
        """Returns the files, last used first; none where there is no folder. Raises `OSError`."""
        found = [info for info in self._scan() if _NAME.fullmatch(info.name)]
        return sorted(found, key=lambda info: (-info.used, info.name))

    def nbytes(self) -> int:
        """Returns the bytes of all files, 0 where the folder cannot be read."""
        try:
            return sum(info.nbytes for info in self.files())
        except OSError:
            return 0

    def problem_of(self, info: FileInfo) -> str | None:
        """Returns what is wrong with a file, None where nothing is."""
        path = self.path / info.name
        try:
            if info.is_entry:
                self._loaded(info.key, path, note_use=False)
            elif digest_of(read_private(path, note_use=False)) != info.name.removesuffix(DATA_SUFFIX):
                return "its checksum is wrong"
        except (OSError, CorruptEntryError) as error:
            return str(error)
        return None

    def about(self, info: FileInfo) -> str:
        """Returns what an entry says of itself, nothing where it cannot be read or is a long section."""
        if not info.is_entry:
            return ""
        try:
            return self._loaded(info.key, self.path / info.name, note_use=False).about
        except (OSError, CorruptEntryError):
            return ""

    def remove(self, info: FileInfo) -> bool:
        """Removes a file, and returns whether that worked."""
        return self._remove(self.path / info.name)

    def clear(self) -> int:
        """Removes all entries, and what writers have left behind. Returns the number of files that went."""
        names = [info.name for info in self._scan() if _is_ours(info.name)]
        removed = sum(self._remove(self.path / name) for name in names)
        self._tally.forget()
        return removed

    def _loaded(self, key: str, path: Path, *, note_use: bool = True) -> Record:
        try:
            frame = decoded(key, read_private(path, note_use=note_use))
        except CorruptEntryError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptEntryError("its header is wrong") from error
        if not any(frame.outside):
            return frame.record
        sections = list(frame.record.sections)
        for number, digest in enumerate(frame.outside):
            if digest is not None:
                try:
                    sections[number] = read_private(self.path / f"{digest}{DATA_SUFFIX}", note_use=note_use)
                except FileNotFoundError:
                    raise CorruptEntryError(f"data {digest} is missing") from None
                if digest_of(sections[number]) != digest:
                    self._remove(self.path / f"{digest}{DATA_SUFFIX}")
                    raise CorruptEntryError(f"the checksum of data {digest} is wrong")
        return replace(frame.record, sections=tuple(sections))

    def _stored(self, key: str, parts: list[bytes], outside: Mapping[str, bytes]) -> int:
        """Returns the bytes that were written: what other entries have as well is there."""
        written = sum(map(len, parts))
        for digest, section in outside.items():
            path = self.path / f"{digest}{DATA_SUFFIX}"
            if self._is_there(path, len(section)):
                note_used(path)
            else:
                write_private(path, [section])
                written += len(section)
        write_private(self._entry_path(key), parts)
        return written

    def _entry_path(self, key: str) -> Path:
        return self.path / f"{key}{ENTRY_SUFFIX}"

    def _is_there(self, path: Path, nbytes: int) -> bool:
        try:
            return path.lstat().st_size == nbytes
        except FileNotFoundError:
            return False

    def _remove(self, path: Path) -> bool:
        """Returns whether the file is gone."""
        try:
            path.unlink(missing_ok=True)
        except OSError:
            return False
        return True

    def _scan(self) -> Iterator[FileInfo]:
        try:
            listing = os.scandir(self.path)
        except FileNotFoundError:
            return
        with listing:
            for item in listing:
                try:
                    found = item.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                yield FileInfo(item.name, found.st_size, found.st_mtime)

    def _bound(self, written: int) -> None:
        """Drops what was not used for longest where there may be more than the limit."""
        try:
            known = self._tally.add(written)
            if known is None or known > self.max_nbytes:
                self._tally.set(self._trimmed())
        except OSError:
            # The next one looks.
            self._tally.forget()

    def _trimmed(self) -> int:
        """Returns the bytes that are left."""
        found: list[FileInfo] = []
        oldest_temporary = time.time() - _TEMPORARY_SECONDS
        for info in self._scan():
            if _NAME.fullmatch(info.name):
                found.append(info)
            elif _is_ours(info.name) and info.used < oldest_temporary:
                self._remove(self.path / info.name)
        total = sum(info.nbytes for info in found)
        if total > _FULL_OF_LIMIT * self.max_nbytes:
            for info in sorted(found, key=lambda info: info.used):
                self._remove(self.path / info.name)
                total -= info.nbytes
                if total <= _KEPT_OF_LIMIT * self.max_nbytes:
                    break
        return total


def _is_ours(name: str) -> bool:
    """Returns whether a file is an entry, a section, or a temporary file of either."""
    if name.endswith(_TEMPORARY_SUFFIX):
        name = name.removesuffix(_TEMPORARY_SUFFIX).rpartition(".")[0]
    return _NAME.fullmatch(name) is not None
