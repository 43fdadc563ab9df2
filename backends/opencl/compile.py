"""Builds OpenCL C with the device's own compiler."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from ...errors import KernelCompileError
from ..interface import CompiledArtifact, DeviceInfo

if TYPE_CHECKING:
    import pyopencl

_LOCK = Lock()
"""Held while anything is built: the warnings of Python are silenced meanwhile, which concerns all threads."""

_KERNEL = re.compile(r"^__kernel void (\w+)\(", re.MULTILINE)


@dataclass(frozen=True)
class OpenCLCompiler:
    """
    Builds programs for the one device of `context`. An artifact's `native` is a `pyopencl.Program`. Any
    thread may compile; one does at a time.
    """

    context: pyopencl.Context
    device: pyopencl.Device

    def compile(self, source: str, device: DeviceInfo) -> CompiledArtifact:
        """Raises `KernelCompileError` with the compiler's own log."""
        import pyopencl

        with _LOCK, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = pyopencl.Program(self.context, source)
            # asking before the build is how pyopencl is kept from caching binaries on disk
            program.get_info(pyopencl.program_info.NUM_DEVICES)
            try:
                program.build(self._options())
            except pyopencl.Error:
                log: object = program.get_build_info(  # pyright: ignore[reportUnknownMemberType]
                    self.device, pyopencl.program_build_info.LOG
                )
                names = ", ".join(_KERNEL.findall(source)) or "no kernel"
                message = f"opencl: cannot compile {names} for device {device.name}"
                raise KernelCompileError(message, str(log).strip()) from None
            kernels = tuple(kernel.function_name for kernel in program.all_kernels())
        return CompiledArtifact(program, kernels)

    def _options(self) -> list[str]:
        import pyopencl

        options = ["-cl-std=CL1.2", "-w"]
        if self.device.single_fp_config & pyopencl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT:
            options.append("-cl-fp32-correctly-rounded-divide-sqrt")
        return options
