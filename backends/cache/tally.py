"""
How much is in a folder, kept by all processes that write to it, so that none has to look at every file.

The length of a file stands for it, one byte for each block: who writes appends, which the system does without
locks, and who has looked cuts it to what there is. What is replaced or removed stays counted until then, so
the tally says rather too much than too little. Where one process looks while another writes, it may miss
what that wrote, until somebody looks again.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from .private_files import open_private

BLOCK_NBYTES = 4096
"""What a byte of the file stands for; also what most file systems take for the smallest file."""


class Tally:
    """The tally in the file at `path`. Any thread of any process may use it; all may raise `OSError`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, nbytes: int) -> int | None:
        """Notes what was written, and returns how many bytes there are; None if nobody has looked yet."""
        try:
            descriptor = open_private(self.path, os.O_WRONLY | os.O_APPEND)
        except FileNotFoundError:
            return None
        try:
            os.write(descriptor, bytes(-(-nbytes // BLOCK_NBYTES)))
            return os.fstat(descriptor).st_size * BLOCK_NBYTES
        finally:
            os.close(descriptor)

    def set(self, nbytes: int) -> None:
        """Notes how many bytes there are."""
        descriptor = open_private(self.path, os.O_WRONLY | os.O_CREAT)
        try:
            os.ftruncate(descriptor, -(-nbytes // BLOCK_NBYTES))
        finally:
            os.close(descriptor)

    def forget(self) -> None:
        """Removes the file, if that is possible: who writes next looks."""
        with suppress(OSError):
            self.path.unlink()
