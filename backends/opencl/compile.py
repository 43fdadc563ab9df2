"""Builds OpenCL C with the device's own compiler."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

from ...errors import KernelCompileError
from ..compile_options import chosen_options
from ..interface import CompiledArtifact, CompileOptions, DeviceInfo
from .device import is_pocl
from .emission.declarations import NO_HEADER, declared
from .pocl_library import library_options
from .pocl_processor import name_processor

if TYPE_CHECKING:
    import pyopencl

_LOCK = Lock()
"""Held while anything is built: the warnings of Python are silenced meanwhile, which concerns all threads."""

_KERNEL = re.compile(r"^__kernel void (\w+)\(", re.MULTILINE)


@dataclass(frozen=True)
class OpenCLCompiler:
    """
    Builds programs for the one device of `context`, and for `processor` where the device does not know its
    own. An artifact's `native` is a `pyopencl.Program`. Any thread may compile; one does at a time.
    """

    context: pyopencl.Context
    device: pyopencl.Device
    processor: str | None = field(init=False)

    def __post_init__(self) -> None:
        named = name_processor(self.device) if is_pocl(self.device) else None
        object.__setattr__(self, "processor", named)

    def default_options(self, device: DeviceInfo) -> CompileOptions:
        """`build_options`: the arguments of `clBuildProgram`, a tuple of texts."""
        return {"build_options": tuple(self._options())}

    def compile(
        self, source: str, device: DeviceInfo, options: CompileOptions | None = None
    ) -> CompiledArtifact:
        """Raises `KernelCompileError` with the compiler's own log."""
        chosen = chosen_options("opencl", self.default_options(device), options)
        with _LOCK, warnings.catch_warnings():
            return _artifact(self._built(source, device, chosen["build_options"]))

    def image(self, source: str, device: DeviceInfo, options: CompileOptions | None = None) -> bytes:
        """Returns the device's own binary. Raises `KernelCompileError` with the compiler's own log."""
        import pyopencl

        chosen = chosen_options("opencl", self.default_options(device), options)
        with _LOCK, warnings.catch_warnings():
            program = self._built(source, device, chosen["build_options"])
            binaries: Any = program.get_info(pyopencl.program_info.BINARIES)
        return binaries[0]

    def load(self, image: bytes, device: DeviceInfo) -> CompiledArtifact:
        """Raises `KernelCompileError` where the device takes no such binary."""
        import pyopencl

        with _LOCK, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                program = pyopencl.Program(self.context, [self.device], [image])
                program.build(self._options())
            except pyopencl.Error as error:
                message = f"opencl: device {device.name} takes no binary that it made before"
                raise KernelCompileError(message, str(error)) from None
            return _artifact(program)

    def fingerprint(self, device: DeviceInfo) -> str:
        found, platform = self.device, self.device.platform
        versions = (platform.name, platform.version, found.name, found.version, found.driver_version)
        return f"{versions} {self.processor} {self._options()} {device}"

    def _built(self, source: str, device: DeviceInfo, options: Sequence[str]) -> pyopencl.Program:
        """Returns what `source` is when it is built, as long as nothing else is."""
        import pyopencl

        warnings.simplefilter("ignore")
        short = declared(source) if is_pocl(self.device) else None
        if short is not None:
            program = self._program(short)
            # A text that calls more than is declared needs the header.
            with suppress(pyopencl.Error):
                return program.build([*options, NO_HEADER])
        program = self._program(source)
        try:
            program.build(list(options))
        except pyopencl.Error:
            log: object = program.get_build_info(  # pyright: ignore[reportUnknownMemberType]
                self.device, pyopencl.program_build_info.LOG
            )
            names = ", ".join(_KERNEL.findall(source)) or "no kernel"
            message = f"opencl: cannot compile {names} for device {device.name}"
            raise KernelCompileError(message, str(log).strip()) from None
        return program

    def _program(self, source: str) -> pyopencl.Program:
        import pyopencl

        program = pyopencl.Program(self.context, source)
        # asking before the build is how pyopencl is kept from caching binaries on disk
        program.get_info(pyopencl.program_info.NUM_DEVICES)
        return program

    def _options(self) -> list[str]:
        import pyopencl

        options = ["-cl-std=CL1.2", "-w"]
        if self.device.single_fp_config & pyopencl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT:
            options.append("-cl-fp32-correctly-rounded-divide-sqrt")
        if is_pocl(self.device):
            options += library_options(self.device)
        return options


def _artifact(program: pyopencl.Program) -> CompiledArtifact:
    return CompiledArtifact(program, tuple(kernel.function_name for kernel in program.all_kernels()))
