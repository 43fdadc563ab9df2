"""The LLVM IR of kernels: names, functions, the grid, and what cannot be rendered."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from tenon.backends.interface import BufferLoc
from tenon.backends.llvm import backend
from tenon.backends.llvm.compile import LLVMCompiler
from tenon.backends.llvm.device import cpu_device, host_device
from tenon.backends.llvm.emission.rules import RULES
from tenon.backends.llvm.names import ValueNames, function_stem, symbol_of_stem
from tenon.backends.llvm.renderer import LLVMRenderer
from tenon.dialects.low import BODY_OPS, EXPANDED_OPS
from tenon.dialects.modules.parsing import parse_module
from xdsl.dialects import scf
from xdsl.utils.exceptions import DiagnosticException


def render(text: str) -> str:
    return LLVMRenderer().render(parse_module(text), cpu_device("x86-64-v3"))


def kernel(body: str, arguments: str = "%x: memref<8xf32>", block: str = "[1, 1, 1]") -> str:
    return f"low.kernel @k({arguments}) grid [1, 1, 1] block {block} {{\n%i = low.block_id x\n{body}\n}}"


SQUARE = """low.kernel @square(%x: memref<128xf32>, %y: memref<128xf32>) grid [16, 1, 1] block [1, 1, 1] {
  %block = low.block_id x
  %width = arith.constant 8 : index
  %i = arith.muli %block, %width : index
  %v = vector.load %x[%i] : memref<128xf32>, vector<8xf32>
  %square = arith.mulf %v, %v fastmath<contract, nnan> : vector<8xf32>
  vector.store %square, %y[%i] : memref<128xf32>, vector<8xf32>
}"""

SQUARE_SIGNATURE = (
    "define void @square.range(ptr noalias readonly align 4 %x, ptr noalias align 4 %y, "
    "i64 %begin, i64 %end) nounwind {\n"
)

SQUARE_IR = (
    SQUARE_SIGNATURE
    + """\
entry:
  br label %loop
loop:
  %group = phi i64 [ %begin, %entry ], [ %next, %loop_body ]
  %more = icmp slt i64 %group, %end
  br i1 %more, label %loop_body, label %loop_exit
loop_body:
  %i = mul nsw i64 %group, 8
  %at = getelementptr inbounds float, ptr %x, i64 %i
  %v = load <8 x float>, ptr %at, align 4
  %square = fmul nnan contract <8 x float> %v, %v
  %at.1 = getelementptr inbounds float, ptr %y, i64 %i
  store <8 x float> %square, ptr %at.1, align 4
  %next = add nsw i64 %group, 1
  br label %loop
loop_exit:
  ret void
}

define void @square.chunk(ptr %table, i64 %begin, i64 %end) nounwind noinline optnone \
"arguments"="2" "grid"="16,1,1" "block"="1,1,1" {
  %slot0 = getelementptr inbounds ptr, ptr %table, i64 0
  %argument0 = load ptr, ptr %slot0, align 8
  %slot1 = getelementptr inbounds ptr, ptr %table, i64 1
  %argument1 = load ptr, ptr %slot1, align 8
  call void @square.range(ptr %argument0, ptr %argument1, i64 %begin, i64 %end)
  ret void
}
"""
)


def test_kernel_is_a_range_function_and_one_that_takes_a_table() -> None:
    assert render(SQUARE) == SQUARE_IR


def test_same_module_gives_same_text_in_every_process() -> None:
    program = (
        "from tenon.test.unit.backends.llvm.emission import test_render as t;"
        "print(t.render(t.SQUARE + t.SQUARE.replace('square', 'other')), end='')"
    )
    texts = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert texts[0] == texts[1]
    assert texts[0].startswith(SQUARE_IR)


def test_rendering_does_not_import_llvmlite() -> None:
    program = (
        "import sys; from tenon.test.unit.backends.llvm.emission import test_render as t; t.render(t.SQUARE);"
        "import tenon.backends.llvm.target; assert 'llvmlite' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_kernel_without_vectors_is_marked_for_llvms_vectoriser() -> None:
    scalar = kernel("%v = memref.load %x[%i] : memref<8xf32>")
    assert 'nounwind noinline "loops"="scalar" {' in render(scalar)
    assert '"loops"' not in render(SQUARE)


def scalar_loops(*extents: int, types: str = "f32") -> str:
    """Returns a kernel with a nest of loops, the innermost of which stores."""
    bounds = "".join(f"%n{place} = arith.constant {extent} : index\n" for place, extent in enumerate(extents))
    loops = "".join(f"scf.for %i{place} = %zero to %n{place} step %one {{\n" for place in range(len(extents)))
    store = f"%v = arith.constant 1.0 : {types}\nmemref.store %v, %x[%i0] : memref<8x{types}>\n"
    constants = "%zero = arith.constant 0 : index\n%one = arith.constant 1 : index\n"
    return kernel(constants + bounds + loops + store + "}\n" * len(extents), f"%x: memref<8x{types}>")


@pytest.mark.parametrize(
    ("extents", "n_hints"), [((16,), 0), ((17,), 1), ((4, 17), 2), ((17, 4), 1), ((2, 3, 4), 0)]
)
def test_long_scalar_loops_and_those_around_them_are_not_unrolled(
    extents: tuple[int, ...], n_hints: int
) -> None:
    text = render(scalar_loops(*extents))
    # The grid's loop is one more around them.
    assert text.count(", !llvm.loop !") == n_hints + bool(n_hints)
    assert text.count("= distinct !") == n_hints + bool(n_hints)
    assert text.count('!1 = !{!"llvm.loop.unroll.disable"}') == bool(n_hints)


def test_long_loops_of_kernels_with_vectors_say_nothing() -> None:
    assert "!llvm.loop" not in render(
        scalar_loops(17, types="f32").replace(
            "%v = arith.constant", "%w = arith.constant dense<1.0> : vector<8xf32>\n%v = arith.constant"
        )
    )


def test_declarations_are_written_once() -> None:
    text = render(
        kernel(
            """%v = memref.load %x[%i] : memref<8xf32>
               %a = math.absf %v fastmath<nnan> : f32
               %b = math.absf %a : f32
               memref.store %b, %x[%i] : memref<8xf32>"""
        )
    )
    assert text.count("declare float @llvm.fabs.f32(float)") == 1
    assert "%a = call nnan float @llvm.fabs.f32(float %v)" in text


def test_overflow_flags_are_translated_and_index_arithmetic_does_not_overflow() -> None:
    text = render(
        kernel(
            """%n = memref.load %x[%i] : memref<8xi32>
               %a = arith.addi %n, %n : i32
               %b = arith.addi %a, %n overflow<nsw, nuw> : i32
               %j = arith.subi %i, %i : index
               memref.store %b, %x[%j] : memref<8xi32>""",
            "%x: memref<8xi32>",
        )
    )
    assert "%a = add i32 %n, %n" in text
    assert "%b = add nuw nsw i32 %a, %n" in text
    assert "%j = sub nsw i64 0, 0" in text


def streamed(lanes: int, element: str = "f32") -> str:
    types = f"memref<96x{element}>, vector<{lanes}x{element}>"
    return kernel(
        f"""%v = vector.load %x[%i] : {types}
            vector.store %v, %x[%i] {{nontemporal = true}} : {types}""",
        f"%x: memref<96x{element}>",
    )


def test_a_store_past_the_caches_is_one_where_a_whole_vector_begins() -> None:
    text = render(streamed(8))
    assert (
        """
  %place = ptrtoint ptr %at.1 to i64
  %rest = and i64 %place, 31
  %is_whole = icmp eq i64 %rest, 0
  br i1 %is_whole, label %then, label %else
then:
  store <8 x float> %v, ptr %at.1, align 32, !nontemporal !0
  br label %end_if
else:
  store <8 x float> %v, ptr %at.1, align 4
  br label %end_if
end_if:
"""
        in text
    )
    assert "loop_exit:\n  call void @llvm.x86.sse.sfence()\n  ret void\n" in text
    assert text.endswith("!0 = !{i32 1}\n")


@pytest.mark.parametrize(("lanes", "element", "whole"), [(16, "f64", 64), (32, "f32", 64), (4, "f32", 16)])
def test_long_vectors_begin_at_a_line_for_it(lanes: int, element: str, whole: int) -> None:
    text = render(streamed(lanes, element))
    assert f", {whole - 1}\n" in text and f"align {whole}, !nontemporal !0" in text


def test_a_vector_of_an_odd_number_of_elements_is_stored_as_any_other() -> None:
    text = render(streamed(3))
    assert "nontemporal" not in text and "sfence" not in text
    assert "store <3 x float> %v, ptr %at.1, align 4\n" in text


def test_a_fence_is_of_x86() -> None:
    text = LLVMRenderer().render(parse_module(streamed(4)), cpu_device("aarch64"))
    assert "!nontemporal !0" in text and "fence" not in text


def test_names_are_unique_and_legal() -> None:
    names = ValueNames()
    assert [names.fresh(hint) for hint in ("x", "x", None, "2a", "a.b", "a_b", "")] == [
        "%x",
        "%x.1",
        "%v",
        "%v2a",
        "%a_b",
        "%a_b.1",
        "%v.1",
    ]


@pytest.mark.parametrize("symbol", ["softmax", "a b", "a.b", "a$b", "größe", "a_b", "1"])
def test_function_stem_can_be_read_back(symbol: str) -> None:
    stem = function_stem(symbol)
    assert symbol_of_stem(stem) == symbol
    assert "." not in stem and " " not in stem


ITEMS = """low.kernel @k(%out: memref<{total}xi32>) grid {grid} block {block} {{
  %bx = low.block_id x
  %by = low.block_id y
  %bz = low.block_id z
  %tx = low.thread_id x
  %ty = low.thread_id y
  %tz = low.thread_id z
  %gx = arith.constant {gx} : index
  %gy = arith.constant {gy} : index
  %kx = arith.constant {kx} : index
  %ky = arith.constant {ky} : index
  %kz = arith.constant {kz} : index
  %a = arith.muli %bz, %gy : index
  %b = arith.addi %a, %by : index
  %c = arith.muli %b, %gx : index
  %d = arith.addi %c, %bx : index
  %e = arith.muli %d, %kz : index
  %f = arith.addi %e, %tz : index
  %g = arith.muli %f, %ky : index
  %h = arith.addi %g, %ty : index
  %j = arith.muli %h, %kx : index
  %l = arith.addi %j, %tx : index
  %old = memref.load %out[%l] : memref<{total}xi32>
  %one = arith.constant 1 : i32
  %new = arith.addi %old, %one : i32
  memref.store %new, %out[%l] : memref<{total}xi32>
}}"""


def count_visits(grid: tuple[int, int, int], block: tuple[int, int, int], begin: int, end: int) -> list[int]:
    """Runs the work-groups `begin` to `end` and returns how often each work-item ran."""
    llvm = backend()
    n_groups = grid[0] * grid[1] * grid[2]
    total = n_groups * block[0] * block[1] * block[2]
    text = ITEMS.format(
        total=total,
        grid=list(grid),
        block=list(block),
        gx=grid[0],
        gy=grid[1],
        kx=block[0],
        ky=block[1],
        kz=block[2],
    )
    source = llvm.renderer.render(parse_module(text), llvm.device)
    assert source.count("i64 %begin, i64 %end)\n") == 1
    source = source.replace("i64 %begin, i64 %end)\n", f"i64 {begin}, i64 {end})\n")
    artifact = llvm.compiler.compile(source, llvm.device)
    visits = np.zeros(max(total, 1), np.int32)
    llvm.driver.alloc_pool(0, visits.nbytes, 64)
    llvm.driver.copy_to_device(BufferLoc(0, 0), visits)
    llvm.driver.launch(llvm.driver.get_kernel(artifact, "k"), grid, block, [BufferLoc(0, 0)])
    llvm.driver.copy_from_device(visits, BufferLoc(0, 0))
    return visits[:total].tolist()


@pytest.mark.parametrize(
    "grid", [(1, 1, 1), (5, 1, 1), (1, 5, 1), (1, 1, 5), (3, 4, 1), (3, 1, 4), (1, 3, 4), (2, 3, 4)]
)
def test_every_work_group_runs_once(grid: tuple[int, int, int]) -> None:
    n_groups = grid[0] * grid[1] * grid[2]
    assert count_visits(grid, (1, 1, 1), 0, n_groups) == [1] * n_groups


@pytest.mark.parametrize(
    ("begin", "end"), [(0, 24), (0, 0), (1, 2), (3, 7), (2, 23), (6, 12), (23, 24), (5, 5)]
)
def test_a_range_runs_just_its_work_groups(begin: int, end: int) -> None:
    assert count_visits((2, 3, 4), (1, 1, 1), begin, end) == [int(begin <= i < end) for i in range(24)]


@pytest.mark.parametrize("block", [(4, 1, 1), (1, 2, 1), (2, 3, 2)])
def test_every_work_item_of_a_group_runs_once(block: tuple[int, int, int]) -> None:
    n_items = 6 * block[0] * block[1] * block[2]
    assert count_visits((2, 3, 1), block, 0, 6) == [1] * n_items


@pytest.mark.parametrize("grid", [(0, 1, 1), (0, 4, 1), (4, 0, 2), (0, 0, 0)])
def test_empty_grid_runs_nothing(grid: tuple[int, int, int]) -> None:
    assert count_visits(grid, (1, 1, 1), 0, 0) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f() {\n func.return\n}", "llvm: no rule for func.func"),
        (
            kernel("%v = memref.load %x[%i] : memref<8xf32>\n%e = math.exp %v : f32"),
            "llvm: math.exp: expand-math must run first",
        ),
        (
            kernel("%v = arith.index_cast %i : index to i32\n%w = arith.extsi %v : i32 to i64"),
            "llvm: no rule for arith.extsi",
        ),
        (
            kernel("low.barrier", block="[4, 2, 1]"),
            r"llvm: low.barrier needs a block of one work-item \(kernel @k has block \[4, 2, 1\]\)",
        ),
        (
            kernel("%a = low.alloca : memref<32768xf32>\n%b = low.alloca : memref<32769xf32>"),
            "llvm: low.alloca: kernel @k needs 262148 bytes of private memory, 262144 is the limit",
        ),
        (
            kernel("%v = memref.load %x[%i] : memref<8xi1>", "%x: memref<8xi1>"),
            "llvm: low.kernel: memref<8xi1> is not a row of a storage type",
        ),
        (
            kernel("%a = low.alloca : memref<2x4xf32>"),
            "llvm: low.alloca: memref<2x4xf32> is not a row of a storage type",
        ),
        (
            kernel("%c = arith.constant dense<0.0> : vector<16385xf32>"),
            "llvm: arith.constant: vector<16385xf32> has more than 16384 lanes",
        ),
        (
            kernel("%c = arith.constant dense<0.0> : vector<2x2xf32>"),
            "llvm: arith.constant: no LLVM type for vector<2x2xf32>",
        ),
        (
            kernel(
                "%v = memref.load %x[%i] : memref<8xbf16>\n%w = arith.addf %v, %v : bf16",
                "%x: memref<8xbf16>",
            ),
            "llvm: arith.addf: arithmetic on bf16 is done in f32, got bf16",
        ),
        (
            kernel("%w = arith.bitcast %i : index to i32"),
            "llvm: arith.bitcast: cannot bitcast index to i32",
        ),
        (
            kernel("%v = memref.load %x[%i] : memref<8xf32>\n%w = arith.extf %v : f32 to bf16"),
            "llvm: arith.extf: cannot extend f32 to bf16",
        ),
        (
            kernel("%v = memref.load %x[%i] : memref<8xf32>\n%w = arith.truncf %v : f32 to f64"),
            "llvm: arith.truncf: cannot truncate f32 to f64",
        ),
        (
            kernel(
                "%v = vector.load %x[%i] : memref<8xf32>, vector<8xf32>\n"
                "%w = vector.reduction <maxnumf>, %v : vector<8xf32> into f32"
            ),
            "llvm: vector.reduction: no rule for maxnumf of vector<8xf32>",
        ),
        (
            kernel(
                "%v = vector.load %x[%i] : memref<8xf32>, vector<8xf32>\n"
                "%w = vector.reduction <minsi>, %v : vector<8xf32> into f32"
            ),
            "llvm: vector.reduction: no rule for minsi of vector<8xf32>",
        ),
    ],
)
def test_what_cannot_be_rendered_is_named(text: str, message: str) -> None:
    with pytest.raises(DiagnosticException, match=f"^{message}$"):
        render(text)


def test_sched_program_is_passed_over() -> None:
    from tenon.dialects.sched import ProgramOp

    module = parse_module(SQUARE)
    module.body.block.add_op(ProgramOp.create())
    assert LLVMRenderer().render(module, cpu_device("x86-64-v3")) == SQUARE_IR


def test_a_symbol_may_begin_with_a_digit():
    text = 'low.kernel @"1x"(%x: memref<1xf32>) grid [1, 1, 1] block [1, 1, 1] {\n}\n'
    source = LLVMRenderer().render(parse_module(text), host_device())
    assert "define void @$31x.range(" in source
    assert LLVMCompiler().compile(source, host_device()).entry_points == ("1x",)


def test_addresses_around_a_transposition_are_hidden_from_llvms_loop_passes() -> None:
    text = render(
        """low.kernel @k(%x: memref<4xf64>, %y: memref<4xf64>) grid [1, 1, 1] block [1, 1, 1] {
          %zero = arith.constant 0 : index
          %two = arith.constant 2 : index
          %i = low.block_id x
          %j = arith.addi %i, %two : index
          %a = vector.load %x[%i] : memref<4xf64>, vector<2xf64>
          %b = vector.load %x[%j] : memref<4xf64>, vector<2xf64>
          %c, %d = low.transpose %a, %b : vector<2xf64>
          vector.store %c, %y[%i] : memref<4xf64>, vector<2xf64>
          vector.store %d, %y[%j] : memref<4xf64>, vector<2xf64>
        }"""
    )
    assert text.count("= call ptr @llvm.strip.invariant.group.p0(ptr ") == 2
    assert text.count("i64 2\n") == 2
    assert "strip.invariant.group" not in render(SQUARE)


def test_the_largest_vector_is_written():
    assert "<16384 x float>" in render(
        kernel(
            "%v = vector.load %x[%i] : memref<16384xf32>, vector<16384xf32>\n"
            "vector.store %v, %x[%i] : memref<16384xf32>, vector<16384xf32>",
            "%x: memref<16384xf32>",
        )
    )


def test_every_op_of_a_body_has_a_rule_or_must_be_expanded():
    assert {*RULES, *EXPANDED_OPS, scf.ConditionOp, scf.YieldOp} == {*BODY_OPS}


BESIDE_A_TILE = """
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c2 = arith.constant 2 : index
%c16 = arith.constant 16 : index
%live = arith.minsi %n, %c16 : index
TILE
scf.for %first = %c0 to %c16 step %c2 {
  %element = memref.load %x[%first] : memref<16xf32>
  memref.store %element, %z[%first] : memref<16xf32>
}
scf.for %second = %c1 to %live step %c1 {
  %element = memref.load %x[%second] : memref<16xf32>
  memref.store %element, %z[%second] : memref<16xf32>
}
scf.for %third = %c1 to %n step %c1 {
  %element = memref.load %x[%third] : memref<16xf32>
  memref.store %element, %z[%third] : memref<16xf32>
}
"""


def test_beside_a_tile_llvm_is_told_how_often_loops_run() -> None:
    arguments = ", ".join(["%n: index", *(f"%{name}: memref<16xf32>" for name in "xyz")])
    tile = "low.tile_fma 1 x 8 %z[%c0, %c1] = %x[%c0, %c1, %c1] * %y[%c0, %c1] depth [%c2] : "
    tile += ", ".join(["memref<16xf32>"] * 3)

    def weights(tile: str) -> dict[str, str]:
        text = kernel(BESIDE_A_TILE.replace("TILE", tile), arguments).replace(") grid", ") dims [n] grid")
        found = re.findall(
            r"%(first|second|third) = phi .*\n.*\n  br i1 %more\S*, label \S+ label \S+(.*)", render(text)
        )
        return dict(found)

    assert weights(tile) == {
        "first": ' !prof !{!"branch_weights", i32 8, i32 1}',
        "second": ' !prof !{!"branch_weights", i32 15, i32 1}',
        "third": "",
    }
    assert set(weights("").values()) == {""}
