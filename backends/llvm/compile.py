"""
Compiles LLVM IR to machine code in this process, through llvmlite.

A kernel with vectors was vectorised when it was made, with its loops as they should be: LLVM's middle end
makes such code no faster and takes longer than all the rest, so it goes straight to the code generator. Those
that have no vectors at all take the middle end's O3 with loop vectorisation, in a module of their own.
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
from .device import CpuDevice
from .entry_points import EntryPoint, find_entry_points
from .library import llvmlite_binding, llvmlite_version, new_engine
from .limits import NEEDS_STRENGTH_REDUCTION, SCALAR_LOOPS
from .processors import Processor, host_processor

MOST_LIBRARIES = 16
"""
How many libraries an engine loads, and so of how many that are gone one that is used can keep what is left.
To make an engine takes a millisecond, to load a library 0.15.
"""


_DEFAULT_OPTIONS: CompileOptions = MappingProxyType(
    {"speed_level": 3, "vectorize_loops": True, "vectorize_statements": True}
)

_BEGIN_OF_BODY, _END_OF_FUNCTION = " {\n", "\n}\n"
"""What stands in the text of a function before its body and behind it, and nowhere else."""


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
            module, machine = self._optimized(source, device, _DEFAULT_OPTIONS)
            with _strength_reduction(source):
                return machine.emit_assembly(module)

    def object_code(self, source: str, device: DeviceInfo) -> bytes:
        """
        Returns the object file that `compile` would load, of this operating system's kind. Raises
        `KernelCompileError` likewise.
        """
        return self._object_code(source, device, None)

    def library_object(
        self, source: str, program: str, exported: Collection[str], device: DeviceInfo
    ) -> bytes:
        """
        Returns the object file of kernels and of `program`, LLVM IR that calls them. Of all functions only
        those that are `exported` are seen from outside. Raises `KernelCompileError` likewise.
        """
        with self._lock:
            module, machine = self._optimized(source, device, _DEFAULT_OPTIONS, program)
            for function in module.functions:
                if not function.is_declaration and function.name not in exported:
                    function.linkage = "internal"
            with _strength_reduction(source):
                return machine.emit_object(module)

    def image(self, source: str, device: DeviceInfo, options: CompileOptions | None = None) -> bytes:
        """Returns the definitions of the entry points, one in a line, a zero byte and the object file."""
        definitions = "".join(f"{found.definition()}\n" for found in find_entry_points(source))
        return b"%s\0%s" % (definitions.encode(), self._object_code(source, device, options))

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
            found = self._fingerprints[device] = f"{versions} {llvm.get_process_triple()} {device}"
        return found

    def _object_code(self, source: str, device: DeviceInfo, options: CompileOptions | None) -> bytes:
        chosen = chosen_options("llvm", _DEFAULT_OPTIONS, options)
        with self._lock:
            module, machine = self._optimized(source, device, chosen)
            with _strength_reduction(source):
                return machine.emit_object(module)

    def _load(self, image: bytes) -> CompiledArtifact:
        if self._n_libraries % self.most_libraries == 0:
            self._engine = new_engine()
        definitions, _, code = image.partition(b"\0")
        entry_points = {found.kernel: found for found in find_entry_points(definitions.decode())}
        builder = llvmlite_binding().JITLibraryBuilder().add_object_img(code).add_current_process()
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

    def _optimized(
        self, source: str, device: DeviceInfo, chosen: CompileOptions, program: str = ""
    ) -> tuple[Any, Any]:
        """Returns the kernels after the middle end, with a `program` that calls them, and their compiler."""
        machine = self._machine(device)
        # A context keeps every type and constant that it ever saw.
        context = llvmlite_binding().create_context()
        module = self._optimized_kernels(source, context, machine, chosen)
        if program:
            module.link_in(self._parsed(program, context, machine))
        return module, machine

    def _optimized_kernels(self, source: str, context: Any, machine: Any, chosen: CompileOptions) -> Any:
        llvm = llvmlite_binding()

        if SCALAR_LOOPS not in source:
            return self._parsed(source, context, machine)
        scalar, rest = _split_by_loops(source)
        module = self._parsed(scalar, context, machine)
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
        if rest:
            module.link_in(self._parsed(rest, context, machine))
        return module

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
def _strength_reduction(source: str) -> Generator[None]:
    """
    Leaves out loop strength reduction where no kernel needs it: 13 to 42 % of code generation. The option is
    one of the process: what another thread compiles meanwhile is as right, and may be slower.
    """
    if NEEDS_STRENGTH_REDUCTION in source or SCALAR_LOOPS in source:
        yield
        return
    llvm = llvmlite_binding()
    llvm.set_option("", "-disable-lsr")
    try:
        yield
    finally:
        llvm.set_option("", "-disable-lsr=false")


def _split_by_loops(source: str) -> tuple[str, str]:
    """
    Returns the kernels without vectors and all others, each with the declarations; a kernel is a function and
    the one after it, which calls it. The second text is empty where there are no others.
    """
    functions = source.split(_END_OF_FUNCTION)
    declarations = functions.pop()
    texts: dict[bool, list[str]] = {True: [], False: []}
    for number in range(0, len(functions), 2):
        kernel = functions[number : number + 2]
        head, _, _ = kernel[0].partition(_BEGIN_OF_BODY)
        texts[SCALAR_LOOPS in head] += [f"{function}{_END_OF_FUNCTION}" for function in kernel]
    scalar, rest = ("".join(part) for part in (texts[True], texts[False]))
    return scalar + declarations, rest and rest + declarations


@cache
def shared_compiler() -> LLVMCompiler:
    """Returns the compiler of this process: what it takes to load code is made once."""
    return LLVMCompiler()


if hasattr(os, "register_at_fork"):
    # Who holds the lock of the parent's is not in the child.
    os.register_at_fork(after_in_child=shared_compiler.cache_clear)
