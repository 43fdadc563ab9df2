"""The memory of one OpenCL device, and the queues that work in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from ...dialects.buffer_size import row_major_strides
from ...dialects.memory_modes import MemoryMode, ModeKind
from ...errors import DeviceError, DeviceLostError, OutOfMemoryError
from ..interface import BufferLoc, Memory, StridedLoc
from ..strided_box import StridedBox, box_of
from .device import OpenCLDeviceInfo
from .failures import check_process, device_error
from .kept_buffers import KeptBuffers
from .shared_contexts import forget
from .strided_kernel import StridedKernels

if TYPE_CHECKING:
    import pyopencl

Bytes = npt.NDArray[np.uint8]

_MOST_KEPT, _MOST_IN_USE = 1 / 16, 3 / 4
"""The parts of a device's memory that freed buffers may hold, and that these and all pools may together."""


@dataclass(eq=False, slots=True)
class Pool:
    """
    One buffer. `nbytes` is what was asked for; OpenCL has no buffers of no bytes. `memory` is the host's,
    where the buffer is made of it. One that `is_plain` is like all others of its size.
    """

    buffer: pyopencl.Buffer
    nbytes: int
    memory: Bytes | None = None
    is_plain: bool = False


@dataclass(eq=False, slots=True)
class PoolTable:
    """
    The pools of one device, which all its queues have. `generation` changes when a pool comes or goes.
    Buffers are kept as long as only one queue has worked in them, which does all in order.
    """

    device_nbytes: int
    kept: KeptBuffers
    pools: dict[int, Pool] = field(default_factory=dict[int, Pool])
    nbytes: int = 0
    is_kept: bool = True
    generation: int = 0
    _users: WeakSet[OpenCLMemory] = field(default_factory=WeakSet)
    _lock: RLock = field(default_factory=RLock)

    def add_user(self, user: OpenCLMemory) -> None:
        """Adds one whose queue works in the pools, until it is gone. Any thread may call."""
        with self._lock:
            if self._users:
                self.is_kept = False
                self.kept.clear()
            self._users.add(user)

    def add(self, pool_id: int, pool: Pool) -> None:
        self.pools[pool_id] = pool
        self.nbytes += pool.nbytes
        self.generation += 1

    def take(self, pool_id: int) -> Pool:
        pool = self.pools.pop(pool_id)
        self.nbytes -= pool.nbytes
        self.generation += 1
        return pool

    def make_room(self, nbytes: int) -> None:
        """
        Releases what is kept where as many bytes more come near to all that the device has: a driver that
        gives memory only when it is first used would fail then.
        """
        with self._lock:
            if self.nbytes + self.kept.nbytes + nbytes > _MOST_IN_USE * self.device_nbytes:
                self.kept.clear()

    def kept_buffer(self, nbytes: int) -> pyopencl.Buffer | None:
        """Returns a buffer of a pool that was freed, None where none is kept of this size."""
        with self._lock:
            return self.kept.take(nbytes)

    def release(self, pool: Pool) -> None:
        """Gives the buffer of a pool back, or keeps it."""
        with self._lock:
            if pool.is_plain and self.is_kept:
                self.kept.keep(pool.buffer, pool.nbytes)
            else:
                pool.buffer.release()

    def release_kept(self) -> bool:
        """Releases what is kept; returns whether there was anything."""
        with self._lock:
            had_any = self.kept.nbytes > 0
            self.kept.clear()
            return had_any

    def users(self) -> list[OpenCLMemory]:
        with self._lock:
            return list(self._users)


def _table_of(device: pyopencl.Device) -> PoolTable:
    nbytes: int = device.global_mem_size
    return PoolTable(nbytes, KeptBuffers(int(_MOST_KEPT * nbytes)))


class OpenCLMemory:
    """
    One device's pools, and the queues of one stream: copies go into the one in order, batches into the others
    too. Used by one thread at a time. Copies between host and device block unless their name says otherwise;
    others do not.
    """

    def __init__(
        self,
        context: pyopencl.Context,
        device: pyopencl.Device,
        info: OpenCLDeviceInfo,
        table: PoolTable | None = None,
    ):
        """`table` are the pools where another queue of the device has them already."""
        import pyopencl

        self.context = context
        self.device = device
        self.info = info
        self._queue = pyopencl.CommandQueue(context, device)
        self._is_idle = True
        self.table = _table_of(device) if table is None else table
        self.table.add_user(self)
        self._pools = self.table.pools
        self._transfers: deque[pyopencl.Event] = deque()
        self._strided_kernels = StridedKernels(context, info)

    def __repr__(self) -> str:
        pools = ", ".join(f"{pool_id}: {pool.nbytes} bytes" for pool_id, pool in sorted(self._pools.items()))
        return f"OpenCLDriver({self.info.name!r}, pools {{{pools}}})"

    @property
    def generation(self) -> int:
        """Differs whenever a pool came or went."""
        return self.table.generation

    @property
    def queue(self) -> pyopencl.CommandQueue:
        """The queue, for somebody who queues something."""
        self._is_idle = False
        return self._queue

    @queue.setter
    def queue(self, queue: pyopencl.CommandQueue) -> None:
        self._queue, self._is_idle = queue, False

    @cached_property
    def unordered_queue(self) -> pyopencl.CommandQueue | None:
        """A queue that keeps no order but that of events, None where the device has none."""
        import pyopencl

        unordered = pyopencl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
        if not self.device.queue_properties & unordered:
            return None
        return pyopencl.CommandQueue(self.context, self.device, properties=unordered)

    @cached_property
    def profiling_queue(self) -> pyopencl.CommandQueue:
        """A queue in order whose events know when they ran."""
        import pyopencl

        properties = pyopencl.command_queue_properties.PROFILING_ENABLE
        return pyopencl.CommandQueue(self.context, self.device, properties=properties)

    def note_queued(self) -> None:
        """Notes that something is in the queue, for somebody who has had it since it was last waited for."""
        self._is_idle = False

    def alloc_pool(self, pool_id: int, nbytes: int, alignment: int, mode: MemoryMode | None = None) -> None:
        """
        Tensors that are hosted get memory that the host reaches too. Raises `DeviceError` where the pool
        exists already, `OutOfMemoryError` where it is more than the device gives.
        """
        self._check_new(pool_id)
        base_alignment = self.device.mem_base_addr_align // 8
        if alignment > base_alignment:
            raise DeviceError(
                f"opencl: pool {pool_id} cannot be aligned to {alignment} bytes "
                f"(device {self.info.name} aligns to {base_alignment})"
            )
        is_hosted = mode is not None and mode.kind is ModeKind.HOSTED
        self._add_pool(pool_id, nbytes, lambda: self._make_pool(nbytes, is_hosted))

    def _make_pool(self, nbytes: int, is_hosted: bool) -> Pool:
        import pyopencl

        flags = pyopencl.mem_flags.READ_WRITE
        if is_hosted:
            flags |= pyopencl.mem_flags.ALLOC_HOST_PTR
            return Pool(pyopencl.Buffer(self.context, flags, max(nbytes, 1)), nbytes)
        buffer = self.table.kept_buffer(nbytes)
        if buffer is None:
            self.table.make_room(nbytes)
            try:
                buffer = pyopencl.Buffer(self.context, flags, max(nbytes, 1))
            except pyopencl.Error:
                # What is kept may be what is missing.
                if not self.table.release_kept():
                    raise
                buffer = pyopencl.Buffer(self.context, flags, max(nbytes, 1))
        return Pool(buffer, nbytes, is_plain=True)

    def _add_pool(self, pool_id: int, nbytes: int, make_pool: Callable[[], Pool]) -> None:
        import pyopencl

        if nbytes > self.info.max_buffer_nbytes:
            raise OutOfMemoryError(
                f"opencl: pool {pool_id} of {nbytes} bytes is too large for device {self.info.name} "
                f"(at most {self.info.max_buffer_nbytes})"
            )
        message = f"opencl: cannot allocate pool {pool_id} of {nbytes} bytes on device {self.info.name}"
        try:
            pool = make_pool()
        except pyopencl.Error as error:
            raise device_error(message, error, is_allocation=True) from error
        except MemoryError as error:
            raise OutOfMemoryError(message) from error
        self.table.add(pool_id, pool)

    def free_pool(self, pool_id: int) -> None:
        """
        Gives the pool back; memory that is the device's alone may be kept for the next pool of as many bytes.
        Waits for all queues where it is the host's memory, which somebody else may use then; a device that is
        lost uses nothing, and is not reported here.
        """
        self.pool(pool_id)
        pool = self.table.take(pool_id)
        try:
            if pool.memory is not None:
                self.synchronize()
                for other in self.table.users():
                    if other is not self:
                        other.finish()
        except DeviceLostError:
            pass
        finally:
            self.table.release(pool)

    def memset_zero(self, target: BufferLoc, nbytes: int) -> None:
        import pyopencl

        pool = self.range(target, nbytes)
        if nbytes:
            with self.failing(f"zero {nbytes} bytes at {target}"):
                pyopencl.enqueue_fill_buffer(self.queue, pool.buffer, bytes(1), target.offset, nbytes)

    def copy_to_device(self, target: BufferLoc, source: npt.NDArray[Any]) -> None:
        self._write(target, source, is_blocking=True)

    def copy_from_device(self, target: npt.NDArray[Any], source: BufferLoc) -> None:
        self._read(target, source, is_blocking=True)

    def queue_copy_to_device(self, target: BufferLoc, source: npt.NDArray[Any]) -> None:
        self._keep(self._write(target, source, is_blocking=False))

    def queue_copy_from_device(self, target: npt.NDArray[Any], source: BufferLoc) -> None:
        self._keep(self._read(target, source, is_blocking=False))

    def copy_on_device(self, target: BufferLoc, source: BufferLoc, nbytes: int) -> None:
        """Raises `DeviceError` where source and target overlap."""
        to, origin = self.copied_range(target, source, nbytes)
        self._copy(to, target, origin, source, nbytes)

    def reaches(self, peer: Memory) -> bool:
        return isinstance(peer, OpenCLMemory) and peer.context is self.context

    def copy_from_peer(self, target: BufferLoc, peer: Memory, source: BufferLoc, nbytes: int) -> None:
        assert isinstance(peer, OpenCLMemory) and self.reaches(peer), f"opencl: {peer!r} is out of reach"
        if peer is self:
            self.copy_on_device(target, source, nbytes)
        else:
            self._copy(self.range(target, nbytes), target, peer.range(source, nbytes), source, nbytes)

    def empty_host(self, nbytes: int) -> Bytes:
        """Raises `OutOfMemoryError` where the device cannot pin that much."""
        import pyopencl

        flags = pyopencl.mem_flags.READ_WRITE | pyopencl.mem_flags.ALLOC_HOST_PTR
        access: Any = pyopencl.map_flags.READ | pyopencl.map_flags.WRITE
        shape = (max(nbytes, 1),)
        try:
            buffer = pyopencl.Buffer(self.context, flags, shape[0])
            memory, _ = pyopencl.enqueue_map_buffer(self.queue, buffer, access, 0, shape, np.dtype(np.uint8))
        except pyopencl.Error as error:
            message = f"opencl: cannot pin {nbytes} bytes for device {self.info.name}"
            raise device_error(message, error, is_allocation=True) from error
        return memory[:nbytes]

    def copy_strided_to_device(self, target: StridedLoc, source: npt.NDArray[Any]) -> None:
        import pyopencl

        target.check_fits(source)
        pool = self._strided_range(target)
        packed = _row_major_nbytes(target)
        box = box_of(target.shape, target.itemsize, target.strides, packed)
        if not source.size:
            return
        staged = np.ascontiguousarray(source).reshape(-1).view(np.uint8)
        with self.failing(f"copy to {_described(target)}"):
            if (region := _Rectangle.of(box)) is not None:
                _enqueue_rectangle(
                    self.queue,
                    pool.buffer,
                    staged,
                    buffer_origin=(target.start.offset, 0, 0),
                    host_origin=(0, 0, 0),
                    region=region.region,
                    buffer_pitches=region.target_pitches,
                    host_pitches=region.source_pitches,
                    is_blocking=True,
                )
                return
            buffer = pyopencl.Buffer(self.context, pyopencl.mem_flags.READ_ONLY, staged.nbytes)
            pyopencl.enqueue_copy(self.queue, buffer, staged, is_blocking=True)
            self._strided_kernels.copy(self.queue, box, pool.buffer, target.start.offset, buffer, 0)

    def copy_strided_from_device(self, target: npt.NDArray[Any], source: StridedLoc) -> None:
        import pyopencl

        source.check_fits(target)
        pool = self._strided_range(source)
        packed = _row_major_nbytes(source)
        box = box_of(source.shape, source.itemsize, packed, source.strides)
        if not target.size:
            return
        staged = np.empty(target.nbytes, np.uint8)
        with self.failing(f"copy from {_described(source)}", is_wait=True):
            if (region := _Rectangle.of(box)) is not None:
                _enqueue_rectangle(
                    self.queue,
                    staged,
                    pool.buffer,
                    buffer_origin=(source.start.offset, 0, 0),
                    host_origin=(0, 0, 0),
                    region=region.region,
                    buffer_pitches=region.source_pitches,
                    host_pitches=region.target_pitches,
                    is_blocking=True,
                )
            else:
                buffer = pyopencl.Buffer(self.context, pyopencl.mem_flags.READ_WRITE, staged.nbytes)
                self._strided_kernels.copy(self.queue, box, buffer, 0, pool.buffer, source.start.offset)
                pyopencl.enqueue_copy(self.queue, staged, buffer, is_blocking=True)
        target[...] = staged.view(target.dtype).reshape(target.shape)

    def copy_strided_on_device(self, target: StridedLoc, source: StridedLoc) -> None:
        import pyopencl

        target.check_alike(source)
        to, origin = self._strided_range(target), self._strided_range(source)
        box = box_of(target.shape, target.itemsize, target.strides, source.strides)
        if 0 in target.shape:
            return
        with self.failing(f"copy {_described(source)} to {_described(target)}"):
            region = _Rectangle.of(box)
            # within one buffer OpenCL wants the same pitches on both sides
            if region is None or to is origin:
                self._strided_kernels.copy(
                    self.queue, box, to.buffer, target.start.offset, origin.buffer, source.start.offset
                )
                return
            pyopencl.enqueue_copy(
                self.queue,
                to.buffer,
                origin.buffer,
                src_origin=(source.start.offset, 0, 0),
                dst_origin=(target.start.offset, 0, 0),
                region=region.region,
                src_pitches=region.source_pitches,
                dst_pitches=region.target_pitches,
            )

    def synchronize(self) -> None:
        """Raises `DeviceLostError` where the device works no more."""
        if self._is_idle:
            # Waiting for a queue takes as long as a small kernel, also where there is nothing to wait for.
            check_process()
            return
        with self.failing(is_wait=True):
            self._queue.finish()
            self._transfers.clear()
            self._is_idle = True

    def finish(self) -> None:
        """Waits for the queue, which another thread may be using. Raises what `synchronize` raises."""
        if not self._is_idle:
            with self.failing(is_wait=True):
                self._queue.finish()

    def pool(self, pool_id: int) -> Pool:
        """Raises `DeviceError` where there is no such pool."""
        pool = self._pools.get(pool_id)
        if pool is None:
            raise DeviceError(f"opencl: pool {pool_id} is not allocated")
        return pool

    def range(self, location: BufferLoc, nbytes: int) -> Pool:
        """Returns the pool of `location`, which holds `nbytes` bytes from there on."""
        pool = self.pool(location.pool_id)
        if location.offset < 0 or location.offset + nbytes > pool.nbytes:
            raise DeviceError(
                f"opencl: {nbytes} bytes at {location} are not inside the pool's {pool.nbytes} bytes"
            )
        return pool

    def copied_range(self, target: BufferLoc, source: BufferLoc, nbytes: int) -> tuple[Pool, Pool]:
        """Returns the pools of a copy's target and source. Raises `DeviceError` where these overlap."""
        to, origin = self.range(target, nbytes), self.range(source, nbytes)
        if to is origin and abs(target.offset - source.offset) < nbytes:
            raise DeviceError(f"opencl: copy of {nbytes} bytes from {source} to {target} overlaps itself")
        return to, origin

    def _check_new(self, pool_id: int) -> None:
        # In a fork what was mapped by a call that another thread was in is there for good.
        check_process()
        if pool_id in self._pools:
            raise DeviceError(f"opencl: pool {pool_id} is allocated already")

    def _strided_range(self, place: StridedLoc) -> Pool:
        pool = self.pool(place.start.pool_id)
        begin, end = place.span()
        if begin < 0 or end > pool.nbytes:
            raise DeviceError(f"opencl: {_described(place)} is not inside the pool's {pool.nbytes} bytes")
        return pool

    def _write(
        self, target: BufferLoc, source: npt.NDArray[Any], *, is_blocking: bool
    ) -> pyopencl.Event | None:
        import pyopencl

        assert source.flags.c_contiguous, "the source is not contiguous"
        pool = self.range(target, source.nbytes)
        if not source.nbytes:
            return None
        with self.failing(f"copy {source.nbytes} bytes to {target}", is_wait=is_blocking):
            row = source.reshape(-1).view(np.uint8)
            return pyopencl.enqueue_copy(
                self.queue, pool.buffer, row, dst_offset=target.offset, is_blocking=is_blocking
            )

    def _read(
        self, target: npt.NDArray[Any], source: BufferLoc, *, is_blocking: bool
    ) -> pyopencl.Event | None:
        import pyopencl

        assert target.flags.c_contiguous, "the target is not contiguous"
        pool = self.range(source, target.nbytes)
        if not target.nbytes:
            return None
        with self.failing(f"copy {target.nbytes} bytes from {source}", is_wait=is_blocking):
            row = target.reshape(-1).view(np.uint8)
            return pyopencl.enqueue_copy(
                self.queue, row, pool.buffer, src_offset=source.offset, is_blocking=is_blocking
            )

    def _copy(self, to: Pool, target: BufferLoc, origin: Pool, source: BufferLoc, nbytes: int) -> None:
        import pyopencl

        if nbytes:
            with self.failing(f"copy {nbytes} bytes from {source} to {target}"):
                pyopencl.enqueue_copy(
                    self.queue,
                    to.buffer,
                    origin.buffer,
                    byte_count=nbytes,
                    src_offset=source.offset,
                    dst_offset=target.offset,
                )

    def _keep(self, transfer: pyopencl.Event | None) -> None:
        """Holds a transfer until it is done: pyopencl would wait for it when its event is dropped."""
        import pyopencl

        done = pyopencl.command_execution_status.COMPLETE
        with self.failing():
            if transfer is not None:
                self._transfers.append(transfer)
                self.queue.flush()
            while self._transfers and self._transfers[0].command_execution_status <= done:
                self._transfers.popleft()

    @contextmanager
    def failing(self, what: str | None = None, *, is_wait: bool = False) -> Generator[None]:
        """
        Turns what OpenCL raises into a `DeviceError` that says what cannot be done; None for no command in
        particular.
        """
        import pyopencl

        check_process()
        try:
            yield
        except DeviceLostError:
            forget(self.context)
            raise
        except pyopencl.Error as error:
            device = f"device {self.info.name}"
            message = f"opencl: {device} failed" if what is None else f"opencl: cannot {what} on {device}"
            raise self.noted(device_error(message, error, is_wait=is_wait)) from error

    def noted(self, failure: DeviceError) -> DeviceError:
        """Returns a failure; after one that loses the device, nobody else gets its context."""
        if isinstance(failure, DeviceLostError):
            forget(self.context)
        return failure


class HostMappingMemory(OpenCLMemory):
    """The memory of a CPU whose kernels work in the host's own: so do all its pools."""

    def _make_pool(self, nbytes: int, is_hosted: bool) -> Pool:
        import pyopencl

        if not nbytes:
            return super()._make_pool(nbytes, is_hosted)
        alignment = self.device.mem_base_addr_align // 8
        memory = np.empty(nbytes + alignment, np.uint8)
        padding = -memory.ctypes.data % alignment
        memory = memory[padding : padding + nbytes]
        flags = pyopencl.mem_flags.READ_WRITE | pyopencl.mem_flags.USE_HOST_PTR
        return Pool(pyopencl.Buffer(self.context, flags, hostbuf=memory), nbytes, memory)

    def host_view(self, location: BufferLoc, nbytes: int) -> Bytes:
        pool = self.range(location, nbytes)
        if pool.memory is None:
            return np.empty(0, np.uint8)
        return pool.memory[location.offset : location.offset + nbytes]

    def map_host(self, pool_id: int, array: Bytes) -> None:
        """
        Makes the bytes of `array` pool `pool_id` until it is freed. The caller keeps `array` alive, and reads
        or writes it itself only while nothing launched is unfinished.
        """
        import pyopencl

        self._check_new(pool_id)
        assert array.dtype == np.uint8 and array.ndim == 1 and array.flags.c_contiguous, "not a row of bytes"
        flags = pyopencl.mem_flags
        access = flags.READ_WRITE if array.flags.writeable else flags.READ_ONLY

        def make_pool() -> Pool:
            if array.nbytes == 0:
                return Pool(pyopencl.Buffer(self.context, flags.READ_WRITE, 1), 0)
            buffer = pyopencl.Buffer(self.context, access | flags.USE_HOST_PTR, hostbuf=array)
            return Pool(buffer, array.nbytes, array)

        self._add_pool(pool_id, array.nbytes, make_pool)


@dataclass(frozen=True, slots=True)
class _Rectangle:
    """A strided copy as OpenCL has it: a region of up to three dims, and the pitches of both sides."""

    region: tuple[int, int, int]
    target_pitches: tuple[int, int]
    source_pitches: tuple[int, int]

    @staticmethod
    def of(box: StridedBox) -> _Rectangle | None:
        """Returns `box` as a rectangle, None where it has too many axes or its runs go back or overlap."""
        if len(box.extents) > 2:
            return None
        rows, slices = (*box.extents[::-1], 1, 1)[:2]
        target = _pitches(box.target_strides, rows, box.run_nbytes)
        source = _pitches(box.source_strides, rows, box.run_nbytes)
        if target is None or source is None:
            return None
        return _Rectangle((box.run_nbytes, rows, slices), target, source)


def _pitches(strides: tuple[int, ...], rows: int, run_nbytes: int) -> tuple[int, int] | None:
    row = strides[-1] if strides else run_nbytes
    slice = strides[-2] if len(strides) > 1 else rows * row
    if row < run_nbytes or slice < rows * row or slice % row:
        return None
    return row, slice


def _enqueue_rectangle(queue: pyopencl.CommandQueue, target: Any, source: Any, **place: Any) -> None:
    """Copies between the host and a buffer; pyopencl's types have other names for the origins."""
    import pyopencl

    pyopencl.enqueue_copy(queue, target, source, **place)


def _described(place: StridedLoc) -> str:
    return f"{list(place.shape)} by {list(place.strides)} bytes at {place.start}"


def _row_major_nbytes(place: StridedLoc) -> tuple[int, ...]:
    """Returns the strides in bytes that the elements of `place` would have without gaps."""
    return tuple(stride * place.itemsize for stride in row_major_strides(place.shape))
