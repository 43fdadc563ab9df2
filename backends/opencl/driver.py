"""Memory and launches on one OpenCL device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...errors import DeviceError
from ..interface import BufferLoc, CallableKernel, CompiledArtifact
from .device import OpenCLDeviceInfo
from .names import kernel_name

if TYPE_CHECKING:
    import pyopencl


@dataclass(slots=True)
class _Pool:
    """One buffer. `nbytes` is what was asked for; OpenCL has no buffers of no bytes."""

    buffer: pyopencl.Buffer
    nbytes: int


@dataclass(slots=True)
class _Kernel:
    """A kernel and the arguments it was last given: setting one again costs as much as a small launch."""

    kernel: pyopencl.Kernel
    arguments: list[tuple[pyopencl.Buffer, int] | None]


class OpenCLDriver:
    """
    One device's pools and its in-order queue. Used by one thread at a time; owns its pools until they are
    freed. Copies between host and device block, launches and copies on the device do not.
    """

    def __init__(self, context: pyopencl.Context, device: pyopencl.Device, info: OpenCLDeviceInfo):
        import pyopencl

        self._context = context
        self._device = device
        self._info = info
        self._queue = pyopencl.CommandQueue(context, device)
        self._pools: dict[int, _Pool] = {}

    def __repr__(self) -> str:
        pools = ", ".join(f"{pool_id}: {pool.nbytes} bytes" for pool_id, pool in sorted(self._pools.items()))
        return f"OpenCLDriver({self._info.name!r}, pools {{{pools}}})"

    def alloc_pool(self, pool_id: int, nbytes: int, alignment: int) -> None:
        """Raises `DeviceError` where the pool exists already, or is more than the device gives."""
        import pyopencl

        self._check_new(pool_id)
        base_alignment = self._device.mem_base_addr_align // 8
        if alignment > base_alignment:
            raise DeviceError(
                f"opencl: pool {pool_id} cannot be aligned to {alignment} bytes "
                f"(device {self._info.name} aligns to {base_alignment})"
            )
        flags = pyopencl.mem_flags.READ_WRITE
        self._add_pool(pool_id, nbytes, lambda: pyopencl.Buffer(self._context, flags, max(nbytes, 1)))

    def _add_pool(self, pool_id: int, nbytes: int, make_buffer: Callable[[], Any]) -> None:
        import pyopencl

        if nbytes > self._info.max_buffer_nbytes:
            raise DeviceError(
                f"opencl: pool {pool_id} of {nbytes} bytes is too large for device {self._info.name} "
                f"(at most {self._info.max_buffer_nbytes})"
            )
        try:
            buffer = make_buffer()
        except pyopencl.Error as error:
            raise DeviceError(
                f"opencl: cannot allocate pool {pool_id} of {nbytes} bytes on device {self._info.name} "
                f"({error})"
            ) from None
        self._pools[pool_id] = _Pool(buffer, nbytes)

    def free_pool(self, pool_id: int) -> None:
        """Gives the pool back, after the work queued before that uses it."""
        pool = self._pool(pool_id)
        self.synchronize()
        pool.buffer.release()
        del self._pools[pool_id]

    def copy_to_device(self, target: BufferLoc, source: npt.NDArray[Any]) -> None:
        import pyopencl

        pool = self._range(target, source.nbytes)
        if source.nbytes:
            pyopencl.enqueue_copy(
                self._queue, pool.buffer, source, dst_offset=target.offset, is_blocking=True
            )

    def copy_from_device(self, target: npt.NDArray[Any], source: BufferLoc) -> None:
        import pyopencl

        pool = self._range(source, target.nbytes)
        if target.nbytes:
            pyopencl.enqueue_copy(
                self._queue, target, pool.buffer, src_offset=source.offset, is_blocking=True
            )

    def copy_on_device(self, target: BufferLoc, source: BufferLoc, nbytes: int) -> None:
        """Raises `DeviceError` where source and target overlap."""
        import pyopencl

        to, origin = self._range(target, nbytes), self._range(source, nbytes)
        if to is origin and abs(target.offset - source.offset) < nbytes:
            raise DeviceError(f"opencl: copy of {nbytes} bytes from {source} to {target} overlaps itself")
        if nbytes:
            pyopencl.enqueue_copy(
                self._queue,
                to.buffer,
                origin.buffer,
                byte_count=nbytes,
                src_offset=source.offset,
                dst_offset=target.offset,
            )

    def memset_zero(self, target: BufferLoc, nbytes: int) -> None:
        import pyopencl

        pool = self._range(target, nbytes)
        if nbytes:
            pyopencl.enqueue_fill_buffer(self._queue, pool.buffer, bytes(1), target.offset, nbytes)

    def get_kernel(self, artifact: CompiledArtifact, name: str) -> CallableKernel:
        """Returns the kernel of the symbol `@name`. Raises `DeviceError` where the artifact has none."""
        import pyopencl

        function = kernel_name(name)
        if function not in artifact.entry_points:
            present = ", ".join(artifact.entry_points) or "none"
            raise DeviceError(f"opencl: no kernel @{name} (there are: {present})")
        kernel = pyopencl.Kernel(artifact.native, function)
        return CallableKernel(_Kernel(kernel, [None] * (kernel.num_args // 2)), name)

    def launch(
        self,
        kernel: CallableKernel,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: Sequence[BufferLoc],
    ) -> None:
        """Queues one launch; a grid with an extent of 0 is none. Raises `DeviceError` naming the kernel."""
        import pyopencl

        pools = [self._pool(argument.pool_id) for argument in arguments]
        if 0 in grid:
            return
        native = kernel.native
        assert isinstance(native, _Kernel), f"{kernel.name} is not a kernel of this backend"
        if len(arguments) != len(native.arguments):
            raise DeviceError(
                f"opencl: @{kernel.name} takes {len(native.arguments)} arguments, {len(arguments)} are given"
            )
        try:
            for index, (argument, pool) in enumerate(zip(arguments, pools, strict=True)):
                last = native.arguments[index]
                if last is not None and last[0] is pool.buffer and last[1] == argument.offset:
                    continue
                native.kernel.set_arg(2 * index, pool.buffer)
                native.kernel.set_arg(2 * index + 1, np.uint64(argument.offset))
                native.arguments[index] = (pool.buffer, argument.offset)
            items = tuple(groups * extent for groups, extent in zip(grid, block, strict=True))
            pyopencl.enqueue_nd_range_kernel(self._queue, native.kernel, items, tuple(block))
        except pyopencl.Error as error:
            raise DeviceError(
                f"opencl: cannot launch @{kernel.name} with grid {list(grid)} "
                f"block {list(block)} on device {self._info.name} ({error})"
            ) from None

    def synchronize(self) -> None:
        import pyopencl

        try:
            self._queue.finish()
        except pyopencl.Error as error:
            raise DeviceError(f"opencl: device {self._info.name} failed ({error})") from None

    def _check_new(self, pool_id: int) -> None:
        if pool_id in self._pools:
            raise DeviceError(f"opencl: pool {pool_id} is allocated already")

    def _pool(self, pool_id: int) -> _Pool:
        pool = self._pools.get(pool_id)
        if pool is None:
            raise DeviceError(f"opencl: pool {pool_id} is not allocated")
        return pool

    def _range(self, location: BufferLoc, nbytes: int) -> _Pool:
        """Returns the pool of `location`, which holds `nbytes` bytes from there on."""
        pool = self._pool(location.pool_id)
        if location.offset < 0 or location.offset + nbytes > pool.nbytes:
            raise DeviceError(
                f"opencl: {nbytes} bytes at {location} are not inside the pool's {pool.nbytes} bytes"
            )
        return pool


class HostMappingDriver(OpenCLDriver):
    """The driver of a CPU whose kernels work in the host's own memory."""

    def map_host(self, pool_id: int, array: npt.NDArray[np.uint8]) -> None:
        """
        Makes the bytes of `array` pool `pool_id` until it is freed. The caller keeps `array` alive, and reads
        or writes it itself only while nothing launched is unfinished.
        """
        import pyopencl

        self._check_new(pool_id)
        flags = pyopencl.mem_flags
        access = flags.READ_WRITE if array.flags.writeable else flags.READ_ONLY

        def make_buffer() -> Any:
            if array.nbytes == 0:
                return pyopencl.Buffer(self._context, flags.READ_WRITE, 1)
            return pyopencl.Buffer(self._context, access | flags.USE_HOST_PTR, hostbuf=array)

        self._add_pool(pool_id, array.nbytes, make_buffer)
