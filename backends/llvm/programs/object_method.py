"""Calls of objects that have programs, in machine code: a method that goes straight to the one that fits."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from ..native.library import MethodDef, native_library
from ..native.object_layout import word
from .same_objects import TYPES

_KEPT: list[object] = []
"""What the method reads, as long as the process lives."""


def install_call(
    owner: object,
    *,
    programs: str,
    wrapper: type,
    values: str,
    about: str,
    idle: Sequence[tuple[list[Any], object]],
    otherwise: Callable[..., Any],
) -> bool:
    """Does what `CallProgram.install_call` says."""
    kind = type(owner)
    example: Any = object.__new__(cast(Any, wrapper))
    for name in (values, about):
        setattr(example, name, object())
    offsets = (_offset_of(example, values), _offset_of(example, about), _offset_of(owner, programs))
    if None in offsets:
        return False
    (first, first_item), (second, second_item) = idle
    cells = (id(first), id(first_item), id(second), id(second_item))
    words = (id(np.ndarray), id(wrapper), *offsets, *cells, id(otherwise), id(None), TYPES.ctypes.data)
    context = np.array(words, np.int64)
    _KEPT.extend((context, wrapper, *idle, otherwise))
    library = native_library()
    library.object_call_use(context.ctypes.data)
    kind.__call__ = _new_method(kind, library.object_method)
    return True


def _offset_of(owner: object, slot: str) -> int | None:
    """Returns where in the memory of an object the value of a slot is, if it is in one place."""
    value = id(getattr(owner, slot))
    places = [place for place in range(16, type(owner).__basicsize__, 8) if word(owner, place) == value]
    return places[0] if len(places) == 1 else None


def _new_method(kind: type, description: MethodDef) -> Callable[..., Any]:
    new = ctypes.pythonapi.PyDescr_NewMethod
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.py_object, ctypes.c_void_p)
    return new(kind, ctypes.addressof(description))
