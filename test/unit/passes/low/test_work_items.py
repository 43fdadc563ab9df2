"""Axes and reductions that the work-items of a group share: the same bits at `sched`, at `low`, on PoCL."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tenon.backends.interface import Backend
from tenon.backends.opencl import backend
from tenon.backends.reference.kernels import low as low_interpreter
from tenon.backends.reference.kernels import sched as sched_interpreter
from tenon.dialects import context, low, sched
from tenon.errors import TenonError
from tenon.passes.low.lowering.convert_sched_to_low import ConvertSchedToLowPass
from tenon.test.kernels import launch_kernel, parsed
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

pytest.importorskip("pyopencl")

Array = npt.NDArray[Any]


@functools.cache
def opencl() -> Backend:
    return backend()


def lowered(text: str) -> ModuleOp:
    module = parsed(text)
    ConvertSchedToLowPass().apply(context(), module)
    module.verify()
    return module


def run(text: str, *arrays: Array) -> list[Array]:
    """Runs a kernel at `sched`, at `low` and on the device, and returns the arrays, which are the same."""
    module, low_module = parsed(text), lowered(text)
    wanted = [array.copy() for array in arrays]
    (kernel,) = (op for op in module.ops if isinstance(op, sched.KernelOp))
    sched_interpreter.run_kernel(kernel, wanted)
    (low_kernel,) = (op for op in low_module.ops if isinstance(op, low.KernelOp))
    flat = [array.ravel().copy() for array in arrays]
    low_interpreter.run_kernel(low_kernel, flat)
    on_device = [array.copy() for array in arrays]
    launch_kernel(opencl(), low_module, *on_device)
    for array, at_low, at_device in zip(wanted, flat, on_device, strict=True):
        assert array.tobytes() == at_low.tobytes()
        assert array.tobytes() == at_device.tobytes()
    return wanted


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


@pytest.mark.parametrize("count", [-1, 0, 1, 31, 32, 33, 70, 99, 1000])
def test_a_counted_reduction_goes_on_from_its_init(count: int):
    text = f"""
    sched.kernel @total(%x: memref<99xf32>, %y: memref<1xf32>, %z: memref<99xf32>) {{
      %c0 = arith.constant 0 : index
      %n = arith.constant {count} : index
      %start = arith.constant 1.0e+01 : f32
      %s = sched.reduce addf %j = 99 count %n items(16) unroll(2) init(%start) : f32 {{
        %v = memref.load %x[%j] : memref<99xf32>
        sched.yield %v : f32
      }}
      memref.store %s, %y[%c0] : memref<1xf32>
      sched.axis %j = 99 count %n items(16) vector(2) unroll(2) {{
        %v = memref.load %x[%j] : memref<99xf32>
        %w = arith.addf %v, %s : f32
        memref.store %w, %z[%j] : memref<99xf32>
      }}
    }}"""
    x = numbers(99)
    _, y, z = run(text, x, nans(1), nans(99))
    taken = x[: max(count, 0)]
    sums = np.zeros(32, np.float32)
    sums[0] = 10
    for number, value in enumerate(taken):
        sums[number % 32] += value
    while len(sums) > 1:
        sums = sums[: len(sums) // 2] + sums[len(sums) // 2 :]
    assert y[0] == sums[0]
    assert np.array_equal(z[: len(taken)], taken + y[0])
    assert np.isnan(z[len(taken) :]).all()


def test_shared_axes_in_one_another_make_work_groups_of_two_dimensions():
    text = """
    sched.kernel @transpose(%x: memref<70x45xf32>, %y: memref<45x70xf32>) {
      sched.axis %i = 45 block(16) items(4) unroll(2) {
        sched.axis %j = 70 block(32) items(8) vector(2) {
          %v = memref.load %x[%j, %i] : memref<70x45xf32>
          memref.store %v, %y[%i, %j] : memref<45x70xf32>
        }
      }
    }"""
    with pytest.raises(PassFailedException, match=r"cannot be a vector over axis %j \(stride is 45"):
        lowered(text)
    text = text.replace(" vector(2)", "")
    kernel = next(op for op in lowered(text).ops if isinstance(op, low.KernelOp))
    assert (kernel.grid.data, kernel.block_extents) == ((3, 3, 1), (8, 4, 1))
    x = numbers(70, 45)
    _, y = run(text, x, nans(45, 70))
    assert np.array_equal(y, x.T)


def test_a_loop_over_stages_waits_at_the_beginning_of_each_iteration():
    text = """
    sched.kernel @rounds(%x: memref<64xf32>) {
      %row = sched.alloc shared : memref<64xf32>
      sched.axis %j = 64 items(32) {
        %v = memref.load %x[%j] : memref<64xf32>
        memref.store %v, %row[%j] : memref<64xf32>
      }
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      scf.for %k = %c0 to %c3 step %c1 {
        %s = sched.reduce maximumf %j = 64 items(32) : f32 {
          %v = memref.load %row[%j] : memref<64xf32>
          sched.yield %v : f32
        }
        sched.axis %j = 64 items(32) {
          %v = memref.load %row[%j] : memref<64xf32>
          %d = arith.subf %v, %s : f32
          memref.store %d, %row[%j] : memref<64xf32>
        }
        sched.axis %j = 64 items(32) {
          %c63 = arith.constant 63 : index
          %back = arith.subi %c63, %j : index
          %v = memref.load %row[%back] : memref<64xf32>
          memref.store %v, %x[%j] : memref<64xf32>
        }
      }
    }"""
    x = numbers(64)
    (y,) = run(text, x)
    for _ in range(3):
        x = x - x.max()
    assert np.array_equal(y, x[::-1])


def refusal(body: str, arguments: str = "%x: memref<64x64xf32>, %y: memref<64xf32>") -> str:
    with pytest.raises(PassFailedException) as caught:
        lowered(f"sched.kernel @k({arguments}) {{\n{body}\n}}")
    return str(caught.value)


ROW_SUM = """
    %s = sched.reduce addf %j = 64 items(16) : f32 {
      %v = memref.load %x[%i, %j] : memref<64x64xf32>
      sched.yield %v : f32
    }
    memref.store %s, %y[%i] : memref<64xf32>
"""


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (
            f"sched.axis %i = 64 items(16) {{ {ROW_SUM} }}",
            "sched.reduce: axis %j cannot be items(16) (work-items share an axis around it already)",
        ),
        (
            f"sched.axis %i = 64 block(4) unroll(2) {{ {ROW_SUM} }}",
            "sched.reduce: axis %j cannot be items(16) (axis %i around it runs in lanes)",
        ),
        (
            f"""sched.axis %i = 64 block {{ {ROW_SUM}
            sched.axis %k = 64 items(16) {{ sched.axis %l = 64 items(32) {{ }} }} }}""",
            "sched.axis: axis %l cannot be items(32) (another axis has 16 work-items along x)",
        ),
        (
            f"""sched.axis %i = 64 block {{ {ROW_SUM}
            sched.axis %k = 64 items(4) {{ sched.axis %l = 64 items(16) {{ }} }} }}""",
            "sched.reduce: axis %j cannot be items(16) (work-groups are 16 x 4 work-items, so that several "
            "would do each step)",
        ),
        (
            """sched.axis %i = 2 items(2) { sched.axis %j = 2 items(2) { sched.axis %k = 2 items(2) {
            sched.axis %l = 2 items(2) { } } } }""",
            "sched.axis: axis %i cannot be items(2) (there are three dimensions only)",
        ),
        (
            "sched.axis %i = 2 thread { sched.axis %j = 2 items(2) { } }",
            "sched.axis: axis %i cannot be thread (other axes of the kernel share work-items)",
        ),
        (
            """sched.axis %i = 4 block { %row = sched.alloc local : memref<64xf32>
            sched.axis %j = 64 items(2) { %v = memref.load %y[%j] : memref<64xf32>
            memref.store %v, %row[%j] : memref<64xf32> } }""",
            "sched.alloc: a local buffer cannot be accessed by the work-items that share axis %j "
            "(make it shared)",
        ),
        (
            """sched.axis %i = 2 items(2) { %row = sched.alloc local : memref<64xf32>
            sched.axis %j = 64 items(2) { %v = memref.load %y[%j] : memref<64xf32>
            memref.store %v, %row[%j] : memref<64xf32> } }""",
            "sched.alloc: a local buffer cannot be accessed by the work-items that share axis %j "
            "(make it shared)",
        ),
        (
            "sched.axis %j = 64 items(2) { %row = sched.alloc shared : memref<64xf32> }",
            "sched.alloc: a shared buffer cannot stand under axis %j (its work-items share it)",
        ),
        (
            """%b = sched.reduce ori %j = 64 items(2) : i1 { %t = arith.constant true
            sched.yield %t : i1 }""",
            "sched.reduce: axis %j cannot be items(2) (there is no memory of i1 to share)",
        ),
        (
            """%s = sched.reduce fma %i = 64 : f32 { %t = sched.reduce fma %j = 64 items(2) : f32 {
            %v = memref.load %y[%j] : memref<64xf32>
            sched.yield %v, %v : f32 }
            sched.yield %t : f32 }""",
            "sched.reduce: axis %j cannot be items(2) (it goes on with the sum of another reduction)",
        ),
    ],
)
def test_what_work_items_cannot_share_is_an_error(body: str, wanted: str):
    assert refusal(body) == wanted


@pytest.mark.parametrize(
    ("mapping", "wanted"),
    [
        (
            "items(2) vector(2)",
            r"sched\.reduce: vector\(2\) in items\(2\): work-items keep partial results of one",
        ),
        ("items(6)", r"sched\.reduce: 6 partial results cannot be halved \(need a power of two\)"),
        ("items(0)", r"sched\.mapping: items\(0\) is no number of work-items"),
        ("thread(2) items(2)", r"sched\.mapping: thread\(2\) has work-items of its own, not items\(2\)"),
    ],
)
def test_wrong_mappings_are_errors(mapping: str, wanted: str):
    with pytest.raises(TenonError, match=wanted):
        parsed(total(8, mapping))
