"""Modules of kernels: parsed, and run on a device."""

from typing import Any

import numpy.typing as npt
from tenon.backends.interface import Backend, BufferLoc
from tenon.backends.reference.kernels import low as interpreter
from tenon.dialects import context
from tenon.dialects.low import KernelOp
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.pass_manager import PassManager
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

_POOL = 5000


def parsed(text: str, filename: str = "t.mlir") -> ModuleOp:
    """Returns the module that `text` holds, which must verify."""
    module = parse_module(text, filename)
    verify_module(module)
    return module


def passed(text: str, *passes: ModulePass) -> ModuleOp:
    """Returns what passes make of the module that `text` holds, which must verify."""
    module = parse_module(text, "k.mlir")
    PassManager(passes).run(context(), module)
    verify_module(module)
    return module


def interpret_kernel(module: ModuleOp, *arrays: npt.NDArray[Any]) -> None:
    """Interprets the kernel that a module begins with on the arrays, in place."""
    op = module.body.block.first_op
    assert isinstance(op, KernelOp)
    interpreter.run_kernel(op, list(arrays))


def launch_kernel(device: Backend, module: ModuleOp, *arrays: npt.NDArray[Any]) -> None:
    """Runs the one kernel of a module on the arrays, in place."""
    driver = device.driver
    artifact = device.compiler.compile(device.renderer.render(module, device.device), device.device)
    (kernel,) = (op for op in module.ops if isinstance(op, KernelOp))
    locations = [BufferLoc(_POOL + number, 0) for number in range(len(arrays))]
    for location, array in zip(locations, arrays, strict=True):
        driver.alloc_pool(location.pool_id, array.nbytes, 64)
        driver.copy_to_device(location, array)
    grid = [int(extent) for extent in kernel.grid.data]  # pyright: ignore[reportArgumentType]
    driver.launch(driver.get_kernel(artifact, kernel.sym_name.data), grid, kernel.block_dims.data, locations)
    for location, array in zip(locations, arrays, strict=True):
        driver.copy_from_device(array, location)
        driver.free_pool(location.pool_id)
