"""Loops over the rows of a matrix in strips of columns: the bits of one column after the other."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
from tenon import numpy as tnp
from tenon.dialects import context
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.pass_manager import PassManager


def centred(x: Any) -> Any:
    return x - tnp.mean(x, axis=0)


def shares(x: Any) -> Any:
    e = 1 / (1 + tnp.max(x, axis=0) - x)
    return e / tnp.sum(e, axis=0)


def normalised(x: Any) -> Any:
    d = x - tnp.mean(x, axis=0)
    return d / tnp.sqrt(tnp.mean(d * d, axis=0) + 1e-5)


def middle(x: Any) -> Any:
    images = tnp.reshape(x, (2, x.shape[0] // 2, x.shape[1]))
    return images - tnp.max(images, axis=1, keepdims=True)


def projected(x: Any) -> Any:
    """Each element of the weights is read for all columns: it has its neighbours along the rows."""
    weights = tnp.sqrt(tnp.abs(x[:, 0]))
    return x - tnp.sum(x * weights[:, None], axis=0)


PROGRAMS = (centred, shares, normalised, middle, projected)
SHAPES = ((64, 300), (130, 1500), (4, 16), (66, 513), (100, 10), (64, 4), (90, 7))
"""
One strip; some strips and a part of one; vectors that are left over; a strip of one column; less than a
vector of some processors.
"""


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_strips_have_the_bits_of_columns(program: Callable[[Any], Any], shape: tuple[int, ...], dtype: str):
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    lowered = tenon.jit(program).lower(x)
    text = lowered.text("sched")
    assert "row by row, in strips of up to" in text
    compiled = tenon.compile(lowered.module)
    found = compiled(x)
    interpreted = tenon.compile(str(compiled.stages["sched"]), backend="reference")
    assert found.tobytes() == interpreted(x).tobytes()
    assert found.tobytes() == tenon.compile(lowered.module, backend="opencl")(x).tobytes()
    with tenon.num_threads(1):
        assert found.tobytes() == compiled(x).tobytes()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_the_pass_changes_no_bit(program: Callable[[Any], Any]):
    x = np.random.default_rng(3).standard_normal((66, 513)).astype("f4")
    module = tenon.jit(program).lower(x).module
    results: list[Any] = []
    for passes in ("collapse-axes", "collapse-axes,strip-columns"):
        kernels = parse_module(str(module), "t.mlir")
        phases = f"graph-pipeline,convert-graph-to-sched,{passes},build-dependencies,plan-memory"
        PassManager(phases).run(context(), kernels)
        assert ("in strips" in str(kernels)) is ("strip" in passes)
        results.append(tenon.compile(str(kernels), backend="reference")(x))
    assert results[0].tobytes() == results[1].tobytes()


BUFFER = """
sched.kernel @buffer(%x: memref<256x2000xf32>, %y: memref<256x2000xf32>) {
  sched.axis %j = 2000 {
    %kept = sched.alloc local : memref<256xf32>
    sched.axis %r = 256 {
      %v = memref.load %x[%r, %j] : memref<256x2000xf32>
      %q = arith.mulf %v, %v : f32
      memref.store %q, %kept[%r] : memref<256xf32>
    }
    %s = sched.reduce addf %i = 256 : f32 {
      %v = memref.load %kept[%i] : memref<256xf32>
      sched.yield %v : f32
    }
    sched.axis %r_1 = 256 {
      %v = memref.load %kept[%r_1] : memref<256xf32>
      %d = arith.divf %v, %s : f32
      memref.store %d, %y[%r_1, %j] : memref<256x2000xf32>
    }
  }
}
sched.program @main(%x: memref<256x2000xf32>) : (tensor<256x2000xf32>) -> tensor<256x2000xf32> {
  %y = sched.buffer global result : memref<256x2000xf32>
  %t = sched.launch @buffer(%x, %y) after() : memref<256x2000xf32>, memref<256x2000xf32>
  sched.return %y after(%t) : memref<256x2000xf32>
}
"""


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_the_buffers_of_a_strip_fit_a_kernel(backend: str):
    """128 columns of 1 KiB each, of the 256 KiB that a kernel may have."""
    module = parse_module(BUFFER, "t.mlir")
    PassManager("strip-columns,map-axes,build-dependencies,plan-memory").run(context(), module)
    assert "strips of up to 128 columns" in str(module)
    x = np.random.default_rng(4).standard_normal((256, 2000)).astype("f4")
    found = tenon.compile(str(module), backend=backend)(x)
    np.testing.assert_allclose(found, x * x / np.sum(x * x, axis=0), rtol=1e-4)


def test_strips_can_be_replayed():
    x = np.random.default_rng(1).standard_normal((130, 1500)).astype("f4")
    lowered = tenon.jit(shares).lower(x)
    (kernel,) = lowered.explain().kernels
    assert kernel.recipe is not None
    again = tenon.compile(lowered.module, schedules={kernel.name: kernel.recipe})
    assert again(x).tobytes() == tenon.compile(lowered.module)(x).tobytes()


def test_rows_that_lie_in_a_row_are_left_alone():
    x = np.zeros((64, 300), "f4")
    text = tenon.jit(lambda x: x - tnp.mean(x, axis=1, keepdims=True)).lower(x).text("sched")
    assert "in strips" not in text


def test_named_dims_run_in_strips_too():
    n, m = tenon.Dim("n", 1, 512), tenon.Dim("m", 1, 2048)
    program = tenon.jit(centred, dynamic={"x": {0: n, 1: m}})
    for shape in ((64, 300), (1, 1), (129, 1500)):
        x = np.random.default_rng(2).standard_normal(shape).astype("f4")
        np.testing.assert_array_equal(program(x), tenon.jit(centred)(x))
    assert "in strips" in program.lower(np.zeros((64, 300), "f4")).text("sched")
