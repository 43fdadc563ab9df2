"""
Compiles LLVM IR to machine code in this process, through llvmlite.

A kernel with vectors was vectorised when it was made, with its loops as they should be: LLVM's middle end
makes such code no faster and takes longer than all the rest, so it goes straight to the code generator. Those
that have no vectors at all take the middle end's O3 with loop vectorisation, in a module of their own.

Loop strength reduction takes 13 to 42 % of code generation. It is left out for kernels that do not need it:
what is loaded here is an object file of the others, and one of those.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from types import MappingProxyType
from typing import Any

from ...errors import DeviceError, KernelCompileError
from ..compile_options import chosen_options
from ..interface import CompiledArtifact, CompileOptions, DeviceInfo
from ..launch_errors import no_kernel
from .code_image import CodeImage
from .device import CpuDevice
from .entry_points import EntryPoint, find_entry_points
from .kernel_groups import KernelGroups, group_kernels
from .library import llvmlite_binding, llvmlite_version, new_engine
from .processors import Processor, host_processor

MOST_LIBRARIES = 16
"""
How many libraries an engine loads, and so of how many that are gone one that is used can keep what is left.
To make an engine takes a millisecond, to load a library 0.15.
"""


_DEFAULT_OPTIONS: CompileOptions = MappingProxyType(
    {"speed_level": 3, "vectorize_loops": True, "vectorize_statements": True}
)


@dataclass(frozen=True)
class NativeCode:
    """Loaded machine code: where each kernel's entry point is. `owner` keeps it loaded."""

    entry_points: Mapping[str, EntryPoint]
    addresses: Mapping[str, int]
    owner: tuple[Any, ...]

    def entry_point(self, kernel: str) -> EntryPoint:
        """Raises `DeviceError` where there is no such kernel."""
        found = self.entry_points.get(kernel)
        if found is None:
            raise no_kernel("llvm", kernel, tuple(self.entry_points))
        return found


@dataclass
class LLVMCompiler:
    """
    Owns a just-in-time engine. What it compiled stays loaded as long as its artifact lives. Any thread may
    compile; one does at a time.
    """

    most_libraries: int = MOST_LIBRARIES
    """After so many libraries it takes another engine."""
    _machines: dict[Processor, Any] = field(default_factory=dict[Processor, Any])
    _engine: Any = None
    _n_libraries: int = 0
    _fingerprints: dict[DeviceInfo, str] = field(default_factory=dict[DeviceInfo, str])
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def default_options(self, device: DeviceInfo) -> CompileOptions:
        """
        `speed_level` is the level of LLVM's middle end, 0 to 3, for kernels without vectors; with
        `vectorize_loops` and `vectorize_statements` it makes vectors of their loops, and of statements side
        by side.
        """
        return _DEFAULT_OPTIONS

    def compile(
        self, source: str, device: DeviceInfo, options: CompileOptions | None = None
    ) -> CompiledArtifact:
        return self.load(self.image(source, device, options), device)

    def assembly(self, source: str, device: DeviceInfo) -> str:
        """Returns the assembly that `compile` would load. Raises `KernelCompileError` likewise."""
        with self._lock:
            module, machine, reduces = self._optimized(source, device)
            with _strength_reduction(reduces):
                return machine.emit_assembly(module)

    def object_code(self, source: str, device: DeviceInfo) -> bytes:
        """
        Returns an object file of the code that `compile` would load, of this operating system's kind. Raises
        `KernelCompileError` likewise.
        """
        with self._lock:
            module, machine, reduces = self._optimized(source, device)
            with _strength_reduction(reduces):
                return machine.emit_object(module)

    def library_object(
        self, source: str, program: str, exported: Collection[str], device: DeviceInfo
    ) -> bytes:
        """
        Returns the object file of kernels and of `program`, LLVM IR that calls them. Of all functions only
        those that are `exported` are seen from outside. Raises `KernelCompileError` likewise.
        """
        with self._lock:
            module, machine, reduces = self._optimized(source, device, program)
            for function in module.functions:
                if not function.is_declaration and function.name not in exported:
                    function.linkage = "internal"
            with _strength_reduction(reduces):
                return machine.emit_object(module)

    def image(self, source: str, device: DeviceInfo, options: CompileOptions | None = None) -> bytes:
        """Returns what `CodeImage` is of the kernels, as bytes."""
        definitions = "".join(f"{found.definition()}\n" for found in find_entry_points(source))
        return CodeImage(definitions, self._objects(source, device, options)).to_bytes()

    def load(self, image: bytes, device: DeviceInfo) -> CompiledArtifact:
        """Raises `DeviceError` where this machine does not run code for the device."""
        if isinstance(device, CpuDevice) and device.unmet:
            raise DeviceError(f"llvm: {device.unmet}")
        with self._lock:
            return self._load(image)

    def fingerprint(self, device: DeviceInfo) -> str:
        found = self._fingerprints.get(device)
        if found is None:
            llvm = llvmlite_binding()
            # llvmlite chooses passes too.
            versions = f"{llvmlite_version()} LLVM {'.'.join(map(str, llvm.llvm_version_info))}"
            found = f"{CodeImage.VERSION} {versions} {llvm.get_process_triple()} {device}"
            self._fingerprints[device] = found
        return found

    def _objects(self, source: str, device: DeviceInfo, options: CompileOptions | None) -> tuple[bytes, ...]:
        """Returns the object files of the kernels that need strength reduction, and of the others."""
        chosen = chosen_options("llvm", _DEFAULT_OPTIONS, options)
        objects: list[bytes] = []
        with self._lock:
            machine = self._machine(device)
            for part in group_kernels(source).apart():
                module = self._module(part, machine, chosen)
                with _strength_reduction(part.reduce_strength):
                    objects.append(machine.emit_object(module))
        return tuple(objects)

    def _load(self, image: bytes) -> CompiledArtifact:
        if self._n_libraries % self.most_libraries == 0:
            self._engine = new_engine()
        code = CodeImage.from_bytes(image)
        entry_points = {found.kernel: found for found in find_entry_points(code.definitions)}
        builder = llvmlite_binding().JITLibraryBuilder().add_current_process()
        for each in code.objects:
            builder.add_object_img(each)
        for entry_point in entry_points.values():
            builder.export_symbol(entry_point.function)
        self._n_libraries += 1
        try:
            library = builder.link(self._engine, f"kernels{self._n_libraries}")
        except RuntimeError as error:
            raise KernelCompileError("llvm: the kernels do not link", str(error)) from error
        addresses = {kernel: library[found.function] for kernel, found in entry_points.items()}
        native = NativeCode(entry_points, addresses, (self._engine, library))
        return CompiledArtifact(native, tuple(entry_points))

    def _optimized(self, source: str, device: DeviceInfo, program: str = "") -> tuple[Any, Any, bool]:
        """
        Returns what `_module` does of all kernels by default, in their order, their compiler, and whether
        some need strength reduction.
        """
        machine = self._machine(device)
        groups = group_kernels(source)
        in_order = groups if groups.scalar else KernelGroups("", "", source)
        return self._module(in_order, machine, _DEFAULT_OPTIONS, program), machine, groups.reduce_strength

    def _module(self, groups: KernelGroups, machine: Any, chosen: CompileOptions, program: str = "") -> Any:
        """Returns kernels, those without vectors after the middle end, and a `program` that calls them."""
        # A context keeps every type and constant that it ever saw.
        context = llvmlite_binding().create_context()
        first, *others = [text for text in (groups.scalar, groups.stepping, groups.plain, program) if text]
        module = self._parsed(first, context, machine)
        if groups.scalar:
            self._optimize(module, machine, chosen)
        for text in others:
            module.link_in(self._parsed(text, context, machine))
        return module

    def _optimize(self, module: Any, machine: Any, chosen: CompileOptions) -> None:
        llvm = llvmlite_binding()
        options = llvm.create_pipeline_tuning_options(speed_level=chosen["speed_level"])
        options.loop_vectorization = chosen["vectorize_loops"]
        options.slp_vectorization = chosen["vectorize_statements"]
        passes = llvm.create_pass_builder(machine, options)
        manager = passes.getModulePassManager()
        manager.run(module, passes)
        # llvmlite means to free this itself, but its class inherits the method that does not. What watches
        # passes, 1.5 KiB in each pass builder, stays: nothing frees that.
        llvm.ffi.lib.LLVMPY_DisposeNewModulePassManger(manager)
        manager.detach()

    def _parsed(self, source: str, context: Any, machine: Any) -> Any:
        try:
            module = llvmlite_binding().parse_assembly(source, context)
            module.triple = machine.triple
            module.data_layout = str(machine.target_data)
            module.verify()
        except RuntimeError as error:
            raise KernelCompileError("llvm: the kernels do not compile", str(error)) from error
        return module

    def _machine(self, device: DeviceInfo) -> Any:
        llvm = llvmlite_binding()

        assert isinstance(device, CpuDevice), f"llvm cannot compile for {device}"
        processor = device.processor
        if processor not in self._machines:
            if processor.arch == host_processor().arch:
                llvm.initialize_native_target()
                llvm.initialize_native_asmprinter()
            else:
                llvm.initialize_all_targets()
                llvm.initialize_all_asmprinters()
            self._machines[processor] = llvm.Target.from_triple(processor.triple).create_target_machine(
                cpu=processor.cpu, features=processor.features, opt=2, reloc="pic", codemodel="small"
            )
        return self._machines[processor]


@contextmanager
def _strength_reduction(reduces: bool) -> Generator[None]:
    """
    Has the code generator reduce the strength of loops, or leave that out. The option is one of the process:
    what another thread compiles meanwhile is as right, and may be slower.
    """
    if reduces:
        yield
        return
    llvm = llvmlite_binding()
    llvm.set_option("", "-disable-lsr")
    try:
        yield
    finally:
        llvm.set_option("", "-disable-lsr=false")


@cache
def shared_compiler() -> LLVMCompiler:
    """Returns the compiler of this process: what it takes to load code is made once."""
    return LLVMCompiler()


if hasattr(os, "register_at_fork"):
    # Who holds the lock of the parent's is not in the child.
    os.register_at_fork(after_in_child=shared_compiler.cache_clear)
