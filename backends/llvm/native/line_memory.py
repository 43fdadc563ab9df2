"""Which arrays of numpy's begin where lines of the cache do: those that a handler of memory makes."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import Any

from .library import native_library
from .object_layout import capsule_pointer, numpy_function

_SET_HANDLER, _GET_HANDLER = 304, 305
"""The places in numpy's table of `PyDataMem_SetHandler` and `PyDataMem_GetHandler`."""

LEAST_NBYTES = 64 << 10
"""
From this size on new arrays begin at a line. On a Zen 4 loops that add 1 to f64 and store what begins at 16
bytes of a line take 1.05 to 1.2 of the time in its caches; that numpy is told of a handler takes 100 ns.
"""

NEVER = (1 << 63) - 1

_CAPSULE = b"mem_handler"
_DEFAULT_NAME = b"default_allocator"


class _Handler(ctypes.Structure):
    """numpy's `PyDataMem_Handler`, of version 1."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


@dataclass(frozen=True, slots=True)
class LineMemory:
    """
    What `call.ll` makes large arrays with: from how many bytes on, the address of numpy's function, and of
    two handlers, the one to use and numpy's own.
    """

    least_nbytes: int
    set_handler: int
    handler: int
    default_handler: int


@cache
def line_memory() -> LineMemory:
    """Returns how large arrays are made: as numpy does it, where memory or numpy is not as it should be."""
    functions = native_library().line_memory
    default = current_handler()
    if functions is None or default is None:
        return LineMemory(NEVER, 0, 0, 0)
    handler = _Handler(b"tenon_lines", 1, None, *functions)
    new_capsule: Any = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype = ctypes.py_object
    new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    capsule = new_capsule(ctypes.addressof(handler), _CAPSULE, None)
    # Arrays are dropped until the very end of the interpreter, when modules are gone.
    for owner in (handler, capsule, default):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))
    return LineMemory(LEAST_NBYTES, numpy_function(_SET_HANDLER), id(capsule), id(default))


def current_handler() -> object:
    """Returns the handler that numpy makes arrays with now, if it is numpy's own."""
    handler = ctypes.PYFUNCTYPE(ctypes.py_object)(numpy_function(_GET_HANDLER))()
    name = ctypes.string_at(capsule_pointer(handler, _CAPSULE))
    return handler if name == _DEFAULT_NAME else None
