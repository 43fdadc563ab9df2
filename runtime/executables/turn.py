"""Calls of a program that call the host, and may begin others meanwhile."""

from __future__ import annotations

from threading import Condition

from ...errors import CallError
from ..exclusive_lock import ExclusiveLock


class Turn(ExclusiveLock):
    """Of a program's calls, that one which runs; `CallError` where a callback calls its own program."""

    def __init__(self, name: str) -> None:
        super().__init__(
            lambda: CallError(
                f"{name}: its own callback uses it, "
                "and with tensor nodes or arrays on a device one call runs at a time"
            )
        )


class RunningCalls:
    """
    Counts the calls that run, so that their memory is freed after the last of them. Any thread may use it.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._count = 0

    def __enter__(self) -> None:
        with self._changed:
            self._count += 1

    def __exit__(self, *exception: object) -> None:
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def close(self) -> None:
        """Blocks until no call runs."""
        with self._changed:
            self._changed.wait_for(lambda: not self._count)
