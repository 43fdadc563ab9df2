"""
What a backend is: one Protocol per concern, and the records that cross between them.

A backend takes a module of `low.kernel`s through `Renderer` and `Compiler` to an artifact whose entry points
its `Driver` launches. Shared code names memory by `BufferLoc` only; the address behind it never leaves the
driver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from ..dialects.memory_modes import MemoryMode
from .steps import Step, StepTime


@dataclass(frozen=True, slots=True)
class BufferLoc:
    """A place in device memory: `offset` bytes into pool `pool_id` of one device."""

    pool_id: int
    offset: int

    def __str__(self) -> str:
        return f"pool {self.pool_id} + {self.offset:#x}"


@dataclass(frozen=True, slots=True)
class CompiledArtifact:
    """What a compiler made of one source text. `native` belongs to the backend."""

    native: Any
    entry_points: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CallableKernel:
    """An entry point ready to launch. `native` belongs to the backend."""

    native: Any
    name: str


class DeviceKind(StrEnum):
    """
    What schedules a device is given: `cpu` runs the work-items of a group one after the other, `gpu` many of
    them in step.
    """

    CPU = "cpu"
    GPU = "gpu"


class DeviceInfo(Protocol):
    """The limits of one device, as far as code generation asks for them."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> DeviceKind: ...

    @property
    def vector_nbytes(self) -> int:
        """Bytes of the widest vector that arithmetic is done in."""
        ...

    @property
    def vector_registers(self) -> int:
        """How many such vectors there are registers for; 0 where nobody tells: as many as x86 has of them."""
        ...

    @property
    def max_shared_nbytes(self) -> int:
        """Bytes of memory that the work-items of one work-group share."""
        ...

    @property
    def max_block(self) -> tuple[int, int, int]:
        """The most work-items along each dimension of a work-group, x first."""
        ...

    @property
    def max_items(self) -> int:
        """The most work-items of a work-group."""
        ...

    @property
    def group_multiple(self) -> int:
        """How many work-items run in step; groups of a multiple of it leave nothing idle."""
        ...

    @property
    def n_units(self) -> int:
        """How many work-groups run at once, at the least."""
        ...

    @property
    def cache_nbytes(self) -> tuple[int, int, int]:
        """Bytes of the first, second and last cache, the smallest first; equal ones are one cache."""
        ...

    @property
    def max_buffer_nbytes(self) -> int:
        """The largest single allocation in bytes."""
        ...

    def supports(self, element_type: Attribute) -> bool:
        """Returns whether kernels may load, store and convert `element_type`."""
        ...


@runtime_checkable
class LacksOps(Protocol):
    """
    A device whose backend has no rules for some ops of `low`, which passes expand before: `low.tile_fma`, and
    `vector`, all ops on vectors.
    """

    @property
    def lacks(self) -> tuple[str, ...]:
        """What is never rendered: the names of ops or of a dialect, out of `passes.pipeline.EXPANSIONS`."""
        ...


@runtime_checkable
class MultipliesBytes(Protocol):
    """A device that tells whether it adds up products of bytes four at a time: with a sign by without one."""

    @property
    def multiplies_bytes(self) -> bool: ...


def lacked_by(device: DeviceInfo) -> tuple[str, ...]:
    """Returns the ops that are to be expanded before a device's kernels are rendered."""
    return device.lacks if isinstance(device, LacksOps) else ()


class Renderer(Protocol):
    """Turns a module of `low.kernel`s into source text. The same module gives the same bytes."""

    @property
    def suffix(self) -> str:
        """The source file's suffix: `.ll`, `.cl`."""
        ...

    def render(self, module: ModuleOp, device: DeviceInfo) -> str:
        """Raises `DiagnosticException` naming the op that this target or device cannot express."""
        ...


CompileOptions = Mapping[str, Any]
"""What a compiler may be told, by name: each compiler has its own."""


class Compiler(Protocol):
    """Turns source text into an artifact with entry points."""

    def default_options(self, device: DeviceInfo) -> CompileOptions:
        """Returns all options that `compile` takes, with the values of those that are left out."""
        ...

    def compile(
        self, source: str, device: DeviceInfo, options: CompileOptions | None = None
    ) -> CompiledArtifact:
        """
        Raises:
            KernelCompileError: the compiler rejects the source; with the compiler's own log.
            TenonError: there is no such option.
        """
        ...


@runtime_checkable
class ImageCompiler(Compiler, Protocol):
    """
    A compiler whose output can be kept as bytes. `compile(source, device, options)` does what
    `load(image(source, device, options), device)` does.
    """

    def image(self, source: str, device: DeviceInfo, options: CompileOptions | None = None) -> bytes:
        """Returns what `source` compiles to. Raises what `compile` raises."""
        ...

    def load(self, image: bytes, device: DeviceInfo) -> CompiledArtifact:
        """Raises `KernelCompileError` where `image` is not for this device or was not made by `image`."""
        ...

    def fingerprint(self, device: DeviceInfo) -> str:
        """Returns what images are for: an image is loaded only where this is the same."""
        ...


@runtime_checkable
class MachineCode(Protocol):
    """
    A compiler that can also give its machine code away, whether or not this machine runs it. Both raise
    `KernelCompileError` with the compiler's own log.
    """

    def assembly(self, source: str, device: DeviceInfo) -> str: ...

    def object_code(self, source: str, device: DeviceInfo) -> bytes:
        """Returns an object file, for a linker."""
        ...


@runtime_checkable
class Targeted(Protocol):
    """A device that is chosen by name, and need not be one of this machine's."""

    @property
    def unmet(self) -> str:
        """Why code for this device does not run in this process, empty where it does."""
        ...


def unmet_by_host(device: DeviceInfo) -> str:
    """Returns why code for a device does not run in this process, empty where it does."""
    return device.unmet if isinstance(device, Targeted) else ""


@dataclass(frozen=True, slots=True)
class StridedLoc:
    """
    Elements in device memory that need not be neighbours: element `(i, j, ...)` of `shape` has its `itemsize`
    bytes at `start.offset + i * strides[0] + j * strides[1] + ...` of pool `start.pool_id`. Strides are bytes
    and may be negative.
    """

    start: BufferLoc
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int

    def span(self) -> tuple[int, int]:
        """Returns the offsets of the first byte and of the end; both are the start's if there is none."""
        begin = end = self.start.offset
        if 0 in self.shape:
            return begin, end
        for extent, stride in zip(self.shape, self.strides, strict=True):
            if stride < 0:
                begin += (extent - 1) * stride
            else:
                end += (extent - 1) * stride
        return begin, end + self.itemsize

    def check_fits(self, array: npt.NDArray[Any]) -> None:
        """Asserts that a host array has this shape and itemsize."""
        assert (array.shape, array.itemsize) == (self.shape, self.itemsize), (
            f"host array of {list(array.shape)} by {array.itemsize} bytes, "
            f"device memory of {list(self.shape)} by {self.itemsize}"
        )

    def check_alike(self, source: StridedLoc) -> None:
        """Asserts that another place has this shape and itemsize."""
        assert (source.shape, source.itemsize) == (self.shape, self.itemsize), (
            f"source of {list(source.shape)} by {source.itemsize} bytes, "
            f"target of {list(self.shape)} by {self.itemsize}"
        )


class Memory(Protocol):
    """
    Pools of raw device memory. Pool ids are chosen by the caller. Copies that take or give host arrays block;
    all run in the order of the device's queue. Errors are `DeviceError`s: `OutOfMemoryError` where the device
    has not that much memory, `DeviceLostError` where it works no more.
    """

    def alloc_pool(self, pool_id: int, nbytes: int, alignment: int, mode: MemoryMode | None = None) -> None:
        """
        Makes pool `pool_id`; its bytes hold anything. `mode` says what it is for, and may choose the kind of
        memory: what is hosted lies where the host reaches it fast.
        """
        ...

    def free_pool(self, pool_id: int) -> None:
        """Gives the pool back, after the work queued before that uses it."""
        ...

    def memset_zero(self, target: BufferLoc, nbytes: int) -> None: ...

    def copy_to_device(self, target: BufferLoc, source: npt.NDArray[Any]) -> None:
        """Copies a contiguous host array. The host array may be changed as soon as the call returns."""
        ...

    def copy_from_device(self, target: npt.NDArray[Any], source: BufferLoc) -> None:
        """Fills a contiguous host array, after all work queued before. Blocks until it is filled."""
        ...

    def copy_on_device(self, target: BufferLoc, source: BufferLoc, nbytes: int) -> None: ...

    def copy_strided_to_device(self, target: StridedLoc, source: npt.NDArray[Any]) -> None:
        """As `copy_to_device`, from a host array of the target's shape and itemsize with any strides."""
        ...

    def copy_strided_from_device(self, target: npt.NDArray[Any], source: StridedLoc) -> None:
        """As `copy_from_device`, into a host array of the source's shape and itemsize with any strides."""
        ...

    def copy_strided_on_device(self, target: StridedLoc, source: StridedLoc) -> None:
        """Copies between places of one shape and itemsize that do not overlap."""
        ...


@runtime_checkable
class HostMapped(Protocol):
    """A driver whose kernels can work in host arrays directly, without a copy."""

    def map_host(self, pool_id: int, array: npt.NDArray[np.uint8]) -> None:
        """Makes the bytes of `array` pool `pool_id` until it is freed. The caller keeps `array` alive."""
        ...


@runtime_checkable
class HostVisible(Protocol):
    """A driver whose pools the host can read and write where they are."""

    def host_view(self, location: BufferLoc, nbytes: int) -> npt.NDArray[np.uint8]:
        """
        Returns device memory as a row of bytes, without a copy and without waiting for queued work. The view
        is not to be used after the pool is freed.
        """
        ...


@runtime_checkable
class PinnedHost(Protocol):
    """A driver that can give host memory which it copies from and to faster, and without blocking."""

    def empty_host(self, nbytes: int) -> npt.NDArray[np.uint8]:
        """Returns new host memory that lives as long as the array and its views."""
        ...


@runtime_checkable
class PeerCopies(Protocol):
    """A driver that can copy from the memory of another driver of its kind without the host's help."""

    def reaches(self, peer: Memory) -> bool: ...

    def copy_from_peer(self, target: BufferLoc, peer: Memory, source: BufferLoc, nbytes: int) -> None:
        """Queues a copy here. The caller orders it after the work on `peer` that fills the source."""
        ...


@runtime_checkable
class Workers(Protocol):
    """A driver of which one can say how many work-groups run at the same time; else it is `n_units`."""

    @property
    def n_workers(self) -> int:
        """How many there are now, at most."""
        ...


@runtime_checkable
class SharedWorkers(Protocol):
    """A driver whose work-groups run on the processors that other devices have too."""

    def share(self, count: int) -> AbstractContextManager[None]:
        """
        Returns what a thread uses the device in while `count` of them work at the same time, each on its part
        of the workers that the thread which asks may use.
        """
        ...


def workers_of(backend: Backend) -> int:
    """Returns how many work-groups run at the same time on a device."""
    driver = backend.driver
    return driver.n_workers if isinstance(driver, Workers) else backend.device.n_units


class NativeEvent(Protocol):
    """A point in the queue of a driver."""

    def is_done(self) -> bool: ...

    def wait(self) -> None:
        """Blocks until the queue is past this point. Raises `DeviceError` where the work before it failed."""
        ...


@runtime_checkable
class Queued(Protocol):
    """
    A driver whose device works through a queue on its own, while the host goes on. Drivers without this
    ability have done their work when a call returns.
    """

    def record(self) -> NativeEvent:
        """Returns the point after all that is queued now."""
        ...

    def reaches_event(self, event: NativeEvent) -> bool:
        """Returns whether `wait_for` can take this event: it is of a driver that shares a context."""
        ...

    def wait_for(self, event: NativeEvent) -> None:
        """Makes work that is queued later wait for `event`. Does not block."""
        ...

    def queue_copy_to_device(self, target: BufferLoc, source: npt.NDArray[Any]) -> None:
        """As `copy_to_device`, but returns at once; the caller keeps `source` alive and unchanged."""
        ...

    def queue_copy_from_device(self, target: npt.NDArray[Any], source: BufferLoc) -> None:
        """As `copy_from_device`, but returns at once; the caller keeps `target` alive."""
        ...


@runtime_checkable
class Streams(Protocol):
    """A driver whose device can work through several queues at the same time, all on the same pools."""

    def new_stream(self) -> Driver:
        """
        Returns a driver of the same pools with a queue of its own, which another thread may use while this
        one is used; this one itself, where calls run in the thread that makes them and many may run at once.
        Pools come and go by this one only, and those that come may have negative ids. A pool that goes is not
        used by work that is queued on any of them later. The result is `Queued` if this one is, and each can
        wait for the events of the other. Any thread may call this, at any time.
        """
        ...


class Program(Protocol):
    """
    The steps of a program with the places of its buffers, ready to run as one piece. Owned by one thread at a
    time.
    """

    def place(self, buffer: int, location: BufferLoc) -> None:
        """Moves a buffer for the runs to come. Buffers may lie in pools that are allocated only by then."""
        ...

    def run(self) -> None:
        """Queues all steps: one native call or one batch. Raises `DeviceError` naming the kernel at fault."""
        ...

    def run_timed(self) -> list[StepTime]:
        """Runs all steps one after the other, waits for them, and returns when each of them ran."""
        ...


@dataclass(frozen=True, slots=True)
class ArrayBuffers:
    """
    An array that a call takes or gives: its dtype, shape and bytes, and the numbers of the buffers of the
    program that lie in its memory.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    nbytes: int
    buffers: tuple[int, ...]


class DirectProgram(Protocol):
    """
    The steps of a program that run in the arrays of its callers. Any thread may call, and many at the same
    time: each call has a frame to itself, which knows the places of all other buffers.
    """

    @property
    def call(self) -> Callable[[tuple[Any, ...], Any], Any]:
        """
        `call(arguments, out)` runs the program once it has checked the arrays, and returns when it has run.
        With `out` None it makes new arrays and returns the one, or a tuple of them, else it fills `out`, an
        array or a tuple of them, and returns it.

        It returns None, and has done nothing, where no frame is free or an array is not what the program was
        bound for: a plain contiguous one, writeable in `out`, where none overlaps another array.
        """
        ...

    @property
    def has_free_frame(self) -> bool: ...

    def add_frame(self, locations: Mapping[int, BufferLoc]) -> None:
        """
        Adds a frame: one more call may run at the same time. `locations` are the places of the buffers that
        are in no array; nothing else uses those that the steps write to.
        """
        ...

    def close(self) -> None:
        """Waits for the calls that run; later ones return None."""
        ...


@runtime_checkable
class CallProgram(Protocol):
    """A `DirectProgram` whose `call` is machine code, which calls of objects that have programs can go to."""

    @property
    def same_objects(self) -> Callable[[tuple[Any, ...]], bool]:
        """
        Returns whether objects are where they were. It takes a tuple: an owner, a key and a value, another
        owner and so on. The value is what a dict has for a string; or the attribute of another owner that the
        key names; or, where the key is None, a tuple of all items of a list, or of all keys and values of a
        dict. Owners are dicts and lists of these very classes, or any other objects. An error of an attribute
        says that it is another object.
        """
        ...

    def install_call(
        self,
        owner: object,
        *,
        programs: str,
        wrapper: type,
        values: str,
        about: str,
        idle: Sequence[tuple[list[Any], object]],
        otherwise: Callable[..., Any],
    ) -> bool:
        """
        Gives the class of `owner`, the one in a process whose objects are called so, its `__call__`.

        `programs` is the slot of these objects for a tuple: the `call` of a program that gives one array,
        what describes that, a list of what it gives to `same_objects`, the `call` of another one and so on.
        The first that takes the arguments, arrays or objects of `wrapper`, and whose objects are the same, is
        run, and its result is in a new wrapper, whose slots `values` and `about` are the array and what
        describes it. A call is left to `otherwise` where none takes it, and while the first item of one of
        the two lists of `idle` is not the object beside it.

        Returns whether it did: not where a slot is not found in the memory of its object.
        """
        ...


@runtime_checkable
class DirectCalls(Protocol):
    """A driver whose programs run in host arrays in the calling thread, without the driver's queue."""

    def bind_direct(
        self,
        artifact: CompiledArtifact,
        steps: Sequence[Step],
        arguments: Sequence[ArrayBuffers],
        results: Sequence[ArrayBuffers],
    ) -> DirectProgram | None:
        """Returns `steps` as a program without frames; None where this interpreter does not let it."""
        ...


class Launcher(Protocol):
    """Runs kernels in the order they are launched, and programs of many of them."""

    def get_kernel(self, artifact: CompiledArtifact, name: str) -> CallableKernel:
        """Raises `DeviceError` where the artifact has no kernel `@name`."""
        ...

    def launch(
        self,
        kernel: CallableKernel,
        grid: Sequence[int],
        block: Sequence[int] | None,
        arguments: Sequence[BufferLoc],
        sizes: Sequence[int] = (),
    ) -> None:
        """
        Queues one launch. `grid` counts work-groups, `block` work-items of one; both x first. A grid may be
        smaller than the kernel's own: then only its first work-groups run, in each dimension. None for the
        block is the kernel's own, and the only one it can have. `sizes` are the values of the kernel's dims,
        which are its arguments before the buffers; a kernel whose grid depends on them runs all of it.

        Raises:
            DeviceError: the number of arguments, the grid or the block does not fit the kernel.
        """
        ...

    def bind(
        self, artifact: CompiledArtifact, steps: Sequence[Step], locations: Sequence[BufferLoc | None]
    ) -> Program:
        """
        Returns `steps` as one program. `locations` are the places of its buffers by number, None for those
        that are placed before each run.
        """
        ...

    def synchronize(self) -> None:
        """Blocks until everything launched has finished."""
        ...


class Driver(Memory, Launcher, Protocol):
    """One device's memory and an in-order queue. Used by one thread at a time."""


@dataclass(frozen=True)
class Backend:
    """A named device with all it takes to run `low` modules on it."""

    name: str
    device: DeviceInfo
    renderer: Renderer
    compiler: Compiler
    driver: Driver
