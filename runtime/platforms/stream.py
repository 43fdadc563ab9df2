"""A queue of a device, and the contexts made on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...backends.interface import Driver
from ..memory.merge_buffer import MergeBuffer
from ..process_bound import ProcessBound
from ..streams.event import Event
from ..streams.runner import Runner

if TYPE_CHECKING:
    from ..device_lock import DeviceLock
    from .context import Buffers, Context
    from .device import Device
    from .optimize_context import OptimizeContext


class Stream(ProcessBound):
    """
    A queue of a device, with a merge buffer of its own. What is scheduled on a stream runs in the order it
    was scheduled; work of two streams may run at the same time, but for what reads or overwrites what the
    other one's writes or reads, which waits for it. Memory is the device's.

    A device is its own first stream; `Device.new_stream` makes further ones. A stream lives as long as
    something refers to it: a context, or work that is scheduled. Any thread may use it; what several threads
    schedule on one stream is ordered by who comes first.
    """

    COPY_HINT = "make one there: Device.new_stream"

    def __init__(
        self,
        device: Device,
        number: int,
        name: str,
        driver: Driver,
        lock: DeviceLock,
        runner: Runner,
        merge_buffer: MergeBuffer,
    ) -> None:
        self.device = device
        self.number = number
        """Its number on the device, from 0 up: 0 is the device itself."""
        self.name = name
        """The device's for the first stream, which others add a number to: `llvm:0`, `llvm:0.1`."""
        self.driver = driver
        """The device's driver as this stream's work uses it."""
        self.lock = lock
        """Held while `driver` is used."""
        self.runner = runner
        self.merge_buffer = merge_buffer

    def make_context(
        self, *, buffers: Buffers | None = None, optimize_context: OptimizeContext | None = None
    ) -> Context:
        """
        Returns a context without a parent, whose routines and copies are scheduled on this stream. Its nodes
        are those of `buffers`, in that memory, which is another context's of the device (`Context.buffers`):
        that one lives as long as this, and finalizing it finalizes this. `optimize_context` is what later
        compiles are to know.

        Raises:
            ContextError: memory of `buffers` is another node's, another device's, or freed.
        """
        from .context import Context

        return Context.root(self, buffers, optimize_context)

    def new_stream(self) -> Stream:
        """Returns what `Device.new_stream` of its device returns. Raises what that raises."""
        return self.device.new_stream()

    def make_room_for_merging(self, nbytes: int) -> None:
        """
        Makes the merge buffer hold `nbytes`. Where it must grow, this waits for what is scheduled on the
        stream, and what it held is lost.

        Raises:
            OutOfMemoryError: that is more than the device has; the merge buffer is then gone.
        """
        with self.device.schedule_lock:
            if self.merge_buffer.needs_growth(nbytes):
                self.runner.wait(self.runner.all_work())
                self.merge_buffer.grow(nbytes)

    def all_work(self) -> Event:
        """Returns the event of the end of all that is scheduled by now."""
        return self.runner.all_work()

    def wait_for(self, event: Event) -> None:
        """
        Makes what is scheduled later on this stream wait for an event, of this device or another one. Seldom
        needed: what uses the same nodes does it.

        Raises:
            DeviceError: the device is closed.
            DeviceLostError: it is lost.
        """
        self.runner.wait_for(event)

    def await_idle(self) -> None:
        """
        Blocks until everything scheduled has finished.

        Raises:
            RoutineError: something failed that was not reported yet.
            DeviceLostError: the device is lost.
        """
        self.all_work().sync()

    @property
    def is_idle(self) -> bool:
        """Whether everything scheduled has finished."""
        return self.all_work().is_done

    @property
    def is_lost(self) -> bool:
        """Whether the device failed for good: all that is scheduled on it raises `DeviceLostError`."""
        return self.runner.lost is not None

    def __repr__(self) -> str:
        return f"<Stream {self.name}{', lost' if self.is_lost else ''}>"
