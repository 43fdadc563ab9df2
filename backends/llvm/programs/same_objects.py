"""Functions of the interpreter in machine code, and one that looks whether objects are where they were."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..native.library import MethodDef, native_library

TYPES = np.array([id(dict), id(list), id(None), id(Exception)], np.int64)
"""The record that `native/same_objects.ll` works with."""


@cache
def same_objects() -> Callable[[tuple[Any, ...]], bool]:
    """Returns what `CallProgram.same_objects` says."""
    return new_function(native_library().same_method, TYPES)


def new_function(description: MethodDef, self: object) -> Callable[..., Any]:
    """Returns a function of the interpreter that is called with `self` before its arguments, and keeps it."""
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return new(ctypes.addressof(description), self, None)
