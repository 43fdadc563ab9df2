"""Compiles C by gcc, loads it into this process and calls it."""

from __future__ import annotations

import ctypes
import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from tenon.backends.compile_options import chosen_options
from tenon.backends.host_memory import HostMemory
from tenon.backends.interface import (
    BufferLoc,
    CallableKernel,
    CompiledArtifact,
    CompileOptions,
    DeviceInfo,
    Program,
)
from tenon.backends.launch_errors import check_extents, no_kernel, wrong_arity
from tenon.backends.serial_program import SerialProgram
from tenon.backends.steps import Step
from tenon.errors import KernelCompileError

DEFAULTS: CompileOptions = MappingProxyType({"flags": ("-O3", "-march=native")})

# What `low` means: integers wrap, each float op rounds once, and a bit cast reads what is there.
SEMANTICS = ("-std=gnu11", "-fwrapv", "-ffp-contract=off", "-fno-strict-aliasing")


@dataclass(frozen=True)
class CKernel:
    """A function of a library, and what its kernel takes: arguments, and work-groups where that is known."""

    function: Any
    n_arguments: int
    grid: tuple[int | None, ...]
    block: tuple[int, ...]


class GccCompiler:
    """Any thread may compile: each call is a process of its own."""

    def default_options(self, device: DeviceInfo) -> CompileOptions:
        """`flags`: what gcc is told beside what `low` asks for."""
        return DEFAULTS

    def compile(
        self, source: str, device: DeviceInfo, options: CompileOptions | None = None
    ) -> CompiledArtifact:
        """Raises `KernelCompileError` that names the kernels, with what gcc says."""
        flags = chosen_options("gcc", DEFAULTS, options)["flags"]
        try:
            kernels: dict[str, Any] = json.loads(source.partition("\n")[0].removeprefix("//"))
        except json.JSONDecodeError as error:
            raise KernelCompileError("gcc: the first line names no kernels", str(error)) from error
        with TemporaryDirectory(prefix="tenon-gcc-") as folder:
            path = Path(folder) / "kernels.so"
            command = ["gcc", *SEMANTICS, *flags, "-shared", "-fPIC", "-x", "c", "-", "-o", str(path), "-lm"]
            done = subprocess.run(command, input=source, capture_output=True, text=True)
            if done.returncode != 0:
                # gcc names the functions that it stumbles over; none, where it does so before it reads them.
                guilty = [name for name, kernel in kernels.items() if kernel["function"] in done.stderr]
                names = ", ".join(f"@{name}" for name in guilty or kernels)
                raise KernelCompileError(f"gcc: cannot compile {names}", done.stderr)
            library = ctypes.CDLL(str(path))
        native = {
            name: CKernel(
                getattr(library, kernel["function"]),
                kernel["n_arguments"],
                tuple(kernel["grid"]),
                tuple(kernel["block"]),
            )
            for name, kernel in kernels.items()
        }
        return CompiledArtifact(native, tuple(native))


class CDriver(HostMemory):
    """A launch returns when the kernel has run, in the calling thread. Used by one thread at a time."""

    def __init__(self) -> None:
        super().__init__("gcc")

    def get_kernel(self, artifact: CompiledArtifact, name: str) -> CallableKernel:
        """Raises `DeviceError` where the artifact has no kernel `@name`."""
        if name not in artifact.entry_points:
            raise no_kernel("gcc", name, artifact.entry_points)
        return CallableKernel(artifact.native[name], name)

    def launch(
        self,
        kernel: CallableKernel,
        grid: Sequence[int],
        block: Sequence[int] | None,
        arguments: Sequence[BufferLoc],
        sizes: Sequence[int] = (),
    ) -> None:
        """Raises `DeviceError` where the number of arguments, the grid or the block does not fit."""
        native: CKernel = kernel.native
        if len(sizes) + len(arguments) != native.n_arguments:
            raise wrong_arity("gcc", kernel.name, native.n_arguments, len(sizes) + len(arguments))
        check_extents("gcc", kernel.name, grid, block or native.block, native.grid, native.block)
        addresses = [self.address(location) for location in arguments]
        native.function(
            (ctypes.c_int64 * 3)(*grid),
            (ctypes.c_int64 * len(sizes))(*sizes),
            (ctypes.c_void_p * len(addresses))(*addresses),
        )

    def bind(
        self, artifact: CompiledArtifact, steps: Sequence[Step], locations: Sequence[BufferLoc | None]
    ) -> Program:
        return SerialProgram(self, artifact, steps, locations)

    def synchronize(self) -> None:
        """Returns at once: a launch has already waited for its kernel."""
