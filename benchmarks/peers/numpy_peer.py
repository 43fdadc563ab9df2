"""numpy: the obvious way, in f32 where the arguments are; also what all others are checked against."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ..workloads.workload import Array, Workload
from .array_kernels import array_kernels
from .interface import Thunk

VERSION = np.__version__
FAILURES: tuple[type[Exception], ...] = ()


def conv2d(x: Array, w: Array, *, layout: str, groups: int, padding: int) -> Array:
    if layout == "NCHW":
        x, w = x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)
    margins = ((0, 0), (padding, padding), (padding, padding), (0, 0))
    x = np.pad(x, margins)
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[:2], (1, 2))
    if groups == 1:
        result = np.tensordot(windows, w, ((3, 4, 5), (2, 0, 1)))
    else:
        result = np.einsum("nyxcij,ijc->nyxc", windows, w[:, :, 0, :])
    return result.transpose(0, 3, 1, 2) if layout == "NCHW" else result


def transpose(x: Array) -> Array:
    return np.ascontiguousarray(x.T)


KERNELS = array_kernels(np, conv2d=conv2d, transpose=transpose)


def contenders(workload: Workload, arguments: Mapping[str, Array], threads: int) -> dict[str, Thunk]:
    if workload.kind == "matmul":
        # numpy's users who care give it the memory of the result.
        return {"numpy": partial(np.matmul, arguments["a"], arguments["b"], out=workload.result())}
    return {"numpy": partial(KERNELS[workload.kind], **arguments, **workload.parameters)}


def expected(workload: Workload, arguments: Mapping[str, Array]) -> Array:
    """Returns the result, computed in f64."""
    wide: dict[str, Any] = {name: array.astype(np.float64) for name, array in arguments.items()}
    return KERNELS[workload.kind](**wide, **workload.parameters)
