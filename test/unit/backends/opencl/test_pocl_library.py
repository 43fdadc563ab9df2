"""What kernels are compiled for, so that the functions of PoCL's library take vectors as they pass them."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyopencl
import pytest
from tenon.backends.opencl.compile import OpenCLCompiler
from tenon.backends.opencl.device import device_info
from tenon.backends.opencl.pocl_library import library_options

FOR_MANY = "OpenCL 3.0 PoCL 3.0-rc2  Linux, Release, RELOC, LLVM 14.0.6, SLEEF, DISTRO, POCL_DEBUG"
ZEN = "OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-znver3"


def device(width: int, platform: str = FOR_MANY, version: str = ZEN) -> Any:
    return SimpleNamespace(
        platform=SimpleNamespace(version=platform), version=version, native_vector_width_float=width
    )


def features(options: list[str]) -> list[str]:
    return [word for option in options for word in option.split("\t") if word.startswith("+")]


@pytest.mark.parametrize(
    ("width", "expected"),
    [(4, []), (8, ["+avx"]), (16, ["+avx", *(f"+avx512{name}" for name in ("f", "cd", "bw", "dq", "vl"))])],
)
def test_kernels_have_the_registers_that_the_library_passes_vectors_in(width: int, expected: list[str]):
    assert features(library_options(device(width))) == expected


@pytest.mark.parametrize(
    "found",
    [
        device(16, platform=FOR_MANY.replace("PoCL 3.0-rc2", "PoCL 4.0")),
        device(16, platform=FOR_MANY.replace("DISTRO, ", "")),
        device(16, version=ZEN.replace("x86_64", "aarch64")),
        device(16, platform="OpenCL 3.0 CUDA 13.0.1"),
    ],
    ids=["from 4.0 on", "made for one processor", "another kind of processor", "no PoCL"],
)
def test_what_agrees_by_itself_gets_no_options(found: Any):
    assert library_options(found) == []


def test_wide_vectors_come_back_from_functions_as_they_are(pocl_device: pyopencl.Device):
    context = pyopencl.Context([pocl_device])
    text = """__kernel void rounded(__global const double16 *a, __global double16 *b, __global long16 *c) {
        b[0] = fma(rint(a[0]), a[0], fmin(a[0], 0.5)); c[0] = convert_long16_sat(a[0]);
    }"""
    program: Any = OpenCLCompiler(context, pocl_device).compile(text, device_info(pocl_device)).native
    a = np.arange(16) / 4 - 1
    b, c = np.zeros(16), np.zeros(16, np.int64)
    flags = pyopencl.mem_flags.COPY_HOST_PTR
    with pyopencl.CommandQueue(context) as queue:
        buffers = [pyopencl.Buffer(context, flags, hostbuf=array) for array in (a, b, c)]
        program.rounded(queue, (1,), (1,), *buffers)
        pyopencl.enqueue_copy(queue, b, buffers[1])
        pyopencl.enqueue_copy(queue, c, buffers[2])
    np.testing.assert_array_equal(b, np.rint(a) * a + np.fmin(a, 0.5))
    np.testing.assert_array_equal(c, np.trunc(a).astype(np.int64))
