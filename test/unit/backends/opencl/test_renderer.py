"""The text that `low` becomes: its shape, its names, and what has no text."""

import io
import subprocess
import sys
from dataclasses import replace

import pytest
from tenon.backends.interface import DeviceKind
from tenon.backends.opencl.device import UNLIMITED, OpenCLDeviceInfo
from tenon.backends.opencl.emission.names import kernel_name
from tenon.backends.opencl.renderer import OpenCLRenderer
from tenon.backends.opencl.target import OpenCLCTarget
from tenon.dialects import context
from tenon.dialects.modules.parsing import parse_module
from xdsl.dialects.builtin import bf16, f16, f64, i8
from xdsl.utils.exceptions import DiagnosticException

SMALL = OpenCLDeviceInfo(
    "small",
    vector_nbytes=16,
    vector_registers=16,
    max_shared_nbytes=1024,
    max_block=(64, 64, 1),
    max_buffer_nbytes=1 << 20,
    has_f64=False,
    kind=DeviceKind.GPU,
    max_items=128,
    group_multiple=32,
    n_units=4,
)


def render(text: str, device: OpenCLDeviceInfo = UNLIMITED) -> str:
    return OpenCLRenderer().render(parse_module(text), device)


def kernel(
    body: str, arguments: str = "%x: memref<16xf32>", block: str = "[1, 1, 1]", name: str = "k"
) -> str:
    return f"low.kernel @{name}({arguments}) grid [4, 1, 1] block {block} {{\n{body}\n}}"


def test_a_kernel_is_one_statement_per_op_with_its_own_names():
    text = kernel(
        """
        %i = low.block_id x
        %two = arith.constant 2 : index
        %at = arith.muli %i, %two : index
        %v = vector.load %x[%at] : memref<16xf32>, vector<2xf32>
        %scale = arith.constant dense<0.1> : vector<2xf32>
        %scaled = arith.mulf %v, %scale : vector<2xf32>
        vector.store %scaled, %y[%at] : memref<16xf32>, vector<2xf32>
        """,
        "%x: memref<16xf32>, %y: memref<16xf32>",
        name="scale",
    )
    assert render(text) == (
        """\
#pragma OPENCL FP_CONTRACT OFF

typedef float2 tenon_unaligned_float2 __attribute__((aligned(4)));

__attribute__((reqd_work_group_size(1, 1, 1)))
__kernel void scale(__global const uchar *p0, ulong o0,
                    __global uchar *p1, ulong o1) {
    __global const float *restrict x = (__global const float *)(p0 + o0);
    __global float *restrict y = (__global float *)(p1 + o1);
    const long i = (long)get_group_id(0);
    const long at = i * 2L;
    const float2 v = *(__global const tenon_unaligned_float2 *)(x + at);
    const float2 v_scale = (float2)(0.1f);
    const float2 scaled = v * v_scale;
    *(__global tenon_unaligned_float2 *)(y + at) = scaled;
}
""".replace("v_scale", "scale")
    )


def test_values_named_like_c_or_like_each_other_get_other_names():
    text = kernel(
        """
        %float = low.block_id x
        %get_group_id = low.block_id y
        %fma = low.block_id z
        %i.j = low.thread_id x
        %i_j = low.thread_id y
        %p0 = low.thread_id z
        %0 = arith.addi %float, %fma : index
        %exp = arith.addi %0, %p0 : index
        %1 = arith.addi %exp, %0 : index
        """
    )
    source = render(text)
    for declared in ("v_float", "v_get_group_id", "v_fma", "i_j", "i_j_1", "p0_1", "v", "exp", "v_1"):
        assert f"const long {declared} = " in source


def test_symbols_that_c_cannot_take_are_mangled_and_must_stay_apart():
    assert "\n__kernel void softmax_x2e_1(" in render(kernel("", name='"softmax.1"'))
    assert "\n__kernel void k_max(" in render(kernel("", name="max"))
    with pytest.raises(
        DiagnosticException, match=r"^opencl: low.kernel: @a\.b and @a_x2e_b are both called a_x2e_b in C$"
    ):
        render(kernel("", name='"a.b"') + kernel("", name="a_x2e_b"))


def test_the_same_module_gives_the_same_bytes_in_every_process():
    script = (
        "from tenon.dialects import context\n"
        "from xdsl.parser import Parser\n"
        "from tenon.backends.opencl.renderer import OpenCLRenderer\n"
        "from tenon.backends.opencl.device import UNLIMITED\n"
        "import sys\n"
        "print(OpenCLRenderer().render(Parser(context(), sys.stdin.read()).parse_module(), UNLIMITED))\n"
        "assert 'pyopencl' not in sys.modules\n"
    )
    text = kernel(
        """
        %0 = arith.constant 0 : index
        %v = memref.load %x[%0] : memref<16xf32>
        %f = math.floor %v : f32
        %m = arith.maximumf %f, %v : f32
        %r = low.remf %m, %v : f32
        %n = low.convert fptosi %r : f32 to i32
        """
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            input=text,
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
        ).stdout
        for seed in ("0", "1")
    }
    assert outputs == {render(text) + "\n"}


def test_host_programs_are_not_part_of_the_text_but_nothing_else_is_left_out():
    with pytest.raises(DiagnosticException, match=r"^opencl: no rule for func\.func$"):
        render("func.func @f() { func.return }")


def test_f64_needs_its_extension_and_a_device_that_has_it():
    text = kernel("%v = arith.constant 1.0 : f64\n%w = arith.addf %v, %v : f64")
    assert "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" in render(text)
    assert "cl_khr_fp64" not in render(kernel(""))
    with pytest.raises(DiagnosticException, match=r"^opencl: arith\.constant: device small lacks f64$"):
        render(text, SMALL)
    with pytest.raises(DiagnosticException, match=r"^opencl: low\.kernel: device small lacks f64$"):
        render(kernel("", "%x: memref<?xf64>"), SMALL)
    assert not SMALL.supports(f64)
    assert SMALL.supports(f16) and SMALL.supports(bf16) and SMALL.supports(i8)


def test_limits_of_the_device_are_checked():
    tile = kernel('%tile = low.alloca : memref<257xf32, "shared">')
    with pytest.raises(
        DiagnosticException, match=r"^opencl: low\.alloca: @k shares 1028 bytes, device small has 1024$"
    ):
        render(tile, SMALL)
    with pytest.raises(
        DiagnosticException,
        match=r"^opencl: low\.kernel: block \[65, 1, 1\] of @k is too large for device small "
        r"\(at most \[64, 64, 1\]\)$",
    ):
        render(kernel("", block="[65, 1, 1]"), SMALL)
    with pytest.raises(
        DiagnosticException,
        match=r"^opencl: low\.kernel: block \[64, 4, 1\] of @k has 256 work-items, device small takes 128$",
    ):
        render(kernel("", block="[64, 4, 1]"), SMALL)
    assert "reqd_work_group_size(64, 2, 1)" in render(
        kernel("", block="[64, 2, 1]"), replace(SMALL, max_block=(64, 64, 64))
    )
    assert "__local float tile[257];" in render(tile, replace(SMALL, max_shared_nbytes=1028))


def test_an_array_of_no_elements_is_still_c():
    assert "float row[1];" in render(kernel("%row = low.alloca : memref<0xf32>"))


LOADS = "%0 = arith.constant 0 : index\n%v = memref.load %x[%0] : memref<16xf32>\n"
HALF = "%h = arith.constant 1.0 : f16\n"
BIT = "%t = arith.constant true\n"

UNSUPPORTED = {
    "%e = math.exp %v : f32": "math.exp: run expand-math first",
    "%e = math.log1p %v : f32": "math.log1p: run expand-math first",
    "%e = math.cbrt %v : f32": "no rule for math.cbrt",
    HALF + "%s = arith.addf %h, %h : f16": "arith.addf: no arithmetic in f16 (kernels compute in f32)",
    HALF + "%s = math.floor %h : f16": "math.floor: no arithmetic in f16 (kernels compute in f32)",
    BIT + "%s = arith.addi %t, %t : i1": "arith.addi: no arithmetic in i1",
    "%m = arith.constant dense<true> : vector<4xi1>\n%s = arith.addi %m, %m : vector<4xi1>": (
        "arith.addi: no arithmetic in vector<4xi1>"
    ),
    "%w = arith.constant dense<1.0> : vector<3xf32>": (
        "arith.constant: no C type for vector<3xf32> (1-d vectors of 2, 4, 8, 16 lanes)"
    ),
    "%w = arith.constant 1 : i7": "arith.constant: no C type for i7",
    "%w = arith.constant dense<1.0> : tensor<2xf32>": (
        "arith.constant: no C constant for dense<1.000000e+00> : tensor<2xf32>"
    ),
    "%w = low.alloca : memref<2x2xf32>": "low.alloca: no C array for memref<2x2xf32>",
    "%w = low.alloca : memref<2xi1>": "low.alloca: no C array for memref<2xi1>",
    '%w = "memref.load"(%x) : (memref<16xf32>) -> f32': ("memref.load: 0 indices, expected one linear index"),
    "%w = arith.constant dense<1.0> : vector<4xf32>\n"
    "%c = vector.broadcast %w : vector<4xf32> to vector<8xf32>": (
        "vector.broadcast: cannot broadcast vector<4xf32> to vector<8xf32>"
    ),
    "%w = arith.constant dense<1.0> : vector<4xf32>\n"
    "%c = vector.reduction <maxnumf>, %w : vector<4xf32> into f32": (
        "vector.reduction: no rule for maxnumf of vector<4xf32>"
    ),
    "%w = arith.extf %v : f32 to f32": "arith.extf: cannot extend f32 to f32",
    HALF + "%w = arith.extf %h : f16 to bf16": "arith.extf: cannot extend f16 to bf16",
    HALF + "%w = arith.truncf %h : f16 to bf16": "arith.truncf: cannot truncate f16 to bf16",
    "%w = arith.truncf %v : f32 to f64": "arith.truncf: cannot truncate f32 to f64",
    '%w = "arith.bitcast"(%0) : (index) -> i32': "arith.bitcast: cannot cast the bits of index to i32",
    '%w = "arith.addi"(%v, %v) <{overflowFlags = #arith.overflow<none>}> : (f32, f32) -> f32': (
        "arith.addi: no arithmetic in f32"
    ),
}


@pytest.mark.parametrize("body", UNSUPPORTED)
def test_what_has_no_text_is_an_error_that_names_the_op(body: str):
    with pytest.raises(DiagnosticException) as caught:
        render(kernel(LOADS + body))
    assert str(caught.value) == f"opencl: {UNSUPPORTED[body]}"


def test_a_long_name_is_cut_and_told_from_others_that_begin_like_it():
    first, second = kernel_name("x" * 3000), kernel_name("x" * 3001)
    assert len(first) == len(second) == 128 and first != second
    assert first == kernel_name("x" * 3000) and kernel_name("x" * 128) == "x" * 128


def test_the_target_prints_for_no_device_in_particular_and_names_itself():
    output = io.StringIO()
    module = parse_module(kernel(LOADS))
    OpenCLCTarget().emit(context(), module, output)
    assert output.getvalue() == OpenCLRenderer().render(module, UNLIMITED)
    with pytest.raises(DiagnosticException, match=r"^opencl-c: math\.exp: run expand-math first$"):
        OpenCLCTarget().emit(context(), parse_module(kernel(LOADS + "%e = math.exp %v : f32")), output)
