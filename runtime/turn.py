"""Calls of a program that call the host, and may begin others meanwhile."""

from __future__ import annotations

from threading import Condition, Lock, get_ident

from ..errors import CallError


class Turn:
    """A lock that is an error to take twice in one thread: a callback that uses its own program."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = Lock()
        self._holder: int | None = None

    def __enter__(self) -> None:
        """Raises `CallError` where this thread has the turn."""
        if self._holder == get_ident():
            raise CallError(
                f"{self._name}: its own callback uses it, "
                "and with tensor nodes or arrays on a device one call runs at a time"
            )
        self._lock.acquire()
        self._holder = get_ident()

    def __exit__(self, *exception: object) -> None:
        self._holder = None
        self._lock.release()


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
