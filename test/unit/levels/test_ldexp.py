"""`low.ldexp`, a product with a power of two: its expansion on arrays, and the instruction of processors."""

import numpy as np
import pytest
from tenon.backends.llvm.device import CpuDevice
from tenon.backends.llvm.processors import Processor
from tenon.backends.llvm.renderer import LLVMRenderer
from tenon.backends.registry import get_backend
from tenon.dialects.float_layout import F32, F64
from tenon.passes.low.math.array_arithmetic import ArrayArithmetic
from tenon.test.bits import assert_same_bits
from tenon.test.contract.op_cases import ldexp, powers_of_two
from tenon.test.kernels import launch_kernel, parsed

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


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_expansions_on_arrays_compute_the_same(element: str):
    x, n = powers_of_two(element).values()
    with np.errstate(all="ignore"):
        found = ArrayArithmetic(F32 if element == "f32" else F64).ldexp(x, n)
        assert_same_bits(found, ldexp(x, n))


@pytest.mark.parametrize(("lanes", "nbytes"), [(16, 64), (8, 32), (4, 16), (2, 8), (1, 4)])
def test_processors_without_the_instruction_multiply_twice(lanes: int, nbytes: int):
    for features, has_it in (("+avx512f,+avx512vl", True), ("+avx512f", nbytes == 64), ("+avx2", False)):
        device = CpuDevice(Processor("abacus", "x86_64", "generic", features, 32))
        text = LLVMRenderer().render(parsed(kernel("f32", lanes)), device)
        is_used = has_it and nbytes >= 16
        assert ("scalef.ps" in text) == is_used, features
        assert text.count("fmul") == (0 if is_used else 2)


@pytest.mark.processor
@pytest.mark.parametrize(("element", "rounder"), [("f32", 12582912.0 + 254), ("f64", 1.5 * 2.0**52 + 2046)])
def test_a_sum_that_is_there_already_is_not_made_again(element: str, rounder: float):
    """Where n is a sum less the number that the products need to be added to n."""
    n_numbers = 4096
    difference = f"""%sum = arith.addf %b, %rounder : vector<8x{element}>
        %n1 = arith.subf %sum, %rounder : vector<8x{element}>
        %r = low.ldexp %a, %n1"""
    constant = f"%rounder = arith.constant dense<{rounder}> : vector<8x{element}>\n scf.for"
    text = kernel(element, 8).replace("%r = low.ldexp %a, %b", difference).replace("scf.for", constant)
    device = CpuDevice(Processor("abacus", "x86_64", "generic", "+avx2", 32))
    assert LLVMRenderer().render(parsed(text), device).count("fadd") == 1
    other = text.replace("%n1 = arith.subf %sum, %rounder", "%n1 = arith.subf %sum, %b")
    assert LLVMRenderer().render(parsed(other), device).count("fadd") == 2
    x, n = powers_of_two(element).values()
    y = np.zeros(n_numbers, x.dtype)
    launch_kernel(get_backend("llvm"), parsed(text), x, n, y)
    with np.errstate(all="ignore"):
        assert_same_bits(y, ldexp(x, n))
