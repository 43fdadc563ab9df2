"""Tenon's programs on an OpenCL device, beside those on the processor: no peer, there when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pyopencl

from ..workloads.workload import Array, Workload
from . import tenon_peer
from .interface import Thunk

VERSION = pyopencl.VERSION_TEXT
FAILURES: tuple[type[Exception], ...] = ()


def contenders(workload: Workload, arguments: Mapping[str, Array], threads: int) -> dict[str, Thunk]:
    executable = tenon_peer.program(workload, arguments, "opencl")
    given = [array for name, array in arguments.items() if name not in workload.constants]
    return {"tenon, opencl": partial(executable, *given, out=workload.result())}
