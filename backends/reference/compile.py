"""Reads kernels back from their text."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from types import MappingProxyType

from ...dialects import low
from ...dialects.modules.parsing import parse_module, verify_module
from ...errors import KernelCompileError, TenonError
from ..compile_options import chosen_options
from ..interface import CompiledArtifact, CompileOptions, DeviceInfo
from .kernels.low import PreparedKernel

_DEFAULT_OPTIONS: CompileOptions = MappingProxyType({"check_races": True})


@dataclass(frozen=True)
class ReferenceCompiler:
    """
    Parses and verifies kernels. An artifact's `native` are the `PreparedKernel`s by name, which hold nothing
    that a run changes. Any thread may compile; one does at a time.
    """

    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def default_options(self, device: DeviceInfo) -> CompileOptions:
        """`check_races`: whether runs look for work-items that disturb one another."""
        return _DEFAULT_OPTIONS

    def compile(
        self, source: str, device: DeviceInfo, options: CompileOptions | None = None
    ) -> CompiledArtifact:
        """Raises `KernelCompileError` with what is wrong in the text, and where."""
        chosen = chosen_options("reference", _DEFAULT_OPTIONS, options)
        with self._lock:
            try:
                module = parse_module(source, "<kernels>")
                verify_module(module)
                kernels = {
                    op.sym_name.data: PreparedKernel(op, check_races=chosen["check_races"])
                    for op in module.body.ops
                    if isinstance(op, low.KernelOp)
                }
            except TenonError as error:
                raise KernelCompileError("reference: the kernels do not compile", str(error)) from error
        return CompiledArtifact(kernels, tuple(kernels))
