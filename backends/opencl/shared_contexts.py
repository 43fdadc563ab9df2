"""
One context for each device of the process, shared by all backends on it: a GPU's driver takes memory and
time for each, and gives only so many.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from .compile import OpenCLCompiler

if TYPE_CHECKING:
    import pyopencl

COMPILERS: WeakValueDictionary[int, OpenCLCompiler] = WeakValueDictionary()
"""By the device's handle, as long as a backend uses it."""

_LOCK = Lock()


def compiler_of(device: pyopencl.Device) -> OpenCLCompiler:
    """
    Returns the compiler that builds for `device`, with its context: that of the backends which are open on
    it, or a new one. Raises `pyopencl.Error` where the driver gives none.
    """
    import pyopencl

    with _LOCK:
        compiler = COMPILERS.get(device.int_ptr)
        if compiler is None:
            compiler = OpenCLCompiler(pyopencl.Context([device]), device)
            COMPILERS[device.int_ptr] = compiler
        return compiler


def forget(context: pyopencl.Context) -> None:
    """Sees to it that backends which are opened from now on have another context: this one works no more."""
    with _LOCK:
        for handle, compiler in list(COMPILERS.items()):
            if compiler.context is context:
                del COMPILERS[handle]
