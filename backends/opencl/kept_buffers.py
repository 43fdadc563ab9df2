"""Buffers of pools that were freed, for the next pools of their sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyopencl


@dataclass(eq=False, slots=True)
class KeptBuffers:
    """
    At most `limit_nbytes` of buffers; those that were kept first are released for more. A driver may wait for
    all of its device to give memory or to take it back: with the results of each call in new memory, kernels
    of 20 us ran every 190 us on an H100.

    Who takes a buffer queues its work behind that of who had it: this is for pools that one queue works in.
    """

    limit_nbytes: int
    nbytes: int = 0
    _by_size: dict[int, list[pyopencl.Buffer]] = field(default_factory=dict[int, "list[pyopencl.Buffer]"])
    """In the order of which size was kept last."""

    def take(self, nbytes: int) -> pyopencl.Buffer | None:
        """Returns a buffer of so many bytes, which is the caller's from now on; None where there is none."""
        buffers = self._by_size.get(nbytes)
        if buffers is None:
            return None
        buffer = buffers.pop()
        if not buffers:
            del self._by_size[nbytes]
        self.nbytes -= nbytes
        return buffer

    def keep(self, buffer: pyopencl.Buffer, nbytes: int) -> None:
        """Takes a buffer of so many bytes over, or releases it where it is more than may be kept."""
        if nbytes > self.limit_nbytes:
            buffer.release()
            return
        while self.nbytes + nbytes > self.limit_nbytes:
            self._release_one()
        buffers = self._by_size.pop(nbytes, [])
        self._by_size[nbytes] = [*buffers, buffer]
        self.nbytes += nbytes

    def clear(self) -> None:
        """Releases all."""
        while self._by_size:
            self._release_one()

    def _release_one(self) -> None:
        """Releases one of the size that was kept the longest ago."""
        nbytes = next(iter(self._by_size))
        buffer = self.take(nbytes)
        assert buffer is not None, f"no buffer of {nbytes} bytes is kept"
        buffer.release()
