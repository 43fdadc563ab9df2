"""The host's memory, and kernels called in the calling thread."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import DeviceError
from ..interface import BufferLoc, CallableKernel, CompiledArtifact
from .compile import NativeCode
from .entry_points import EntryPoint

_CACHE_LINE = 64


@dataclass(frozen=True, slots=True)
class _LoadedKernel:
    entry_point: EntryPoint
    call: Callable[[Any], None]
    table_type: type[ctypes.Array[ctypes.c_void_p]]
    owner: NativeCode


@dataclass
class CpuDriver:
    """
    Pools are byte arrays of this process, or host arrays mapped in. A launch returns when the kernel has run;
    it releases the interpreter's lock meanwhile. Not for use from several threads at once.
    """

    _pools: dict[int, npt.NDArray[np.uint8]] = field(default_factory=dict[int, npt.NDArray[np.uint8]])
    _addresses: dict[int, int] = field(default_factory=dict[int, int])

    def alloc_pool(self, pool_id: int, nbytes: int, alignment: int) -> None:
        """Aligns to `alignment` or a cache line, whichever is more; the bytes hold anything."""
        self._check_unused(pool_id)
        alignment = max(alignment, _CACHE_LINE)
        try:
            memory = np.empty(nbytes + alignment, np.uint8)
        except (MemoryError, ValueError) as error:
            raise DeviceError(f"llvm: cannot allocate {nbytes} bytes for pool {pool_id}") from error
        padding = -memory.ctypes.data % alignment
        self._add(pool_id, memory[padding : padding + nbytes])

    def map_host(self, pool_id: int, array: npt.NDArray[np.uint8]) -> None:
        self._check_unused(pool_id)
        assert array.dtype == np.uint8 and array.ndim == 1 and array.flags.c_contiguous, "not a row of bytes"
        self._add(pool_id, array)

    def free_pool(self, pool_id: int) -> None:
        self._pool(pool_id)
        del self._pools[pool_id], self._addresses[pool_id]

    def copy_to_device(self, target: BufferLoc, source: npt.NDArray[Any]) -> None:
        assert source.flags.c_contiguous, "the source is not contiguous"
        self._bytes(target, source.nbytes)[:] = source.reshape(-1).view(np.uint8)

    def copy_from_device(self, target: npt.NDArray[Any], source: BufferLoc) -> None:
        assert target.flags.c_contiguous, "the target is not contiguous"
        target.reshape(-1).view(np.uint8)[:] = self._bytes(source, target.nbytes)

    def copy_on_device(self, target: BufferLoc, source: BufferLoc, nbytes: int) -> None:
        self._bytes(target, nbytes)[:] = self._bytes(source, nbytes)

    def memset_zero(self, target: BufferLoc, nbytes: int) -> None:
        self._bytes(target, nbytes)[:] = 0

    def get_kernel(self, artifact: CompiledArtifact, name: str) -> CallableKernel:
        native = artifact.native
        assert isinstance(native, NativeCode), f"not an artifact of llvm: {native}"
        assert name in native.addresses, f"no kernel @{name} among {artifact.entry_points}"
        entry_point = native.entry_points[name]
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(native.addresses[name])
        loaded = _LoadedKernel(entry_point, call, ctypes.c_void_p * entry_point.n_arguments, native)
        return CallableKernel(loaded, name)

    def launch(
        self,
        kernel: CallableKernel,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: Sequence[BufferLoc],
    ) -> None:
        loaded: _LoadedKernel = kernel.native
        entry_point = loaded.entry_point
        assert (tuple(grid), tuple(block)) == (entry_point.grid, entry_point.block), (
            f"@{kernel.name} is compiled for grid {entry_point.grid} block {entry_point.block}, "
            f"launched with grid {tuple(grid)} block {tuple(block)}"
        )
        assert len(arguments) == entry_point.n_arguments, (
            f"@{kernel.name} takes {entry_point.n_arguments} arguments, got {len(arguments)}"
        )
        loaded.call(loaded.table_type(*[self._address(location) for location in arguments]))

    def synchronize(self) -> None:
        """Returns at once: a launch has already waited for its kernel."""

    def _add(self, pool_id: int, memory: npt.NDArray[np.uint8]) -> None:
        self._pools[pool_id] = memory
        self._addresses[pool_id] = memory.ctypes.data

    def _check_unused(self, pool_id: int) -> None:
        if pool_id in self._pools:
            raise DeviceError(f"llvm: pool {pool_id} is already allocated")

    def _pool(self, pool_id: int) -> npt.NDArray[np.uint8]:
        if pool_id not in self._pools:
            raise DeviceError(f"llvm: pool {pool_id} is not allocated")
        return self._pools[pool_id]

    def _address(self, location: BufferLoc) -> int:
        pool = self._pool(location.pool_id)
        assert 0 <= location.offset <= pool.nbytes, f"{location} is outside its {pool.nbytes} bytes"
        return self._addresses[location.pool_id] + location.offset

    def _bytes(self, location: BufferLoc, nbytes: int) -> npt.NDArray[np.uint8]:
        pool = self._pool(location.pool_id)
        end = location.offset + nbytes
        assert 0 <= location.offset <= end <= pool.nbytes, (
            f"{location} to {end:#x} is outside its {pool.nbytes} bytes"
        )
        return pool[location.offset : end]
