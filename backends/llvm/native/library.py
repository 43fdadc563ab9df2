"""The machine code that runs programs: compiled once in a process, when it is first needed."""

from __future__ import annotations

import ctypes
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

from ...cache.code import kept_bytes
from ..library import llvmlite_binding, new_engine
from ..threads import follow_num_threads
from .object_layout import TUPLE_ITEMS
from .source import interpreter_functions, native_text

_EXPORTED = (
    "steps_run",
    "steps_run_timed",
    "copy_part",
    "pool_use",
    "pool_forget",
    "pool_limit",
    "pool_execute",
    "program_call",
    "frame_push",
    "same_objects",
    "object_call",
    "object_call_use",
)

_LINE_MEMORY = ("lines_malloc", "lines_calloc", "lines_realloc", "lines_free")
"""Of those systems that have such memory."""

_METH_KEYWORDS = 0x2
_METH_O = 0x8
_METH_FASTCALL = 0x80


class MethodDef(ctypes.Structure):
    """The interpreter's `PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@dataclass(frozen=True)
class NativeLibrary:
    """
    The functions of `steps.ll`, `process_pool.ll`, `call.ll`, `same_objects.ll`, `method.ll` and `memory.ll`.
    `frame_push`, `object_call_use` and `pool_limit` keep the interpreter's lock, the others release it;
    `copy_part` and `pool_execute` are addresses, `call_method` describes `program_call`, `same_method`
    `same_objects` and `object_method` `object_call`. `line_memory` are the addresses of malloc, calloc,
    realloc and free of memory that begins at lines of the cache; None where a system has none.
    """

    steps_run: Callable[[int, int], int]
    steps_run_timed: Callable[[int, int, int], int]
    copy_part: int
    pool_use: Callable[[int], int]
    pool_forget: Callable[[], None]
    pool_limit: Callable[[int], int]
    pool_execute: int
    frame_push: Callable[[int, int], None]
    call_method: MethodDef
    same_method: MethodDef
    object_call_use: Callable[[int], None]
    object_method: MethodDef
    line_memory: tuple[int, ...] | None


_loading = Lock()
_LOADED: list[NativeLibrary] = []


def native_library() -> NativeLibrary:
    """Returns the library, which lives as long as the process: its workers run in it to the very end."""
    with _loading:
        if not _LOADED:
            _LOADED.append(_load())
        return _LOADED[0]


def _load() -> NativeLibrary:
    llvm = llvmlite_binding()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    text = native_text(platform.machine(), platform.system(), time.CLOCK_MONOTONIC, TUPLE_ITEMS)

    def compiled() -> bytes:
        module = llvm.parse_assembly(text)
        # Without optimisation: the code is written as it should run, and compiles five times as fast.
        target = llvm.Target.from_default_triple()
        machine = target.create_target_machine(opt=0, reloc="pic", codemodel="small")
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        return machine.emit_object(module)

    depends_on = (repr(llvm.llvm_version_info), llvm.get_process_triple(), text)
    code = kept_bytes("what runs programs", depends_on, compiled)
    engine = new_engine()
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for name in interpreter_functions(text):
        builder.import_symbol(name, ctypes.cast(ctypes.pythonapi[name], ctypes.c_void_p).value)
    has_lines = f"@{_LINE_MEMORY[0]}(" in text
    for name in (*_EXPORTED, *(_LINE_MEMORY if has_lines else ())):
        builder.export_symbol(name)
    library = builder.link(engine, "tenon")

    def function(name: str, result: Any, *arguments: Any) -> Any:
        return ctypes.CFUNCTYPE(result, *arguments)(library[name])

    def of_interpreter(name: str, result: Any, *arguments: Any) -> Any:
        """A function that is called with the interpreter's lock, and may raise."""
        return ctypes.PYFUNCTYPE(result, *arguments)(library[name])

    loaded = NativeLibrary(
        steps_run=of_interpreter("steps_run", ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64),
        steps_run_timed=of_interpreter(
            "steps_run_timed", ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p
        ),
        copy_part=library["copy_part"],
        pool_use=function("pool_use", ctypes.c_int32, ctypes.c_int32),
        pool_forget=function("pool_forget", None),
        pool_limit=of_interpreter("pool_limit", ctypes.c_int32, ctypes.c_int32),
        pool_execute=library["pool_execute"],
        frame_push=of_interpreter("frame_push", None, ctypes.c_void_p, ctypes.c_void_p),
        call_method=MethodDef(b"call", library["program_call"], _METH_FASTCALL, None),
        same_method=MethodDef(b"same_objects", library["same_objects"], _METH_O, None),
        object_call_use=of_interpreter("object_call_use", None, ctypes.c_void_p),
        object_method=MethodDef(b"__call__", library["object_call"], _METH_FASTCALL | _METH_KEYWORDS, None),
        line_memory=tuple(library[name] for name in _LINE_MEMORY) if has_lines else None,
    )
    # Functions of the interpreter read their descriptions when the last of them goes.
    for owner in (engine, library, loaded):
        _keep_forever(owner)
    follow_num_threads(loaded.pool_use)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=loaded.pool_forget)
    return loaded


def _keep_forever(owner: object) -> None:
    """Keeps `owner` through the end of the interpreter, when modules are emptied but workers still run."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))


def _forget_lock() -> None:
    """In the child of a fork: a thread of the parent's that was loading the library is not here."""
    global _loading
    _loading = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_lock)
