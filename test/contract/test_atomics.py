"""What kernels of every backend do to elements that many work-items update."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon.backends.interface import Backend, BufferLoc, CompiledArtifact
from tenon.backends.steps import LaunchStep
from tenon.dialects.modules.parsing import parse_module, verify_module
from xdsl.utils.exceptions import DiagnosticException

Array = npt.NDArray[Any]
Build = Callable[..., tenon.Executable]

N, BINS, POOL = 1009, 13, 79

DTYPES = {"i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64}
INTEGER_KINDS: dict[str, Callable[..., Any]] = {
    "addi": np.add,
    "muli": np.multiply,
    "maxs": np.maximum,
    "mins": np.minimum,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
}
FLOAT_KINDS: dict[str, Callable[..., Any]] = {
    "addf": np.add,
    "mulf": np.multiply,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
}
UNSIGNED_KINDS = {"maxu": np.maximum, "minu": np.minimum}


def module_text(kinds: list[str], type: str) -> str:
    """A kernel for each kind: it combines value %x[i] into element i mod 13."""
    return "\n".join(
        f"""
        low.kernel @{kind}(%x: memref<{N}x{type}>, %y: memref<{BINS}x{type}>)
            grid [{N}, 1, 1] block [1, 1, 1] {{
          %i = low.block_id x
          %bins = arith.constant {BINS} : index
          %at = arith.remui %i, %bins : index
          %v = memref.load %x[%i] : memref<{N}x{type}>
          %old = low.atomic_rmw {kind} %v, %y[%at] : memref<{BINS}x{type}>
        }}"""
        for kind in kinds
    )


def compiled(device: Backend, text: str, type: str) -> CompiledArtifact:
    """Skips the test on a device that says that it lacks atomics, or the type."""
    module = parse_module(text)
    verify_module(module)
    try:
        source = device.renderer.render(module, device.device)
    except DiagnosticException as error:
        if "low.atomic_rmw" not in str(error) and f"lacks {type}" not in str(error):
            raise
        pytest.skip(str(error))
    return device.compiler.compile(source, device.device)


def updated(device: Backend, artifact: CompiledArtifact, kind: str, x: Array, y: Array) -> Array:
    """Returns what a kernel makes of `y`, on as many threads as the device has."""
    driver, places = device.driver, [BufferLoc(POOL, 0), BufferLoc(POOL, 16384)]
    driver.alloc_pool(POOL, 32768, 64)
    try:
        for place, array in zip(places, (x, y), strict=True):
            driver.copy_to_device(place, array)
        step = LaunchStep(kind, (N, 1, 1), (1, 1, 1), (0, 1), nanoseconds=1_000_000)
        driver.bind(artifact, [step], places).run()
        found = np.empty_like(y)
        driver.copy_from_device(found, places[1])
        return found
    finally:
        driver.free_pool(POOL)


@pytest.mark.parametrize("type", DTYPES)
def test_updates_of_all_work_items_count(device: Backend, type: str):
    dtype, is_float = np.dtype(DTYPES[type]), type[0] == "f"
    kinds = FLOAT_KINDS if is_float else {**INTEGER_KINDS, **UNSIGNED_KINDS}
    artifact = compiled(device, module_text([*kinds], type), type)
    # Sums of small whole numbers, and products of 1 and -1, are exact in every order.
    x = np.random.default_rng(0).integers(-9, 10, N).astype(dtype)
    at = np.arange(N) % BINS
    for kind, combine in kinds.items():
        values = np.sign(x) + (x == 0) if kind == "mulf" else x
        y = np.arange(-5, 8).astype(dtype)
        read_as = np.dtype(f"u{dtype.itemsize}") if kind in UNSIGNED_KINDS else dtype
        expected = y.view(read_as).copy()
        combine.at(expected, at, values.view(read_as))  # pyright: ignore
        assert updated(device, artifact, kind, values, y).tolist() == expected.view(dtype).tolist(), kind


@pytest.mark.parametrize("type", DTYPES)
def test_an_assigned_element_has_one_of_the_values(device: Backend, type: str):
    artifact = compiled(device, module_text(["assign"], type), type)
    x, y = np.arange(1, N + 1).astype(DTYPES[type]), np.zeros(BINS, DTYPES[type])
    found = updated(device, artifact, "assign", x, y)
    assert all(found > 0) and ((found - 1) % BINS).tolist() == [*range(BINS)]


HISTOGRAM = f"""
low.kernel @clear(%counts: memref<{BINS}xi32>) grid [{BINS}, 1, 1] block [1, 1, 1] {{
  %i = low.block_id x
  %zero = arith.constant 0 : i32
  memref.store %zero, %counts[%i] : memref<{BINS}xi32>
}}
low.kernel @count(%x: memref<{N}xi32>, %counts: memref<{BINS}xi32>) grid [{N}, 1, 1] block [1, 1, 1] {{
  %i = low.block_id x
  %one = arith.constant 1 : i32
  %v = memref.load %x[%i] : memref<{N}xi32>
  %at = arith.index_cast %v : i32 to index
  %old = low.atomic_rmw addi %one, %counts[%at] : memref<{BINS}xi32>
}}
low.kernel @double(%counts: memref<{BINS}xi32>, %y: memref<{BINS}xi32>) grid [{BINS}, 1, 1] block [1, 1, 1] {{
  %i = low.block_id x
  %v = memref.load %counts[%i] : memref<{BINS}xi32>
  %d = arith.addi %v, %v : i32
  memref.store %d, %y[%i] : memref<{BINS}xi32>
}}
sched.program @p(%x: memref<{N}xi32>) : (tensor<{N}xi32>) -> tensor<{BINS}xi32> {{
  %counts = sched.buffer global temporary : memref<{BINS}xi32>
  %y = sched.buffer global result : memref<{BINS}xi32>
  %t0 = sched.launch @clear(%counts) after() : memref<{BINS}xi32>
  %t1 = sched.launch @count(%x, %counts) after() : memref<{N}xi32>, memref<{BINS}xi32>
  %t2 = sched.launch @count(%x, %counts) after() : memref<{N}xi32>, memref<{BINS}xi32>
  %t3 = sched.launch @double(%counts, %y) after() : memref<{BINS}xi32>, memref<{BINS}xi32>
  sched.return %y after() : memref<{BINS}xi32>
}}
"""


def test_launches_wait_for_updates_and_updates_for_launches(build: Build):
    try:
        histogram = build(HISTOGRAM, pipeline="build-dependencies,plan-memory,low-pipeline")
    except tenon.TenonError as error:
        if "low.atomic_rmw" not in str(error):
            raise
        pytest.skip(str(error))
    x = np.random.default_rng(0).integers(0, BINS, N, np.int32)
    for _ in range(3):
        assert histogram(x).tolist() == (4 * np.bincount(x, minlength=BINS)).tolist()
