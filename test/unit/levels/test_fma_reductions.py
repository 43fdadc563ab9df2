"""Sums of products, `sched.reduce fma`: one rounding for each step, over several dims, in any lanes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import tenon
from tenon.backends.reference.kernels.sched import run_kernel
from tenon.dialects import context, sched
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.low.lowering.convert_sched_to_low import ConvertSchedToLowPass
from tenon.semantics.numpy_types import Array
from tenon.test.bits import are_same

DOT = """sched.kernel @dot(%x: memref<4x37x{type}>, %y: memref<37x{type}>, %z: memref<4x{type}>) {{
  sched.axis %i = 4 {rows} {{
    %s = sched.reduce fma %k = 37 {mapping} : {type} {{
      %a = memref.load %x[%i, %k] : memref<4x37x{type}>
      %b = memref.load %y[%k] : memref<37x{type}>
      sched.yield %a, %b : {type}
    }}
    memref.store %s, %z[%i] : memref<4x{type}>
  }}
}}"""

TWO_DIMS = """sched.kernel @sum(%x: memref<4x5x19xf32>, %y: memref<5x19xf32>, %z: memref<4xf32>) {{
  sched.axis %i = 4 {rows} {{
    %s = sched.reduce fma %h = 5 : f32 {{
      %t = sched.reduce fma %k = 19 {mapping} : f32 {{
        %a = memref.load %x[%i, %h, %k] : memref<4x5x19xf32>
        %b = memref.load %y[%h, %k] : memref<5x19xf32>
        sched.yield %a, %b : f32
      }}
      sched.yield %t : f32
    }}
    memref.store %s, %z[%i] : memref<4xf32>
  }}
}}"""

MAPPINGS = ["", "vector(4)", "unroll(4)", "vector(8) unroll(2)"]


def kernel_of(text: str) -> sched.KernelOp:
    kernel = parse_module(text).body.block.first_op
    assert isinstance(kernel, sched.KernelOp)
    return kernel


def interpreted(text: str, x: Array, y: Array) -> Array:
    z = np.zeros(4, x.dtype)
    run_kernel(kernel_of(text), [x, y, z])
    return z


def compiled(text: str, x: Array, y: Array, backend: str) -> Array:
    dims = [f"memref<{'x'.join(map(str, shape))}x{'f32' if x.itemsize == 4 else 'f64'}>" for shape in
            (x.shape, y.shape, (4,))]  # fmt: skip
    name = kernel_of(text).sym_name.data
    tensors = [dim.replace("memref", "tensor") for dim in dims]
    signature = f"({tensors[0]}, {tensors[1]}) -> {tensors[2]}"
    program = f"""sched.program @main(%x: {dims[0]}, %y: {dims[1]}) : {signature} {{
      %z = sched.buffer global result : {dims[2]}
      %t = sched.launch @{name}(%x, %y, %z) after() : {", ".join(dims)}
      sched.return %z after(%t) : {dims[2]}
    }}"""
    return np.asarray(tenon.compile(f"{text}\n{program}", backend=backend)(x, y))


def rounded_step(a: float, b: float, total: float) -> float:
    return float(np.float64(float(Fraction(a) * Fraction(b) + Fraction(total))))


def test_each_step_is_rounded_once():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((4, 37)), rng.standard_normal(37)
    expected = np.zeros(4)
    for i in range(4):
        for k in range(37):
            expected[i] = rounded_step(x[i, k], y[k], expected[i])
    text = DOT.format(type="f64", rows="", mapping="")
    np.testing.assert_array_equal(interpreted(text, x, y), expected)
    assert not np.array_equal(expected, [np.cumsum(row * y)[-1] for row in x])


def test_partial_results_are_added_in_halves():
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((4, 37)), rng.standard_normal(37)
    expected = np.zeros(4)
    for i in range(4):
        sums = [0.0] * 4
        for k in range(36):
            sums[k % 4] = rounded_step(x[i, k], y[k], sums[k % 4])
        total = (sums[0] + sums[2]) + (sums[1] + sums[3])
        expected[i] = rounded_step(x[i, 36], y[36], total)
    for mapping in ("vector(4)", "unroll(4)", "vector(2) unroll(2)"):
        np.testing.assert_array_equal(
            interpreted(DOT.format(type="f64", rows="", mapping=mapping), x, y), expected
        )


def test_several_dims_are_one_sum():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((4, 5, 19)).astype(np.float32)
    y = rng.standard_normal((5, 19)).astype(np.float32)
    flat = (
        TWO_DIMS.replace("%h = 5", "%h = 1")
        .replace("%k = 19", "%k = 95")
        .replace("5x19", "1x95")
        .format(rows="", mapping="")
    )
    expected = interpreted(flat, x.reshape(4, 1, 95), y.reshape(1, 95))
    np.testing.assert_array_equal(interpreted(TWO_DIMS.format(rows="", mapping=""), x, y), expected)


@pytest.mark.parametrize("backend", ["llvm", "opencl", "reference"])
@pytest.mark.parametrize("rows", ["", "unroll(2)"])
@pytest.mark.parametrize("mapping", MAPPINGS)
def test_compiled_sums_have_the_bits_of_the_interpreter(backend: str, rows: str, mapping: str) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((4, 37)), rng.standard_normal(37)
    x[1, 3], y[5], x[2, 5] = np.inf, -0.0, np.nan
    x[3] = -np.copysign(0.0, y)  # of -0.0 alone, the sum is the 0.0 that it starts from
    for type, dtype in (("f32", np.float32), ("f64", np.float64)):
        text = DOT.format(type=type, rows=rows, mapping=mapping)
        operands = x.astype(dtype), y.astype(dtype)
        found = compiled(text, *operands, backend)
        assert are_same(found, interpreted(text, *operands)) and str(found[3]) == "0.0"
    x, y = rng.standard_normal((4, 5, 19)).astype("f"), rng.standard_normal((5, 19)).astype("f")
    text = TWO_DIMS.format(rows=rows, mapping=mapping)
    np.testing.assert_array_equal(compiled(text, x, y, backend), interpreted(text, x, y))


def test_lanes_of_an_axis_around_share_the_order_of_the_serial_sum():
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((37, 8)).astype("f"), rng.standard_normal((37, 3)).astype("f")
    texts = [
        f"""sched.kernel @f(%x: memref<37x8xf32>, %y: memref<37x3xf32>, %z: memref<3x8xf32>) {{
          sched.axis %i = 3 {{
            sched.axis %j = 8 {mapping} {{
              %s = sched.reduce fma %k = 37 : f32 {{
                %a = memref.load %y[%k, %i] : memref<37x3xf32>
                %b = memref.load %x[%k, %j] : memref<37x8xf32>
                sched.yield %a, %b : f32
              }}
              memref.store %s, %z[%i, %j] : memref<3x8xf32>
            }}
          }}
        }}"""
        for mapping in ("", "vector(8)")
    ]
    module = parse_module(texts[1])
    ConvertSchedToLowPass().apply(context(), module)
    assert str(module).count("math.fma") == 1 and "arith.mulf" not in str(module)
    results = []
    for text in texts:
        z = np.zeros((3, 8), np.float32)
        run_kernel(kernel_of(text), [x, y, z])
        results.append(z)
    np.testing.assert_array_equal(*results)
