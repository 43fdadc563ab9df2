"""Axes and reductions that the work-items of a group share: the same bits in `sched`, in `low` and on PoCL."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tenon.backends.interface import Backend, BufferLoc
from tenon.backends.opencl import backend
from tenon.backends.reference import low as low_interpreter
from tenon.backends.reference import sched as sched_interpreter
from tenon.dialects import context, low, sched
from tenon.passes.convert_sched_to_low import ConvertSchedToLowPass
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException, VerifyException

pytest.importorskip("pyopencl")

Array = npt.NDArray[Any]


@functools.cache
def opencl() -> Backend:
    return backend()


def parse(text: str) -> ModuleOp:
    module = Parser(context(), text).parse_module()
    module.verify()
    return module


def lowered(text: str) -> ModuleOp:
    module = parse(text)
    ConvertSchedToLowPass().apply(context(), module)
    module.verify()
    return module


def run(text: str, *arrays: Array) -> list[Array]:
    """Runs a kernel at `sched`, at `low` and on the device, and returns the arrays, which must be the same."""
    module, low_module = parse(text), lowered(text)
    wanted = [array.copy() for array in arrays]
    (kernel,) = (op for op in module.ops if isinstance(op, sched.KernelOp))
    sched_interpreter.run_kernel(kernel, wanted)
    (low_kernel,) = (op for op in low_module.ops if isinstance(op, low.KernelOp))
    flat = [array.ravel().copy() for array in arrays]
    low_interpreter.run_kernel(low_kernel, flat)
    on_device = [array.copy() for array in arrays]
    launch(low_module, low_kernel, on_device)
    for array, at_low, at_device in zip(wanted, flat, on_device, strict=True):
        assert array.tobytes() == at_low.tobytes()
        assert array.tobytes() == at_device.tobytes()
    return wanted


def launch(module: ModuleOp, kernel: low.KernelOp, arrays: list[Array]) -> None:
    it = opencl()
    artifact = it.compiler.compile(it.renderer.render(module, it.device), it.device)
    locations = [BufferLoc(pool_id, 0) for pool_id in range(len(arrays))]
    for location, array in zip(locations, arrays, strict=True):
        it.driver.alloc_pool(location.pool_id, array.nbytes, 64)
        it.driver.copy_to_device(location, array)
    grid = [extent for extent in kernel.grid.data if isinstance(extent, int)]
    native = it.driver.get_kernel(artifact, kernel.sym_name.data)
    it.driver.launch(native, grid, kernel.block_extents, locations)
    for location, array in zip(locations, arrays, strict=True):
        it.driver.copy_from_device(array, location)
        it.driver.free_pool(location.pool_id)


def numbers(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def nans(*shape: int) -> Array:
    return np.full(shape, np.nan, np.float32)


def scale(extent: int, mapping: str) -> str:
    return f"""
    sched.kernel @scale(%x: memref<{extent}xf32>, %y: memref<{extent}xf32>) {{
      sched.axis %i = {extent} {mapping} {{
        %v = memref.load %x[%i] : memref<{extent}xf32>
        %d = arith.addf %v, %v : f32
        memref.store %d, %y[%i] : memref<{extent}xf32>
      }}
    }}"""


@pytest.mark.parametrize("extent", [1, 7, 64, 511, 512, 513, 1000])
@pytest.mark.parametrize(
    "mapping",
    [
        "items(16)",
        "items(16) vector(4)",
        "block(128) items(16) vector(2) unroll(2)",
        "block(100) items(8) vector(4)",
    ],
)
def test_an_axis_is_dealt_out_to_work_items(extent: int, mapping: str):
    x = numbers(extent)
    _, y = run(scale(extent, mapping), x, nans(extent))
    assert np.array_equal(y, x + x)


def total(extent: int, mapping: str, kind: str = "addf") -> str:
    return f"""
    sched.kernel @total(%x: memref<3x{extent}xf32>, %y: memref<3xf32>) {{
      sched.axis %i = 3 block {{
        %s = sched.reduce {kind} %j = {extent} {mapping} : f32 {{
          %v = memref.load %x[%i, %j] : memref<3x{extent}xf32>
          sched.yield %v : f32
        }}
        memref.store %s, %y[%i] : memref<3xf32>
      }}
    }}"""


def sum_in_order(row: Array, partials: int) -> np.float32:
    sums = np.zeros(partials, np.float32)
    for number, value in enumerate(row):
        sums[number % partials] += value
    while len(sums) > 1:
        half = len(sums) // 2
        sums = sums[:half] + sums[half:]
    return sums[0]


@pytest.mark.parametrize("extent", [0, 1, 5, 31, 32, 33, 64, 100, 257])
@pytest.mark.parametrize(
    ("mapping", "partials"), [("items(32)", 32), ("items(16) unroll(4)", 64), ("items(2)", 2)]
)
def test_partial_results_take_every_so_manieth_element_and_are_halved(
    extent: int, mapping: str, partials: int
):
    x = numbers(3, extent)
    _, y = run(total(extent, mapping), x, nans(3))
    assert y.tolist() == [sum_in_order(row, partials) for row in x]


def test_stages_of_a_row_wait_for_what_others_stored():
    text = """
    sched.kernel @normal(%x: memref<5x1000xf32>, %y: memref<5x1000xf32>, %z: memref<5xf32>) {
      sched.axis %i = 5 block(2) {
        %row = sched.alloc shared : memref<1000xf32>
        %m = sched.reduce maximumf %j = 1000 items(64) unroll(2) : f32 {
          %v = memref.load %x[%i, %j] : memref<5x1000xf32>
          sched.yield %v : f32
        }
        sched.axis %j = 1000 items(64) vector(2) {
          %v = memref.load %x[%i, %j] : memref<5x1000xf32>
          %d = arith.subf %v, %m : f32
          memref.store %d, %row[%j] : memref<1000xf32>
        }
        %s = sched.reduce addf %j = 1000 items(64) : f32 {
          %v = memref.load %row[%j] : memref<1000xf32>
          sched.yield %v : f32
        }
        memref.store %s, %z[%i] : memref<5xf32>
        sched.axis %j = 1000 items(64) unroll(2) {
          %c999 = arith.constant 999 : index
          %k = arith.subi %c999, %j : index
          %v = memref.load %row[%k] : memref<1000xf32>
          %d = arith.divf %v, %s : f32
          memref.store %d, %y[%i, %j] : memref<5x1000xf32>
        }
      }
    }"""
    x = numbers(5, 1000)
    _, y, z = run(text, x, nans(5, 1000), nans(5))
    difference = x - x.max(axis=1, keepdims=True)
    assert z.tolist() == [sum_in_order(row, 64) for row in difference]
    assert np.array_equal(y, difference[:, ::-1] / z[:, None])
