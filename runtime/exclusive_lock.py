"""A lock that is an error to take twice in one thread."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock, get_ident
from weakref import WeakSet

from ..errors import TenonError

_LOCKS: WeakSet[ExclusiveLock] = WeakSet()


class ExclusiveLock:
    """
    One thread at a time has it; in a forked process, which has no other threads, none has. A callback
    that takes it once more would wait for itself: that raises what `refusal` makes.
    """

    def __init__(self, refusal: Callable[[], TenonError]) -> None:
        self._refusal = refusal
        self.forget()
        _LOCKS.add(self)

    def forget(self) -> None:
        """In the child of a fork: who holds the lock is not here."""
        self._lock = Lock()
        self._holder: int | None = None

    @property
    def is_own(self) -> bool:
        """Whether this thread has it."""
        return self._holder == get_ident()

    def acquire(self, blocking: bool = True) -> bool:
        """
        Returns whether the lock is taken now; without `blocking` it is not where any thread has it.

        Raises:
            TenonError: this thread has it.
        """
        if blocking and self._holder == get_ident():
            raise self._refusal()
        is_taken = self._lock.acquire(blocking)
        if is_taken:
            self._holder = get_ident()
        return is_taken

    def release(self) -> None:
        self._holder = None
        self._lock.release()

    def locked(self) -> bool:
        return self._lock.locked()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *exception: object) -> None:
        self.release()


def _free_all() -> None:
    for lock in _LOCKS:
        lock.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)
