"""Sources for OpenCL: they compile, and C that uses them computes what the compiled program does."""

from __future__ import annotations

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.backends.opencl.compile import OpenCLCompiler
from tenon.backends.registry import get_backend
from tenon.compiler.export.export import Exported

from .c_programs import CC, needs_cc

pytestmark = pytest.mark.skipif(find_spec("pyopencl") is None, reason="needs pyopencl")

DECLARATIONS = """
#include <stddef.h>
#include <stdint.h>
typedef int32_t cl_int; typedef uint32_t cl_uint; typedef int64_t cl_long; typedef uint64_t cl_ulong;
typedef cl_ulong cl_bitfield; typedef cl_uint cl_bool;
typedef struct P *cl_platform_id; typedef struct D *cl_device_id; typedef struct C *cl_context;
typedef struct Q *cl_command_queue; typedef struct G *cl_program; typedef struct K *cl_kernel;
typedef struct M *cl_mem; typedef struct E *cl_event; typedef cl_bitfield cl_device_fp_config;
enum { CL_SUCCESS = 0, CL_TRUE = 1, CL_MEM_READ_WRITE = 1, CL_MEM_COPY_HOST_PTR = 32,
       CL_DEVICE_SINGLE_FP_CONFIG = 0x101B, CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT = 128 };
#define CL_DEVICE_TYPE_ALL 0xFFFFFFFFu
cl_int clGetPlatformIDs(cl_uint, cl_platform_id *, cl_uint *);
cl_int clGetDeviceIDs(cl_platform_id, cl_bitfield, cl_uint, cl_device_id *, cl_uint *);
cl_int clGetDeviceInfo(cl_device_id, cl_uint, size_t, void *, size_t *);
cl_context clCreateContext(const intptr_t *, cl_uint, const cl_device_id *, void *, void *, cl_int *);
cl_command_queue clCreateCommandQueue(cl_context, cl_device_id, cl_bitfield, cl_int *);
cl_program clCreateProgramWithSource(cl_context, cl_uint, const char **, const size_t *, cl_int *);
cl_int clBuildProgram(cl_program, cl_uint, const cl_device_id *, const char *, void *, void *);
cl_kernel clCreateKernel(cl_program, const char *, cl_int *);
cl_mem clCreateBuffer(cl_context, cl_bitfield, size_t, void *, cl_int *);
cl_int clSetKernelArg(cl_kernel, cl_uint, size_t, const void *);
cl_int clEnqueueNDRangeKernel(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
                              const size_t *, cl_uint, const cl_event *, cl_event *);
cl_int clEnqueueReadBuffer(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint,
                           const cl_event *, cl_event *);
cl_int clEnqueueWriteBuffer(cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint,
                            const cl_event *, cl_event *);
cl_int clEnqueueCopyBuffer(cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint,
                           const cl_event *, cl_event *);
cl_int clFinish(cl_command_queue);
cl_int clReleaseMemObject(cl_mem);
cl_int clReleaseKernel(cl_kernel);
cl_int clReleaseProgram(cl_program);
"""
"""What the launcher and the program below use of CL/cl.h, for machines without the headers."""

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "m.h"
int main(int argc, char **argv) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  (void)argc, (void)argv;
  if (clGetPlatformIDs(1, &platform, NULL)) return 1;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) return 2;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  m_program *program;
  if (m_create(context, device, "none.cl"$NONE, &program) != TENON_BAD_FILE || program) return 3;
  int code = m_create(context, device, "m.cl"$WEIGHTS, &program);
  if (code) return 10 + code;
  $CALL
  m_destroy(program);
  return 0;
}
"""


KNOWN_PROCESSOR = """
#include <string.h>
char *strncpy(char *to, const char *from, size_t n) {
  size_t used = strnlen(from, n);
  memcpy(to, n == 7 && !memcmp(from, "generic", 7) ? "haswell" : from, used);
  memset(to + used, 0, n - used);
  return to;
}
"""
"""
Loaded before PoCL it is how a program that is not Tenon's has a PoCL whose LLVM knows the processor: the name
that LLVM says is copied by this function.
"""


def pocl() -> Path:
    """The folder of the loader and the driver that pyopencl's wheel carries."""
    import pyopencl

    return Path(pyopencl.__file__).parent / ".libs"


def has_headers() -> bool:
    """Returns whether the compiler finds the headers of OpenCL."""
    assert CC is not None
    source = b"#include <CL/cl.h>\n"
    return subprocess.run([CC, "-E", "-"], input=source, capture_output=True, check=False).returncode == 0


def run(exported: Exported, folder: Path, call: str, contents: bytes) -> bytes:
    """Compiles and runs a program of C on PoCL; without a loader that can be linked it is only compiled."""
    assert CC is not None
    if not has_headers():
        (folder / "CL").mkdir(exist_ok=True)
        (folder / "CL" / "cl.h").write_text(DECLARATIONS)
    has_weights = any(file.suffix == ".weights" for file in exported.files)
    main = MAIN.replace("$CALL", call)
    main = main.replace("$NONE", ', "m.weights"' if has_weights else "")
    (folder / "main.c").write_text(main.replace("$WEIGHTS", ', "m.weights"' if has_weights else ""))
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-I.", "-DCL_TARGET_OPENCL_VERSION=120"]
    done = subprocess.run(
        [CC, *flags, "-c", "m.c", "main.c"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    loaders = sorted(pocl().glob("libOpenCL*.so*"))
    if not loaders:
        pytest.skip("compiled; there is no libOpenCL to link with")
    link = [CC, "m.o", "main.o", str(loaders[0]), "-o", "main", f"-Wl,-rpath,{pocl()}"]
    subprocess.run(link, cwd=folder, capture_output=True, check=True)
    environment = {**os.environ, "OCL_ICD_VENDORS": str(pocl()), "LD_LIBRARY_PATH": str(pocl())}
    compiler = get_backend("opencl").compiler
    assert isinstance(compiler, OpenCLCompiler)
    if compiler.processor is not None:
        (folder / "known.c").write_text(KNOWN_PROCESSOR)
        shared = [CC, "-fno-builtin", "-shared", "-fPIC", "known.c", "-o", "known.so"]
        subprocess.run(shared, cwd=folder, capture_output=True, check=True)
        environment["LD_PRELOAD"] = str(folder / "known.so")
    ran = subprocess.run(
        ["./main"], cwd=folder, input=contents, capture_output=True, check=False, env=environment
    )
    if ran.returncode in (1, 2):
        pytest.skip("compiled; the loader finds no device")
    assert ran.returncode == 0, (ran.returncode, ran.stderr)
    return ran.stdout


@needs_cc
def test_c_computes_what_the_program_does(tmp_path: Path) -> None:
    weight = tenon.freeze(np.random.default_rng(0).normal(size=(24, 10)).astype(np.float32))

    @tenon.jit(backend="opencl")
    def function(x):
        return tnp.exp(tnp.tanh(x @ weight)), tnp.sort(x, axis=1)

    x = np.random.default_rng(1).normal(size=(6, 24)).astype(np.float32)
    exported = tenon.export(function, tmp_path / "m", x, backend="opencl")
    assert [file.name for file in exported.files] == ["m.cl", "m.c", "m.h", "m.weights"]
    call = """
    static float x[144], first[60], second[144];
    if (fread(x, 1, sizeof x, stdin) != sizeof x) return 4;
    if (m_run(program, queue, NULL, first, second) != TENON_NULL) return 5;
    if (m_run(program, queue, x, first, second) || m_error(program)) return 6;
    fwrite(first, 1, sizeof first, stdout);
    fwrite(second, 1, sizeof second, stdout);
    """
    expected = b"".join(np.asarray(each).tobytes() for each in function(x))
    assert run(exported, tmp_path, call, x.tobytes()) == expected


@needs_cc
def test_named_dims_loops_and_branches(tmp_path: Path) -> None:
    def function(x, n):
        total, rows = tenon.scan(lambda c, row: (c + row, c * row), x[0], x, reverse=True)
        again = tenon.while_loop(
            lambda s: s[1] < n, lambda s: (s[0] * 1.5 + 1, s[1] + 1), (rows, np.int32(0))
        )[0]
        return tenon.cond(n > 3, lambda v: v * 2, lambda v: v - 1, total), again, tnp.cumsum(x @ x.T, axis=0)

    jitted = tenon.jit(function, backend="opencl", dynamic={"x": {0: tenon.Dim("rows", 1, 50)}})
    x = np.random.default_rng(1).normal(size=(7, 5)).astype(np.float32)
    exported = tenon.export(jitted, tmp_path / "m", x, np.int32(3), backend="opencl")
    call = """
    static float x[35], first[5], second[35], third[49];
    if (fread(x, 1, sizeof x, stdin) != sizeof x) return 4;
    for (int32_t n = 0; n < 9; n += 4) {
      if (m_run(program, queue, x, &n, first, second, third, 51) != TENON_BAD_DIM) return 5;
      if (m_run(program, queue, x, &n, first, second, third, 7) || m_error(program)) return 6;
      fwrite(first, 1, sizeof first, stdout);
      fwrite(second, 1, sizeof second, stdout);
      fwrite(third, 1, sizeof third, stdout);
    }
    """
    results: list[Any] = [jitted(x, np.int32(n)) for n in (0, 4, 8)]
    expected = b"".join(np.asarray(each).tobytes() for found in results for each in found)
    assert run(exported, tmp_path, call, x.tobytes()) == expected


@needs_cc
@pytest.mark.parametrize("version", ["", "-DCL_TARGET_OPENCL_VERSION=120", "-DCL_TARGET_OPENCL_VERSION=300"])
def test_launchers_compile_with_the_headers_of_opencl(version: str, tmp_path: Path) -> None:
    if not has_headers():
        pytest.skip("there is no CL/cl.h (opencl-headers): compiled with the declarations of this test only")
    assert CC is not None
    tenon.export(lambda x: tnp.exp(x) @ x, tmp_path / "m", np.ones((3, 3), np.float32), backend="opencl")
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", *version.split()]
    done = subprocess.run(
        [CC, *flags, "-c", "m.c"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_same_program_gives_the_same_sources(tmp_path: Path) -> None:
    found = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        exported = tenon.export(tnp.exp, tmp_path / name / "m", np.ones(3), backend="opencl")
        found.append([file.read_bytes() for file in exported.files])
        assert exported.library is None
    assert found[0] == found[1]


def test_what_asks_the_host_is_an_error(tmp_path: Path) -> None:
    def printed(x):
        tenon.debug_print("{}", x)
        return x + 1

    with pytest.raises(tenon.TenonError, match=r"sched\.print"):
        tenon.export(printed, tmp_path / "m", np.ones(3), backend="opencl")
