"""`low.ldexp`, a product with a power of two, on every backend and in vectors of every width."""

import numpy as np
import pytest
from tenon.backends.llvm.device import CpuDevice
from tenon.backends.llvm.processors import Processor
from tenon.backends.llvm.renderer import LLVMRenderer
from tenon.passes.low.math.array_arithmetic import ArrayArithmetic
from tenon.passes.low.math.float_format import F32, F64

from . import test_llvm_ops as on_llvm
from . import test_opencl_ops as on_opencl
from .test_llvm_ops import Array, assert_same, parse

BIAS = {"f32": 127, "f64": 1023}
DTYPES = {"f32": np.float32, "f64": np.float64}
N = 4096


def kernel(element: str, lanes: int, n: int = N) -> str:
    type = element if lanes == 1 else f"vector<{lanes}x{element}>"
    load, store = ("memref.load", "memref.store") if lanes == 1 else ("vector.load", "vector.store")
    suffix = "" if lanes == 1 else f", {type}"
    return f"""
    low.kernel @k(%x: memref<{n}x{element}>, %n: memref<{n}x{element}>, %y: memref<{n}x{element}>)
        grid [1, 1, 1] block [1, 1, 1] {{
      %c0 = arith.constant 0 : index
      %end = arith.constant {n} : index
      %step = arith.constant {lanes} : index
      scf.for %i = %c0 to %end step %step {{
        %a = {load} %x[%i] : memref<{n}x{element}>{suffix}
        %b = {load} %n[%i] : memref<{n}x{element}>{suffix}
        %r = low.ldexp %a, %b : {type}
        {store} %r, %y[%i] : memref<{n}x{element}>{suffix}
      }}
    }}
    """


def operands(element: str) -> tuple[Array, Array]:
    """Returns significands and exponents, those of subnormal and of about infinite results among them."""
    random, dtype, bias = np.random.default_rng(0), DTYPES[element], BIAS[element]
    mantissa_bits = np.finfo(dtype).nmant
    x = (random.choice([-1, 1], N) * random.uniform(0.5, 2, N)).astype(dtype)
    n = random.integers(-2 * bias, 2 * bias + 1, N).astype(dtype)
    n[1000:2000] = random.integers(-bias - mantissa_bits - 3, -bias + 3, 1000)
    n[2000:3000] = random.integers(bias - 1, bias + 3, 1000)
    significands = [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, np.nan]
    exponents = [-2.0 * bias, -1.0, 0.0, 1.0, 2.0 * bias, np.nan]
    pairs = np.array([(number, exponent) for number in significands for exponent in exponents], dtype)
    pairs = pairs[np.isnan(pairs[:, 0]) | ~np.isnan(pairs[:, 1])]
    x[: len(pairs)], n[: len(pairs)] = pairs.T
    return x, n


def expected(x: Array, n: Array) -> Array:
    with np.errstate(all="ignore"):
        exponents = np.where(np.isnan(n), 0, n).astype(int)
        return np.ldexp(x, exponents).astype(x.dtype)


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_products_with_powers_of_two_are_rounded_once_on_llvm(element: str, lanes: int):
    x, n = operands(element)
    y = np.zeros_like(x)
    on_llvm.run(kernel(element, lanes), x, n, y)
    assert_same(y, expected(x, n))


@pytest.mark.parametrize("lanes", [1, 4, 16])
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_products_with_powers_of_two_are_rounded_once_on_opencl(element: str, lanes: int):
    x, n = operands(element)
    y = np.zeros_like(x)
    on_opencl.run(kernel(element, lanes), x, n, y)
    assert_same(y, expected(x, n))


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_expansions_on_arrays_compute_the_same(element: str):
    x, n = operands(element)
    with np.errstate(all="ignore"):
        assert_same(ArrayArithmetic(F32 if element == "f32" else F64).ldexp(x, n), expected(x, n))


@pytest.mark.parametrize(("lanes", "nbytes"), [(16, 64), (8, 32), (4, 16), (2, 8), (1, 4)])
def test_processors_without_the_instruction_multiply_twice(lanes: int, nbytes: int):
    for features, has_it in (("+avx512f,+avx512vl", True), ("+avx512f", nbytes == 64), ("+avx2", False)):
        device = CpuDevice(Processor("abacus", "x86_64", "generic", features, 32))
        text = LLVMRenderer().render(parse(kernel("f32", lanes)), device)
        is_used = has_it and nbytes >= 16
        assert ("scalef.ps" in text) == is_used, features
        assert text.count("fmul") == (0 if is_used else 2)
