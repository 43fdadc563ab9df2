"""Launches on one OpenCL device, and points in its queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..interface import BufferLoc, CallableKernel, CompiledArtifact, NativeEvent, Program
from ..launch_errors import wrong_arity
from ..steps import Step
from .batch_program import BatchProgram
from .launches import launch_error, make_kernel
from .pools import HostMappingMemory, OpenCLMemory

if TYPE_CHECKING:
    import pyopencl


@dataclass(slots=True)
class _Kernel:
    """A kernel and the arguments it was last given: setting one again costs as much as a small launch."""

    kernel: pyopencl.Kernel
    arguments: list[tuple[pyopencl.Buffer, int] | None]
    own_block: tuple[int, ...]
    """The block that it is compiled for; one work-item where it runs in any."""


@dataclass(frozen=True, slots=True)
class QueuePoint:
    """A point in the queue of a device."""

    event: pyopencl.Event
    driver: OpenCLDriver

    def is_done(self) -> bool:
        import pyopencl

        with self.driver.failing(is_wait=True):
            return self.event.command_execution_status <= pyopencl.command_execution_status.COMPLETE

    def wait(self) -> None:
        with self.driver.failing(is_wait=True):
            self.event.wait()


class OpenCLDriver(OpenCLMemory):
    """One device's pools and an in-order queue. Used by one thread at a time. Launches do not block."""

    def new_stream(self) -> OpenCLDriver:
        """Returns a driver with another queue on these pools, and with kernel objects of its own."""
        with self.failing():
            return type(self)(self.context, self.device, self.info, self.table)

    def get_kernel(self, artifact: CompiledArtifact, name: str) -> CallableKernel:
        """Returns the kernel of the symbol `@name`. Raises `DeviceError` where the artifact has none."""
        import pyopencl

        kernel = make_kernel(artifact, name)
        info = pyopencl.kernel_work_group_info.COMPILE_WORK_GROUP_SIZE
        extents: Any = kernel.get_work_group_info(info, self.queue.device)
        own_block = tuple(max(int(extent), 1) for extent in extents)
        return CallableKernel(_Kernel(kernel, [None] * kernel.num_args, own_block), name)

    def launch(
        self,
        kernel: CallableKernel,
        grid: Sequence[int],
        block: Sequence[int] | None,
        arguments: Sequence[BufferLoc],
        sizes: Sequence[int] = (),
    ) -> None:
        """Queues one launch; a grid with an extent of 0 is none. Raises `DeviceError` naming the kernel."""
        import pyopencl

        pools = [self.pool(argument.pool_id) for argument in arguments]
        if 0 in grid:
            return
        native = kernel.native
        assert isinstance(native, _Kernel), f"{kernel.name} is not a kernel of this backend"
        n_sizes = len(sizes)
        n_arguments = (native.kernel.num_args - n_sizes) // 2
        if len(arguments) != n_arguments:
            raise wrong_arity("opencl", kernel.name, n_arguments, len(arguments))
        local = native.own_block if block is None else tuple(block)
        try:
            for index, size in enumerate(sizes):
                native.kernel.set_arg(index, np.int64(size))
            for index, (argument, pool) in enumerate(zip(arguments, pools, strict=True)):
                last = native.arguments[index]
                if last is not None and last[0] is pool.buffer and last[1] == argument.offset:
                    continue
                # Until both are set neither is known.
                native.arguments[index] = None
                native.kernel.set_arg(n_sizes + 2 * index, pool.buffer)
                native.kernel.set_arg(n_sizes + 2 * index + 1, np.uint64(argument.offset))
                native.arguments[index] = (pool.buffer, argument.offset)
            items = tuple(groups * extent for groups, extent in zip(grid, local, strict=True))
            pyopencl.enqueue_nd_range_kernel(self.queue, native.kernel, items, local)
        except pyopencl.Error as error:
            raise self.noted(launch_error(self.info, kernel.name, grid, local, error)) from error

    def bind(
        self, artifact: CompiledArtifact, steps: Sequence[Step], locations: Sequence[BufferLoc | None]
    ) -> Program:
        return BatchProgram(self, artifact, steps, locations)

    def record(self) -> NativeEvent:
        import pyopencl

        with self.failing():
            point = pyopencl.enqueue_marker(self.queue)
            # another queue may wait for the point, which it only reaches in a queue that is flushed
            self.queue.flush()
        return QueuePoint(point, self)

    def reaches_event(self, event: NativeEvent) -> bool:
        return isinstance(event, QueuePoint) and event.driver.context is self.context

    def wait_for(self, event: NativeEvent) -> None:
        import pyopencl

        assert isinstance(event, QueuePoint) and self.reaches_event(event), "opencl: event out of reach"
        with self.failing():
            pyopencl.enqueue_barrier(self.queue, wait_for=[event.event])


class HostMappingDriver(HostMappingMemory, OpenCLDriver):
    """The driver of a CPU whose kernels work in the host's own memory."""
