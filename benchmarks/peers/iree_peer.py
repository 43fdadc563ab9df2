"""IREE: what JAX would compile, as StableHLO, compiled for this processor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import jax
import numpy as np
from iree import compiler as compiler_of_iree
from iree import runtime
from iree.compiler.tools import CompilerToolError

from ..workloads.workload import Array, Workload
from .interface import Thunk
from .jax_peer import traceable

VERSION = version("iree-base-compiler")
FAILURES: tuple[type[Exception], ...] = (CompilerToolError, RuntimeError, ValueError)


def compiled_entry(work: Callable[..., Any], values: Sequence[Any], driver: str) -> tuple[Any, Any]:
    """Returns the compiled function and its device."""
    text = str(jax.jit(work).lower(*values).compiler_ir("stablehlo"))
    binary = compiler_of_iree.compile_str(
        text,
        input_type="stablehlo",
        target_backends=["llvm-cpu"],
        extra_args=["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3"],
    )
    config = runtime.Config(driver)
    context = runtime.SystemContext(config=config)
    context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, binary))
    return context.modules["jit_work"]["main"], config.device


def contenders(workload: Workload, arguments: Mapping[str, Array], threads: int) -> dict[str, Thunk]:
    if workload.constants:
        # As text, the weights would be megabytes that JAX prints.
        return {}
    work, values = traceable(workload, arguments)
    function, device = compiled_entry(work, values, "local-sync" if threads == 1 else "local-task")
    given = [runtime.asdevicearray(device, np.asarray(value)) for value in values]
    return {"iree": lambda: function(*given)}


def compiler(workload: Workload, arguments: Mapping[str, Array]) -> Thunk | None:
    if workload.constants:
        return None
    work, values = traceable(workload, arguments)
    return lambda: compiled_entry(work, values, "local-sync")
