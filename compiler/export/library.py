"""An exported program as one object file: kernels, the host program, a pool of threads and the weights."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from ...backends.interface import Backend
from ...backends.llvm.compile import LLVMCompiler
from ...backends.llvm.device import CpuDevice
from ...backends.llvm.native.source import joined, library_text
from ...dialects.buffer_size import ALIGNMENT
from ...errors import TenonError
from ...runtime.plan.lowered_program import LoweredProgram
from .c_interface import CInterface, interface_of
from .description import SECTION, Description
from .elf import section_of
from .header import header_text
from .host_program import HostProgram

WEIGHTS_SECTION = ".tenon.weights"

MOST_INSIDE = 1 << 30
"""The most bytes of weights in a library: code reaches what lies within 2 GiB."""

HEADER_NBYTES = 64


@dataclass(frozen=True)
class Library:
    """The parts of a library: its object file, its header, and the file of its weights if it has one."""

    interface: CInterface
    target: CpuDevice
    object_code: bytes
    header: str
    weights: bytes | None


def library_of(lowered: LoweredProgram, backend: Backend, name: str, *, weights_apart: bool) -> Library:
    """
    Returns a lowered program as a library for the processor of a backend `llvm`.

    Raises:
        TenonError: the program cannot be exported, or its weights are too large to be inside.
        KernelCompileError: LLVM rejects it.
    """
    device, compiler = backend.device, backend.compiler
    assert isinstance(device, CpuDevice) and isinstance(compiler, LLVMCompiler), f"no backend llvm: {backend}"
    plan = lowered.plan
    interface = interface_of(plan, name)
    contents = plan.constants.tobytes()
    if len(contents) > MOST_INSIDE and not weights_apart:
        raise TenonError(
            f"export: {len(contents)} bytes of weights, of which a library holds {MOST_INSIDE} at most "
            "(hint: weights='file')"
        )
    header = _weights_header(contents) if weights_apart else b""
    host = HostProgram(plan, interface, lowered.vanishing).text("program.run", "program.workspace")
    digest = sha256(b"\0".join((lowered.source.encode(), host.encode(), contents))).hexdigest()
    description = Description(
        interface.name,
        device.processor,
        plan.signature,
        None if plan.varying is None else plan.varying.dims,
        lowered.vanishing,
        len(contents) if weights_apart else None,
        header,
        digest,
    )
    functions = _functions(interface, header, len(contents))
    data = _data(description.data(), None if weights_apart else len(contents), header)
    text = joined(
        "\n".join(
            (library_text(device.processor.arch, time.CLOCK_MONOTONIC), data, host, *functions.values())
        )
    )
    code = bytearray(compiler.library_object(lowered.source, text, functions.keys(), device))
    if contents and not weights_apart:
        place = section_of(code, WEIGHTS_SECTION)
        assert place is not None and place[1] == len(contents), "the object has no room for its weights"
        code[place[0] : sum(place)] = contents
    apart = header + contents if weights_apart else None
    return Library(
        interface,
        device,
        bytes(code),
        header_text(interface, len(contents) if weights_apart else None),
        apart,
    )


def _weights_header(contents: bytes) -> bytes:
    """Returns what a file of weights begins with: whose it is."""
    found = b"TENON WEIGHTS 1\n" + sha256(contents).digest() + len(contents).to_bytes(8, "little")
    return found.ljust(HEADER_NBYTES, b"\0")


def _data(description: bytes, weights_nbytes: int | None, header: bytes) -> str:
    lines = [_bytes("program.description", description, f'section "{SECTION}", align 1')]
    if weights_nbytes:
        # The zeros are replaced in the object: the text of weights would be thrice as long as they are.
        lines.append(
            f"@program.weights = internal constant [{weights_nbytes} x i8] zeroinitializer, "
            f'section "{WEIGHTS_SECTION}", align {ALIGNMENT}'
        )
    if header:
        lines.append(_bytes("program.header", header, "align 1"))
    return "\n".join(lines)


def _bytes(name: str, contents: bytes, rest: str) -> str:
    text = "".join(f"\\{byte:02X}" for byte in contents)
    return f'@{name} = internal constant [{len(contents)} x i8] c"{text}", {rest}'


def _functions(interface: CInterface, header: bytes, weights_nbytes: int) -> Mapping[str, str]:
    """Returns the functions that are seen from outside, by their names."""
    types = [
        *("ptr" for _ in (*interface.inputs, *interface.outputs)),
        *("i64" for _ in interface.dims),
    ]
    values = [f"{type} %a{number}" for number, type in enumerate(types)]
    given = "ptr @program.weights" if weights_nbytes else "ptr null"
    parameters = [*values, *(["ptr %weights"] if header else []), "ptr %workspace", "ptr %executor"]
    passed = [*values, "ptr %weights" if header else given, "ptr %workspace", "ptr %executor"]
    dims = ", ".join(value for value in values if value.startswith("i64"))
    found = {
        "run": _forward("i32", ", ".join(parameters), "program.run", ", ".join(passed)),
        "workspace_size": _forward("i64", dims, "program.workspace", dims),
        "describe": "define ptr @{name}() nounwind {{\n  ret ptr @program.description\n}}\n",
        "threads_start": _forward("i32", "ptr %e, i32 %n", "pool_open", "ptr %e, i32 %n"),
        "threads_stop": _forward("void", "ptr %e", "pool_close", "ptr %e"),
    }
    if header:
        opened = f"ptr %path, ptr @program.header, i64 {weights_nbytes}, ptr %weights"
        found["weights_open"] = _forward("i32", "ptr %path, ptr %weights", "weights_open", opened)
        closed = f"ptr %weights, i64 {weights_nbytes}"
        found["weights_close"] = _forward("void", "ptr %weights", "weights_close", closed)
    return {
        interface.function(what): text.format(name=interface.function(what)) for what, text in found.items()
    }


def _forward(type: str, parameters: str, function: str, arguments: str) -> str:
    """Returns a function, with a place for its name, that calls another one."""
    call = f"call {type} @{function}({arguments})"
    body = f"{call}\n  ret void" if type == "void" else f"%r = {call}\n  ret {type} %r"
    return f"define {type} @{{name}}({parameters}) nounwind {{{{\n  {body}\n}}}}\n"
