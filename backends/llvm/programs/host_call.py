"""What machine code calls of the interpreter where a step is the host's."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ...steps import HostStep

Bytes = npt.NDArray[np.uint8]

_Views = tuple[bytes, list[Bytes], list[Bytes]]
"""The addresses of buffers as they stand in a table, what is read of them and what is written."""


def native_call_of(step: HostStep) -> Callable[[int], None]:
    """
    Returns a function of the address of a table, in which the addresses of the step's buffers stand. Buffers
    are handed on as views: the lists of the call before where they lie where they lay then.
    """
    function, nbytes, n_reads = step.function, step.nbytes, len(step.reads)
    assert function is not None and len(nbytes) == len(step.buffers), f"{step.what} is not linked"
    # One tuple, which is replaced as a whole: a program may run in several threads.
    last: _Views = (b"", [], [])

    def call(table: int) -> None:
        nonlocal last
        places = ctypes.string_at(table, 8 * len(nbytes))
        views = last
        if views[0] != places:
            addresses = np.frombuffer(places, np.int64).tolist()
            found = [_view(address, size) for address, size in zip(addresses, nbytes, strict=True)]
            for view in found[:n_reads]:
                view.flags.writeable = False
            last = views = places, found[:n_reads], found[n_reads:]
        function(views[1], views[2])

    return call


def _view(address: int, nbytes: int) -> Bytes:
    if not nbytes:
        return np.empty(0, np.uint8)
    memory = (ctypes.c_uint8 * nbytes).from_address(address)
    return np.ctypeslib.as_array(memory)
