"""Kernels with `low.atomic_rmw`, and what runs them: each backend, and the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tenon.backends.interface import Backend, BufferLoc
from tenon.backends.llvm import backend as llvm_backend
from tenon.backends.opencl import backend as opencl_backend
from tenon.backends.reference.kernels.low import run_kernel
from tenon.backends.steps import LaunchStep
from tenon.dialects.low import AtomicRmwOp, KernelOp
from xdsl.dialects.builtin import ModuleOp

Array = npt.NDArray[Any]

Calls = Mapping[str, list[Array]]
"""The arrays that each kernel of a module runs on, in place."""

N, BINS = 10007, 13

DTYPES = {"i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64}

INTEGER_KINDS = ("addi", "muli", "maxs", "mins", "maxu", "minu", "andi", "ori", "xori", "assign")
FLOAT_KINDS = ("addf", "mulf", "maximumf", "minimumf", "assign")


def kinds_of(type: str) -> tuple[str, ...]:
    return FLOAT_KINDS if type[0] == "f" else INTEGER_KINDS


def kernels_of(module: ModuleOp) -> dict[str, KernelOp]:
    return {op.sym_name.data: op for op in module.ops if isinstance(op, KernelOp)}


def updates_of(module: ModuleOp) -> list[AtomicRmwOp]:
    return [op for op in module.walk() if isinstance(op, AtomicRmwOp)]


def run_reference(module: ModuleOp, calls: Calls) -> None:
    kernels = kernels_of(module)
    for name, arrays in calls.items():
        run_kernel(kernels[name], arrays)


LONG = 1_000_000
"""So many nanoseconds of work are shared out to threads."""


def run_on(it: Backend, module: ModuleOp, calls: Calls) -> None:
    kernels, driver = kernels_of(module), it.driver
    artifact = it.compiler.compile(it.renderer.render(module, it.device), it.device)
    for name, arrays in calls.items():
        locations = [BufferLoc(pool_id, 0) for pool_id in range(len(arrays))]
        for location, array in zip(locations, arrays, strict=True):
            driver.alloc_pool(location.pool_id, array.nbytes, 64)
            driver.copy_to_device(location, array)
        grid = tuple(extent for extent in kernels[name].grid.data if isinstance(extent, int))
        step = LaunchStep(
            name, grid, kernels[name].block_extents, tuple(range(len(arrays))), nanoseconds=LONG
        )
        driver.bind(artifact, [step], locations).run()
        driver.synchronize()
        for location, array in zip(locations, arrays, strict=True):
            driver.copy_from_device(array, location)
            driver.free_pool(location.pool_id)


def run_llvm(module: ModuleOp, calls: Calls) -> None:
    run_on(llvm_backend(), module, calls)


def run_opencl(module: ModuleOp, calls: Calls) -> None:
    pytest.importorskip("pyopencl")
    run_on(opencl_backend(), module, calls)


WAYS: dict[str, Callable[[ModuleOp, Calls], None]] = {
    "reference": run_reference,
    "llvm": run_llvm,
    "opencl": run_opencl,
}


def scatter(kind: str, type: str, n: int = N, bins: int = BINS, name: str = "k") -> str:
    """Combines value %x[i] into element %at[i] of %y, and stores what was there to %old[i]."""
    return f"""
    low.kernel @{name}(%x: memref<{n}x{type}>, %at: memref<{n}xi32>, %y: memref<{bins}x{type}>,
                       %old: memref<{n}x{type}>) grid [{n}, 1, 1] block [1, 1, 1] {{
      %i = low.block_id x
      %v = memref.load %x[%i] : memref<{n}x{type}>
      %bin = memref.load %at[%i] : memref<{n}xi32>
      %j = arith.index_cast %bin : i32 to index
      %o = low.atomic_rmw {kind} %v, %y[%j] : memref<{bins}x{type}>
      memref.store %o, %old[%i] : memref<{n}x{type}>
    }}"""
