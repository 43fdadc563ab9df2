"""Files and folders that belong to this user and that nobody else can write."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)

_BLOCK = 1 << 20


class NotPrivateError(OSError):
    """A file or folder is not what this user has made, or others could write to it."""


def make_private_folder(path: Path) -> None:
    """
    Makes a folder, and those that it lies in, for this user only, unless it is there.

    Raises:
        NotPrivateError: it is a link or no folder, belongs to somebody else, or others could write to it.
        OSError: it cannot be made.
    """
    if not path.parent.exists():
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        path.mkdir(0o700)
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise NotPrivateError("it is a symbolic link")
    if not stat.S_ISDIR(found.st_mode):
        raise NotPrivateError("it is no folder")
    _check_owner(found)


def read_private(path: Path, *, note_use: bool = True) -> bytes:
    """
    Returns the bytes of a file, and notes that it was used: its time is set to now, where that is possible.
    Without `note_use` it stays.

    Raises:
        NotPrivateError: it is a link or no file, belongs to somebody else, or others could write to it.
        OSError: it cannot be read.
    """
    descriptor = open_private(path, os.O_RDONLY)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise NotPrivateError("it is no file")
        _check_owner(found)
        data = _read_all(descriptor, found.st_size)
        if note_use:
            note_used(descriptor)
        return data
    finally:
        os.close(descriptor)


def write_private(path: Path, parts: list[bytes]) -> None:
    """
    Writes a file as a whole: who reads it sees all of it, or what was there before. Raises `OSError` where
    that fails, and leaves nothing behind.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            for part in parts:
                view = memoryview(part)
                while view:
                    view = view[file.write(view) :]
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def open_private(path: Path, flags: int) -> int:
    """
    Returns the descriptor of a file that is opened as `os.open` does, never through a link and never waiting;
    a new one is for this user only. Raises `OSError`.
    """
    return os.open(path, flags | _NO_FOLLOW | _NO_WAIT, 0o600)


def note_used(file: int | Path) -> None:
    """Sets the time of a file to now; a file that may not be changed stays as it is."""
    with suppress(OSError):
        os.utime(file)


def _read_all(descriptor: int, nbytes: int) -> bytes:
    parts: list[bytes] = []
    while part := os.read(descriptor, max(nbytes + 1, _BLOCK)):
        parts.append(part)
    return b"".join(parts) if len(parts) != 1 else parts[0]


def _check_owner(found: os.stat_result) -> None:
    if not hasattr(os, "geteuid"):
        return
    if found.st_uid != os.geteuid():
        raise NotPrivateError(f"it belongs to user {found.st_uid}")
    if found.st_mode & _OTHERS_WRITE:
        raise NotPrivateError(f"others may write to it, mode {stat.S_IMODE(found.st_mode):o}")
