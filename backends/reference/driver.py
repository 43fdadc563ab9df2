"""The host's memory, and kernels interpreted in the calling thread."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import SSAValue

from ...errors import CallError, DeviceError
from ...semantics.errors import InterpreterError
from ...semantics.numpy_types import Array, dtype_of
from ..host_memory import HostMemory
from ..interface import BufferLoc, CallableKernel, CompiledArtifact, Program
from ..launch_errors import check_extents, no_kernel, wrong_arity
from ..serial_program import SerialProgram
from ..steps import Step
from .kernels.low import PreparedKernel


class ReferenceDriver(HostMemory):
    """A launch returns when the kernel has run. Several threads may launch at the same time."""

    def __init__(self) -> None:
        super().__init__("reference")

    def get_kernel(self, artifact: CompiledArtifact, name: str) -> CallableKernel:
        """Raises `DeviceError` where the artifact has no kernel `@name`."""
        if name not in artifact.entry_points:
            raise no_kernel("reference", name, artifact.entry_points)
        return CallableKernel(artifact.native[name], name)

    def launch(
        self,
        kernel: CallableKernel,
        grid: Sequence[int],
        block: Sequence[int] | None,
        arguments: Sequence[BufferLoc],
        sizes: Sequence[int] = (),
    ) -> None:
        """Raises `DeviceError` also where the kernel does what is undefined: indices out of bounds, races."""
        prepared = kernel.native
        assert isinstance(prepared, PreparedKernel), f"{kernel.name} is not a kernel of this backend"
        wanted = prepared.kernel.body.block.args
        if len(sizes) + len(arguments) != len(wanted):
            raise wrong_arity("reference", kernel.name, len(wanted), len(arguments) + len(sizes))
        block, compiled = prepared.block if block is None else block, prepared.grid_for(sizes)
        check_extents("reference", kernel.name, grid, block, compiled, prepared.block)
        arrays = [np.array(size, np.int64) for size in sizes]
        arrays += [
            self._array(location, argument)
            for location, argument in zip(arguments, wanted[len(sizes) :], strict=True)
        ]
        try:
            prepared.run(arrays, tuple(grid))
        except (InterpreterError, CallError) as error:
            raise DeviceError(f"reference: @{kernel.name}: {error}") from error

    def bind(
        self, artifact: CompiledArtifact, steps: Sequence[Step], locations: Sequence[BufferLoc | None]
    ) -> Program:
        return SerialProgram(self, artifact, steps, locations)

    def new_stream(self) -> ReferenceDriver:
        """Returns this one: what runs in the calling thread may run in several."""
        return self

    def synchronize(self) -> None:
        """Returns at once: a launch has already waited for its kernel."""

    def _array(self, location: BufferLoc, argument: SSAValue) -> Array:
        """Returns the memory at `location` as an argument; of unknown extent it is the pool's rest."""
        type = argument.type
        assert isinstance(type, MemRefType), f"{type} is no buffer"
        dtype, shape = dtype_of(argument.type), type.get_shape()
        if DYNAMIC_INDEX in shape:
            rest = self._pool(location.pool_id).memory.nbytes - location.offset
            nbytes = rest - rest % dtype.itemsize
        else:
            nbytes = prod(shape) * dtype.itemsize
        return self._bytes(location, nbytes).view(dtype)
