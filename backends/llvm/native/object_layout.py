"""Where the interpreter and numpy keep what `call.ll` and `method.ll` read, and whether they do."""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

KNOWN_PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14))
KNOWN_NUMPYS = (1, 2)
"""
The versions whose objects were looked through, and how they count references and call functions. Of each the
smaller ones keep the layout, which is part of what extensions are compiled for. Of any other nothing is read.
"""

NEW_FROM_DESCR = 94
"""The place of `PyArray_NewFromDescr` in numpy's table of functions."""

TUPLE_ITEMS = max(24, tuple.__basicsize__)
"""Where the items of a tuple begin: Python 3.14 keeps a hash between their number and them."""


@cache
def is_layout_known() -> bool:
    """
    Returns whether tuples, lists, functions, arrays and dtypes of this process are laid out as the files
    read them, and one lock guards the interpreter. It looks at real ones, of versions that are known.
    """
    if sys.version_info[:2] not in KNOWN_PYTHONS or int(np.__version__.split(".")[0]) not in KNOWN_NUMPYS:
        return False
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return False
    array = np.empty((3, 5, 7), np.float32)[:2]
    pair: tuple[Any, ...] = (array, None)
    row: list[Any] = [array, None]
    append = row.append
    return (
        word(array, 8) == id(np.ndarray)
        and word(array, 16) == array.ctypes.data
        and number(array, 24) == array.ndim
        and [word_at(word(array, 32) + 8 * axis) for axis in range(3)] == [2, 5, 7]
        and word(array, 56) == id(array.dtype)
        and number(array, 64) == array.flags.num
        and all(_is_dtype_known(np.dtype(text)) for text in ("f4", ">f4", "<i8", "u1", "?"))
        and word(pair, 8) == id(tuple)
        and word(pair, 16) == len(pair)
        and [word(pair, TUPLE_ITEMS), word(pair, TUPLE_ITEMS + 8)] == [id(array), id(None)]
        and [number(row, 16), word_at(word(row, 24))] == [2, id(array)]
        and word(append, 24) == id(row)
    )


def numpy_function(place: int) -> int:
    """Returns the address of a function in numpy's table, whose places are fixed."""
    return word_at(capsule_pointer(numpy_core()._multiarray_umath._ARRAY_API, None) + 8 * place)


def numpy_core() -> Any:
    """Returns the package that numpy has its own parts in, by its name in this version."""
    return import_module("numpy._core" if hasattr(np, "_core") else "numpy.core")


def capsule_pointer(capsule: object, name: bytes | None) -> int:
    """Returns the address that a capsule of a name holds."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    return pointer(capsule, name)


def _is_dtype_known(dtype: np.dtype[Any]) -> bool:
    order = ctypes.c_char.from_address(id(dtype) + 26).value.decode("latin-1")
    return order == dtype.byteorder and number(dtype, 28) == dtype.num


def word(owner: object, offset: int) -> int:
    """Returns the eight bytes at an offset into an object."""
    return word_at(id(owner) + offset)


def word_at(address: int) -> int:
    """Returns the eight bytes at an address of this process."""
    return ctypes.c_uint64.from_address(address).value


def number(owner: object, offset: int) -> int:
    """Returns the four bytes at an offset into an object, which have a sign."""
    return ctypes.c_int32.from_address(id(owner) + offset).value
