"""The lock of a device."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ..errors import DeviceError
from .exclusive_lock import ExclusiveLock

WAITS_FOR_ITSELF = (
    "the device waits for the callback that uses it "
    "(hint: what a routine calls back may use other devices only)"
)


class DeviceLock(ExclusiveLock):
    """
    Taken by who uses a device; `DeviceError` where a thread takes it twice. Who holds it may step aside while
    it does something else, so that other threads, and what it calls itself, can use the device meanwhile.
    """

    def __init__(self) -> None:
        super().__init__(lambda: DeviceError(WAITS_FOR_ITSELF))

    @contextmanager
    def aside(self) -> Generator[None]:
        """Lets others have the lock meanwhile, where this thread holds it."""
        if not self.is_own:
            yield
            return
        self.release()
        try:
            yield
        finally:
            self.acquire()
