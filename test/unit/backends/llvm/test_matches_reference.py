"""Compiled kernels give what the reference interpreter gives, bit for bit."""

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from tenon.backends.llvm import backend
from tenon.backends.reference.kernels.low import run_kernel
from tenon.dialects.low import KernelOp
from tenon.dialects.modules.parsing import parse_module
from tenon.test.kernels import launch_kernel

POLYNOMIAL = """low.kernel @k(%x: memref<256xf32>, %y: memref<256xf32>) grid [32, 1, 1] block [1, 1, 1] {
  %g = low.block_id x
  %w = arith.constant 8 : index
  %i = arith.muli %g, %w : index
  %v = vector.load %x[%i] : memref<256xf32>, vector<8xf32>
  %a = arith.constant dense<0.3333> : vector<8xf32>
  %b = arith.constant dense<[0.1, -0.2, 0.3, -0.4, 0.5, -0.6, 0.7, -0.8]> : vector<8xf32>
  %p = math.fma %v, %a, %b : vector<8xf32>
  %q = math.fma %p, %v, %a : vector<8xf32>
  %r = math.roundeven %q : vector<8xf32>
  %s = arith.subf %q, %r : vector<8xf32>
  %t = arith.divf %s, %v : vector<8xf32>
  %u = arith.maximumf %t, %b : vector<8xf32>
  %z = math.copysign %u, %v : vector<8xf32>
  %n = low.convert fptosi %z : vector<8xf32> to vector<8xi32>
  %m = low.convert sitofp %n : vector<8xi32> to vector<8xf32>
  %d = low.remf %z, %a : vector<8xf32>
  %e = arith.addf %m, %d : vector<8xf32>
  vector.store %e, %y[%i] : memref<256xf32>, vector<8xf32>
}"""

NORMALIZE = """low.kernel @k(%x: memref<256xf64>, %y: memref<256xf64>) grid [2, 1, 4] block [1, 1, 1] {
  %gx = low.block_id x
  %gz = low.block_id z
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %row = low.alloca : memref<32xf64>
  %rows = arith.muli %gz, %c2 : index
  %g = arith.addi %rows, %gx : index
  %base = arith.muli %g, %c32 : index
  %zero = arith.constant 0.0 : f64
  %sum = scf.for %j = %c0 to %c32 step %c4 iter_args(%acc = %zero) -> (f64) {
    %at = arith.addi %base, %j : index
    %v = vector.load %x[%at] : memref<256xf64>, vector<4xf64>
    %sq = arith.mulf %v, %v : vector<4xf64>
    vector.store %sq, %row[%j] : memref<32xf64>, vector<4xf64>
    %next = vector.reduction <add>, %sq, %acc : vector<4xf64> into f64
    scf.yield %next : f64
  }
  %root = math.sqrt %sum : f64
  %is_small = arith.cmpf ult, %root, %sum : f64
  %scale = scf.if %is_small -> (f64) {
    scf.yield %root : f64
  } else {
    %twice = arith.addf %root, %root : f64
    scf.yield %twice : f64
  }
  scf.for %j2 = %c0 to %c32 step %c1 {
    %e = memref.load %row[%j2] : memref<32xf64>
    %f = arith.divf %e, %scale : f64
    %at2 = arith.addi %base, %j2 : index
    memref.store %f, %y[%at2] : memref<256xf64>
  }
}"""

INTEGERS = """low.kernel @k(%x: memref<256xi32>, %y: memref<256xi8>, %z: memref<256xi64>)
    grid [64, 1, 1] block [2, 2, 1] {
  %g = low.block_id x
  %tx = low.thread_id x
  %ty = low.thread_id y
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %a = arith.muli %g, %c4 : index
  %b = arith.muli %ty, %c2 : index
  %c = arith.addi %a, %b : index
  %i = arith.addi %c, %tx : index
  %v = memref.load %x[%i] : memref<256xi32>
  %k = arith.index_cast %i : index to i32
  %seven = arith.constant 7 : i32
  %hash = arith.muli %v, %v : i32
  %mixed = arith.xori %hash, %k : i32
  %shifted = arith.shrui %mixed, %seven : i32
  %signed = arith.shrsi %mixed, %seven : i32
  %quotient = arith.divsi %mixed, %seven : i32
  %remainder = arith.remui %mixed, %seven : i32
  %low = arith.minui %shifted, %quotient : i32
  %high = arith.maxsi %signed, %remainder : i32
  %byte = low.convert trunci %low : i32 to i8
  %wide = low.convert extsi %high : i32 to i64
  %is_less = arith.cmpi ult, %low, %high : i32
  %bit = low.convert extui %is_less : i1 to i8
  %sum = arith.addi %byte, %bit : i8
  memref.store %sum, %y[%i] : memref<256xi8>
  memref.store %wide, %z[%i] : memref<256xi64>
}"""

SHORT_FLOATS = """low.kernel @k(%x: memref<256xf64>, %h: memref<256x{short}>, %y: memref<256xf32>)
    grid [16, 2, 1] block [1, 1, 1] {{
  %gx = low.block_id x
  %gy = low.block_id y
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %rows = arith.muli %gy, %c16 : index
  %g = arith.addi %rows, %gx : index
  %i = arith.muli %g, %c8 : index
  %v = vector.load %x[%i] : memref<256xf64>, vector<8xf64>
  %s = arith.truncf %v : vector<8xf64> to vector<8x{short}>
  %w = arith.extf %s : vector<8x{short}> to vector<8xf32>
  %old = vector.load %h[%i] : memref<256x{short}>, vector<8x{short}>
  %old_wide = arith.extf %old : vector<8x{short}> to vector<8xf32>
  %product = arith.mulf %w, %old_wide : vector<8xf32>
  %back = arith.truncf %product : vector<8xf32> to vector<8x{short}>
  vector.store %back, %h[%i] : memref<256x{short}>, vector<8x{short}>
  vector.store %product, %y[%i] : memref<256xf32>, vector<8xf32>
}}"""

CASES: dict[str, tuple[str, list[Any]]] = {
    "polynomial": (POLYNOMIAL, [np.float32, np.float32]),
    "normalize": (NORMALIZE, [np.float64, np.float64]),
    "integers": (INTEGERS, [np.int32, np.int8, np.int64]),
    "f16": (SHORT_FLOATS.format(short="f16"), [np.float64, np.float16, np.float32]),
    "bf16": (SHORT_FLOATS.format(short="bf16"), [np.float64, ml_dtypes.bfloat16, np.float32]),
}


def random_array(dtype: Any, seed: int) -> npt.NDArray[Any]:
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "i":
        info = np.iinfo(dtype)
        return generator.integers(info.min, info.max, 256, dtype, endpoint=True)
    values = generator.standard_normal(256) * 4
    values[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40]
    return values.astype(dtype)


@pytest.mark.parametrize("case", CASES)
def test_kernel_gives_what_the_interpreter_gives(case: str) -> None:
    text, dtypes = CASES[case]
    module = parse_module(text)
    kernel = module.body.block.first_op
    assert isinstance(kernel, KernelOp)
    expected = [random_array(dtype, seed) for seed, dtype in enumerate(dtypes)]
    got = [array.copy() for array in expected]
    with np.errstate(all="ignore"):
        run_kernel(kernel, expected)

    launch_kernel(backend(), module, *got)

    for ours, reference in zip(got, expected, strict=True):
        is_nan = np.isnan(reference.astype(np.float64))
        np.testing.assert_array_equal(np.isnan(ours.astype(np.float64)), is_nan)
        assert ours[~is_nan].tobytes() == reference[~is_nan].tobytes()
