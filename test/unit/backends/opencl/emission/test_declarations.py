"""What kernels call is declared to PoCL without its header."""

from itertools import product

import numpy as np
import pytest
from tenon.backends.interface import BufferLoc
from tenon.backends.opencl.device import is_pocl
from tenon.backends.opencl.emission.declarations import NO_HEADER, declared
from tenon.backends.registry import get_backend

cl = pytest.importorskip("pyopencl")

INTEGERS = ("char", "short", "int", "long", "uchar", "ushort", "uint", "ulong")
FLOATS = ("float", "double")
WIDTHS = ("", "2", "4", "8", "16")
FP64 = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"


def body(calls: list[str]) -> str:
    """Returns a kernel with a variable `x_<type>` of every type, and the calls as statements."""
    types = [element + width for element in (*INTEGERS, *FLOATS) for width in WIDTHS]
    lines = [f"  volatile {type} x_{type} = 0;" for type in types] + [f"  {call};" for call in calls]
    return "\n".join([f"{FP64}__kernel void k() {{", *lines, "}"])


def calls() -> list[str]:
    found = [
        f"x_{to}{width} = convert_{to}{width}(x_{source}{width})"
        for source, to, width in product((*INTEGERS, *FLOATS), (*INTEGERS, *FLOATS), WIDTHS)
    ]
    found += [f"x_{type}{width} = clz(x_{type}{width})" for type, width in product(INTEGERS, WIDTHS)]
    for type, width in product(FLOATS, WIDTHS):
        x = f"x_{type}{width}"
        found += [f"{x} = sqrt({x})", f"{x} = fma({x}, {x}, {x})"]
        found.append(f"x_int{width} = as_int{width}((float{width})x_float{width})")
    found += [f"x_ulong = {name}(0)" for name in ("get_global_id", "get_group_id", "get_local_id")]
    return [*found, "x_ulong = get_num_groups(0)", "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)"]


def test_all_that_is_declared_is_there_without_the_header():
    device = next(iter(get_backend("opencl").compiler.context.devices))
    if not is_pocl(device):
        pytest.skip("the header is PoCL's")
    text = declared(body(calls()))
    assert text is not None
    cl.Program(cl.Context([device]), text).build(["-cl-std=CL1.2", "-w", NO_HEADER])


@pytest.mark.parametrize(
    "call",
    ["sin(x_float)", "convert_uchar_sat(x_int)", "x_float3 = convert_float3(x_int)", "max(x_int, x_int)"],
)
def test_a_text_that_calls_anything_else_gets_the_header(call: str):
    assert declared(body([call])) is None


def test_functions_of_the_text_and_of_the_compiler_are_no_calls_of_others():
    text = "float tenon_f(float x) { if (x > 0) return __builtin_sqrtf(x); return 0; }\n"
    text += "__kernel void k(__global float *x) { x[0] = tenon_f(x[1]); }"
    assert declared(text) is not None


def test_doubles_are_declared_where_the_text_has_them():
    text = "__kernel void k(__global float *x) { x[0] = sqrt(x[1]); }"
    assert "double" not in str(declared(text))
    assert "double2 sqrt" not in str(declared(text)) and "sqrt(double2)" in str(declared(FP64 + text))


def test_a_text_with_the_header_and_one_without_compute_the_same():
    device = get_backend("opencl")
    for root in ("sqrt(x[0])", "1 / rsqrt(x[0])"):
        source = f"__kernel void k(__global float *x, ulong at) {{ x[1] = {root}; }}"
        kernel = device.driver.get_kernel(device.compiler.compile(source, device.device), "k")
        device.driver.alloc_pool(1, 8, 64)
        device.driver.copy_to_device(BufferLoc(1, 0), np.array([16, 0], np.float32))
        device.driver.launch(kernel, (1, 1, 1), (1, 1, 1), [BufferLoc(1, 0)])
        found = np.zeros(2, np.float32)
        device.driver.copy_from_device(found, BufferLoc(1, 0))
        device.driver.free_pool(1)
        assert found[1] == pytest.approx(4)
