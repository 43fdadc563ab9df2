"""A step of the host's, in a program whose buffers the host reads and writes through copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .interface import BufferLoc
from .steps import HostStep

Bytes = npt.NDArray[np.uint8]


class Copies(Protocol):
    """Copies that block, after all that is queued: as those of `Memory`."""

    def copy_to_device(self, target: BufferLoc, source: npt.NDArray[Any]) -> None: ...

    def copy_from_device(self, target: npt.NDArray[Any], source: BufferLoc) -> None: ...


class HostRows:
    """
    The host's copies of what the steps of one program read and write. What ranks exchange is in use between
    the step that begins it and the one that waits for it: that memory is kept, both have the same, and a
    device copies faster where `empty` gives memory that is pinned. Used by one thread at a time.
    """

    def __init__(self, empty: Callable[[int], Bytes] | None = None) -> None:
        self._empty = _empty if empty is None else empty
        self._kept: dict[tuple[int, int | None, int], Bytes] = {}

    def of(self, step: HostStep) -> tuple[list[Bytes], list[Bytes]]:
        """Returns what a step reads, nothing where it does not look at it, and what it writes."""
        sizes = list(zip(step.buffers, step.nbytes, strict=True))
        n_reads = len(step.reads)
        if step.takes and step.fills:
            rows = [_empty(nbytes) for nbytes in step.nbytes]
            return rows[:n_reads], rows[n_reads:]
        # One buffer may be sent by several steps at once.
        taken = [self._row(buffer, step.call, nbytes) for buffer, nbytes in sizes[:n_reads] if step.takes]
        return taken, [self._row(buffer, None, nbytes) for buffer, nbytes in sizes[n_reads:]]

    def _row(self, buffer: int, call: int | None, nbytes: int) -> Bytes:
        key = buffer, call, nbytes
        if key not in self._kept:
            self._kept[key] = self._empty(nbytes) if nbytes else _empty(0)
        return self._kept[key]


def call_host(memory: Copies, step: HostStep, locations: Sequence[BufferLoc], rows: HostRows) -> None:
    """Waits for what is queued, calls the step's function on copies of its buffers, and copies back."""
    assert step.function is not None, f"{step.what} is not linked"
    reads, writes = rows.of(step)
    for row, location in zip(reads, locations, strict=False):
        if row.size:
            memory.copy_from_device(row, location)
    step.function(reads, writes)
    if not step.fills:
        return
    for row, location in zip(writes, locations[len(step.reads) :], strict=True):
        if row.size:
            memory.copy_to_device(location, row)


def _empty(nbytes: int) -> Bytes:
    return np.empty(nbytes, np.uint8)
