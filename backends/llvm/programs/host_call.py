"""What machine code calls of the interpreter where a step is the host's."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ...steps import HostStep


def native_call_of(step: HostStep) -> Callable[[int], None]:
    """
    Returns a function of the address of a table, in which the addresses of the step's buffers stand. Buffers
    are handed on as views.
    """
    function, nbytes, n_reads = step.function, step.nbytes, len(step.reads)
    assert function is not None and len(nbytes) == len(step.buffers), f"{step.what} is not linked"

    def call(table: int) -> None:
        addresses = (ctypes.c_int64 * len(nbytes)).from_address(table)
        views = [_view(address, size) for address, size in zip(addresses, nbytes, strict=True)]
        for view in views[:n_reads]:
            view.flags.writeable = False
        function(views[:n_reads], views[n_reads:])

    return call


def _view(address: int, nbytes: int) -> npt.NDArray[np.uint8]:
    if not nbytes:
        return np.empty(0, np.uint8)
    memory = (ctypes.c_uint8 * nbytes).from_address(address)
    return np.ctypeslib.as_array(memory)
