"""The lock of a device."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock, get_ident

from ..errors import DeviceError


class DeviceLock:
    """
    Taken by who uses a device, one thread at a time, and not twice by one. Who holds it may step aside while
    it does something else, so that other threads, and what it calls itself, can use the device meanwhile.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._holder: int | None = None

    def acquire(self, blocking: bool = True) -> bool:
        """
        Returns whether the lock is taken now; without `blocking` it is not where another one has it.

        Raises:
            DeviceError: this thread has it.
        """
        if blocking and self._holder == get_ident():
            raise DeviceError(
                "the device waits for the callback that uses it "
                "(hint: what a routine calls back may use other devices only)"
            )
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

    @contextmanager
    def aside(self) -> Generator[None]:
        """Lets others have the lock meanwhile, where this thread holds it."""
        if self._holder != get_ident():
            yield
            return
        self.release()
        try:
            yield
        finally:
            self.acquire()
