"""What the host does for the control flow of a program whose steps it queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..host_call import HostRows, call_host
from ..interface import BufferLoc
from ..steps import HostStep, RowPlace

if TYPE_CHECKING:
    import pyopencl

    from .pools import OpenCLMemory


@dataclass(eq=False, slots=True)
class Placed:
    """A buffer: where it is to be, where kernels were last told it is, and the arguments that say so."""

    location: BufferLoc | None
    buffer: pyopencl.Buffer | None = None
    offset: int = -1
    arguments: list[tuple[pyopencl.Kernel, int]] = field(default_factory=list["tuple[pyopencl.Kernel, int]"])


class QueueControl:
    """Moves rows, sets counters and reads conditions of buffers that are `placed`, all in `queue`."""

    def __init__(
        self, memory: OpenCLMemory, queue: pyopencl.CommandQueue, placed: Sequence[Placed], rows: HostRows
    ) -> None:
        self._memory = memory
        self._queue = queue
        self._placed = placed
        self._rows = rows

    def place_row(self, row: RowPlace, iteration: int) -> None:
        source, placed = self._at(row.source), self._placed[row.row]
        placed.location = location = BufferLoc(source.pool_id, source.offset + iteration * row.stride_nbytes)
        buffer = self._memory.range(location, 0).buffer
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
        counter = self._memory.range(location, 8).buffer
        pyopencl.enqueue_fill_buffer(
            self._queue, counter, np.array([iteration], np.int64), location.offset, 8
        )

    def holds(self, buffer: int) -> bool:
        value = np.empty(1, np.uint8)
        self.copy_from_device(value, self._at(buffer))
        return bool(value[0])

    def call_host(self, step: HostStep) -> None:
        """Calls what the step calls on copies of its buffers, once all that is queued is done."""
        self._queue.finish()
        call_host(self, step, [self._at(number) for number in step.buffers], self._rows)

    def copy_from_device(self, target: npt.NDArray[Any], source: BufferLoc) -> None:
        import pyopencl

        buffer = self._memory.range(source, target.nbytes).buffer
        pyopencl.enqueue_copy(self._queue, target, buffer, src_offset=source.offset, is_blocking=True)

    def copy_to_device(self, target: BufferLoc, source: npt.NDArray[Any]) -> None:
        import pyopencl

        buffer = self._memory.range(target, source.nbytes).buffer
        pyopencl.enqueue_copy(self._queue, buffer, source, dst_offset=target.offset, is_blocking=True)

    def _at(self, buffer: int) -> BufferLoc:
        location = self._placed[buffer].location
        assert location is not None, f"buffer {buffer} has no place"
        return location
