"""
What a backend is: one Protocol per concern, and the records that cross between them.

A backend takes a module of `low.kernel`s through `Renderer` and `Compiler` to an artifact whose entry points
its `Driver` launches. Shared code names memory by `BufferLoc` only; the address behind it never leaves the
driver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute


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


class DeviceInfo(Protocol):
    """The limits of one device, as far as code generation asks for them."""

    @property
    def name(self) -> str: ...

    @property
    def vector_nbytes(self) -> int:
        """Bytes of the widest vector that arithmetic is done in."""
        ...

    @property
    def max_shared_nbytes(self) -> int:
        """Bytes of memory that the work-items of one work-group share."""
        ...

    @property
    def max_block(self) -> tuple[int, int, int]:
        """The largest work-group, x first."""
        ...

    @property
    def max_buffer_nbytes(self) -> int:
        """The largest single allocation in bytes."""
        ...

    def supports(self, element_type: Attribute) -> bool:
        """Returns whether kernels may load, store and convert `element_type`."""
        ...


class Renderer(Protocol):
    """Turns a module of `low.kernel`s into source text. The same module gives the same bytes."""

    @property
    def suffix(self) -> str:
        """The source file's suffix: `.ll`, `.cl`."""
        ...

    def render(self, module: ModuleOp, device: DeviceInfo) -> str:
        """Raises `DiagnosticException` naming the op that this target or device cannot express."""
        ...


class Compiler(Protocol):
    """Turns source text into an artifact with entry points."""

    def compile(self, source: str, device: DeviceInfo) -> CompiledArtifact:
        """Raises `KernelCompileError` with the compiler's own log."""
        ...


@runtime_checkable
class Disassembler(Protocol):
    """A compiler that can also show assembly."""

    def assembly(self, source: str, device: DeviceInfo) -> str: ...


class Memory(Protocol):
    """Pools of raw device memory. Pool ids are chosen by the caller. Errors are `DeviceError`s."""

    def alloc_pool(self, pool_id: int, nbytes: int, alignment: int) -> None: ...

    def free_pool(self, pool_id: int) -> None: ...

    def copy_to_device(self, target: BufferLoc, source: npt.NDArray[Any]) -> None:
        """Copies a contiguous host array. The host array may be changed as soon as the call returns."""
        ...

    def copy_from_device(self, target: npt.NDArray[Any], source: BufferLoc) -> None:
        """Fills a contiguous host array, after all work queued before. Blocks until it is filled."""
        ...

    def copy_on_device(self, target: BufferLoc, source: BufferLoc, nbytes: int) -> None: ...

    def memset_zero(self, target: BufferLoc, nbytes: int) -> None: ...


@runtime_checkable
class HostMapped(Protocol):
    """A driver whose kernels can work in host arrays directly, without a copy."""

    def map_host(self, pool_id: int, array: npt.NDArray[np.uint8]) -> None:
        """Makes the bytes of `array` pool `pool_id` until it is freed. The caller keeps `array` alive."""
        ...


class Launcher(Protocol):
    """Runs kernels in the order they are launched."""

    def get_kernel(self, artifact: CompiledArtifact, name: str) -> CallableKernel: ...

    def launch(
        self,
        kernel: CallableKernel,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: Sequence[BufferLoc],
    ) -> None:
        """Queues one launch. `grid` counts work-groups, `block` work-items of one; both x first."""
        ...

    def synchronize(self) -> None:
        """Blocks until everything launched has finished."""
        ...


class Driver(Memory, Launcher, Protocol):
    """One device's memory and its one in-order queue."""


@dataclass(frozen=True)
class Backend:
    """A named device with all it takes to run `low` modules on it."""

    name: str
    device: DeviceInfo
    renderer: Renderer
    compiler: Compiler
    driver: Driver
