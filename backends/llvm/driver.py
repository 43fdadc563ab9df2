"""The host's memory and processors."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from ..host_memory import HostMemory
from ..interface import ArrayBuffers, BufferLoc, CallableKernel, CompiledArtifact
from ..steps import Step
from .compile import NativeCode
from .entry_points import EntryPoint
from .native.object_layout import is_layout_known
from .programs.direct_program import DirectProgram
from .programs.program import CpuProgram
from .thread_limit import num_threads
from .threads import get_num_threads


@dataclass(frozen=True, slots=True)
class _LoadedKernel:
    entry_point: EntryPoint
    call: Callable[[Any, int, int], None]
    table_type: type[ctypes.Array[ctypes.c_void_p]]
    owner: NativeCode


class CpuDriver(HostMemory):
    """
    The memory of this process, and kernels that run in it: in the calling thread, and where they are large in
    the threads of the process's pool. A launch or a run returns when it is done; it releases the
    interpreter's lock meanwhile. Several threads may launch and run at the same time.
    """

    def __init__(self) -> None:
        super().__init__("llvm")

    @property
    def n_workers(self) -> int:
        return get_num_threads()

    def share(self, count: int) -> AbstractContextManager[None]:
        return num_threads(max(1, get_num_threads() // count))

    def get_kernel(self, artifact: CompiledArtifact, name: str) -> CallableKernel:
        native = artifact.native
        assert isinstance(native, NativeCode), f"not an artifact of llvm: {native}"
        entry_point = native.entry_point(name)
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(native.addresses[name])
        loaded = _LoadedKernel(entry_point, call, ctypes.c_void_p * entry_point.n_arguments, native)
        return CallableKernel(loaded, name)

    def launch(
        self,
        kernel: CallableKernel,
        grid: Sequence[int],
        block: Sequence[int] | None,
        arguments: Sequence[BufferLoc],
        sizes: Sequence[int] = (),
    ) -> None:
        loaded: _LoadedKernel = kernel.native
        runs = loaded.entry_point.runs(grid, block)
        loaded.entry_point.check_arity(len(sizes) + len(arguments))
        table = loaded.table_type(*sizes, *[self.address(location) for location in arguments])
        for begin, end in runs:
            loaded.call(table, begin, end)

    def bind(
        self, artifact: CompiledArtifact, steps: Sequence[Step], locations: Sequence[BufferLoc | None]
    ) -> CpuProgram:
        return CpuProgram(self, artifact, steps, locations)

    def bind_direct(
        self,
        artifact: CompiledArtifact,
        steps: Sequence[Step],
        arguments: Sequence[ArrayBuffers],
        results: Sequence[ArrayBuffers],
    ) -> DirectProgram | None:
        return DirectProgram(self, artifact, steps, arguments, results) if is_layout_known() else None

    def new_stream(self) -> CpuDriver:
        """Returns this one: what runs in the calling thread may run in several."""
        return self

    def synchronize(self) -> None:
        """Returns at once: a launch has already waited for its kernel."""
