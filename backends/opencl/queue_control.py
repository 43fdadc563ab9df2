"""What the host does for the control flow of a program whose steps it queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..interface import BufferLoc, HostStep, RowPlace

if TYPE_CHECKING:
    import pyopencl

    from .driver import OpenCLDriver


@dataclass(eq=False, slots=True)
class Placed:
    """A buffer: where it is to be, where kernels were last told it is, and the arguments that say so."""

    location: BufferLoc | None
    buffer: pyopencl.Buffer | None = None
    offset: int = -1
    arguments: list[tuple[pyopencl.Kernel, int]] = field(default_factory=list["tuple[pyopencl.Kernel, int]"])


class QueueControl:
    """Moves rows, sets counters and reads conditions of buffers that are `placed`, all in `queue`."""

    def __init__(self, driver: OpenCLDriver, queue: pyopencl.CommandQueue, placed: Sequence[Placed]) -> None:
        self._driver = driver
        self._queue = queue
        self._placed = placed

    def place_row(self, row: RowPlace, iteration: int) -> None:
        source, placed = self._at(row.source), self._placed[row.row]
        placed.location = location = BufferLoc(source.pool_id, source.offset + iteration * row.stride_nbytes)
        buffer = self._driver.range(location, 0).buffer
        if placed.buffer is not buffer:
            for kernel, index in placed.arguments:
                kernel.set_arg(index, buffer)
            placed.buffer = buffer
        word = np.uint64(location.offset)
        for kernel, index in placed.arguments:
            kernel.set_arg(index + 1, word)
        placed.offset = location.offset

    def set_counter(self, buffer: int, iteration: int) -> None:
        import pyopencl

        location = self._at(buffer)
        counter = self._driver.range(location, 8).buffer
        pyopencl.enqueue_fill_buffer(
            self._queue, counter, np.array([iteration], np.int64), location.offset, 8
        )

    def holds(self, buffer: int) -> bool:
        import pyopencl

        location = self._at(buffer)
        value = np.empty(1, np.uint8)
        condition = self._driver.range(location, 1).buffer
        pyopencl.enqueue_copy(self._queue, value, condition, src_offset=location.offset, is_blocking=True)
        return bool(value[0])

    def call_host(self, step: HostStep) -> None:
        """Calls what the step calls on copies of its buffers, once all that is queued is done."""
        import pyopencl

        assert step.function is not None, f"{step.what} is not linked"
        self._queue.finish()
        rows = [np.empty(nbytes, np.uint8) for nbytes in step.nbytes]
        n_reads = len(step.reads)
        for number, row in zip(step.reads, rows[:n_reads], strict=True):
            if row.size:
                place = self._at(number)
                source = self._driver.range(place, row.size).buffer
                pyopencl.enqueue_copy(self._queue, row, source, src_offset=place.offset, is_blocking=True)
        step.function(rows[:n_reads], rows[n_reads:])
        for number, row in zip(step.writes, rows[n_reads:], strict=True):
            if row.size:
                place = self._at(number)
                target = self._driver.range(place, row.size).buffer
                pyopencl.enqueue_copy(self._queue, target, row, dst_offset=place.offset, is_blocking=True)

    def _at(self, buffer: int) -> BufferLoc:
        location = self._placed[buffer].location
        assert location is not None, f"buffer {buffer} has no place"
        return location
