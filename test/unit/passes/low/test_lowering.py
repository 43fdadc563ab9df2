"""Kernels lowered under any legal mapping compute, bit for bit, what the interpreter of `sched` says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tenon.backends.reference.kernels import low as low_interpreter
from tenon.backends.reference.kernels import sched as sched_interpreter
from tenon.dialects import context, low, sched
from tenon.dialects.modules.parsing import location_text, parse_module, verify_module
from tenon.passes.low.lowering.kernel import lower_kernel
from tenon.passes.machine.target import DEFAULT_TARGET
from tenon.passes.pass_manager import PassManager
from tenon.passes.pipeline import low_passes, sched_passes
from tenon.semantics.numpy_types import storage_dtype
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.utils.exceptions import PassFailedException

Array = np.ndarray[Any, np.dtype[Any]]
Draw = Callable[[st.SearchStrategy[Any]], Any]

LANES = st.sampled_from([2, 4, 8, 16])
UNROLLS = st.integers(1, 5)
HALVING_UNROLLS = st.sampled_from([1, 2, 4, 8])
CHUNKS = st.integers(1, 40)


def kernel_of(text: str) -> sched.KernelOp:
    module = parse_module(text, "k.mlir")
    verify_module(module)
    kernel = module.body.block.first_op
    assert isinstance(kernel, sched.KernelOp)
    return kernel


def arrays_of(kernel: sched.KernelOp, seed: int) -> list[Array]:
    """Returns the arguments of a kernel: small numbers whose sums are not exact, some NaN and infinities."""
    rng = np.random.default_rng(seed)
    arrays: list[Array] = []
    for argument in kernel.body.block.args:
        type = argument.type
        assert isinstance(type, MemRefType)
        dtype = storage_dtype(type.element_type)
        shape = type.get_shape()
        if dtype.kind == "i":
            arrays.append(rng.integers(-100, 100, shape).astype(dtype))
        else:
            arrays.append((rng.standard_normal(shape) * 3).astype(dtype))
            if arrays[-1].size > 3 and seed % 4 == 0:
                arrays[-1].flat[rng.integers(arrays[-1].size)] = rng.choice([np.nan, np.inf, -np.inf, -0.0])
    return arrays


def assert_lowers_right(text: str, seed: int = 1) -> low.KernelOp:
    kernel = kernel_of(text)
    lowered = lower_kernel(kernel)
    lowered.verify()
    before = arrays_of(kernel, seed)
    expected = [array.copy() for array in before]
    sched_interpreter.run_kernel(kernel, expected)
    actual = [array.copy().reshape(-1) for array in before]
    low_interpreter.run_kernel(lowered, actual)
    for found, wanted in zip(actual, expected, strict=True):
        flat = wanted.reshape(-1)
        if flat.dtype.kind == "f":
            same = (found.view(f"i{found.itemsize}") == flat.view(f"i{flat.itemsize}")) | (
                np.isnan(found) & np.isnan(flat)
            )
            assert same.all(), f"{text}\n{lowered}\n{found}\n{flat}"
        else:
            assert (found == flat).all(), f"{text}\n{lowered}"
    return lowered


def side_by_side(draw: Draw, vector: bool = True) -> str:
    """Draws the words of an axis whose iterations run side by side, or one after the other."""
    words = f"vector({draw(LANES)}) " if vector and draw(st.booleans()) else ""
    unroll = draw(UNROLLS)
    return words + (f"unroll({unroll})" if unroll > 1 else "")


def partial_results(draw: Draw, vector: bool = True) -> str:
    words = f"vector({draw(LANES)}) " if vector and draw(st.booleans()) else ""
    unroll = draw(HALVING_UNROLLS)
    return words + (f"unroll({unroll})" if unroll > 1 else "")


def level(draw: Draw, levels: tuple[str, ...] = ("", "block", "thread")) -> str:
    word = draw(st.sampled_from(levels))
    return f"{word}({draw(CHUNKS)})" if word else ""


@st.composite
def elementwise_kernels(draw: Draw) -> str:
    extent = draw(st.integers(0, 50))
    memory = f"memref<{extent}xf32>"
    return f"""sched.kernel @f(%x: {memory}, %y: {memory}) {{
      sched.axis %i = {extent} {level(draw)} {side_by_side(draw)} {{
        %v = memref.load %x[%i] : {memory}
        %w = arith.divf %v, %v : f32
        %z = arith.addf %w, %v : f32
        memref.store %z, %y[%i] : {memory}
      }}
    }}"""


@settings(max_examples=80, deadline=None)
@given(text=elementwise_kernels(), seed=st.integers(0, 9))
def test_elementwise_with_tails(text: str, seed: int) -> None:
    assert_lowers_right(text, seed)


@st.composite
def updates_in_place(draw: Draw) -> str:
    extent = draw(st.integers(0, 50))
    return f"""sched.kernel @f(%x: memref<{extent}xf32>) {{
      sched.axis %i = {extent} {side_by_side(draw)} {{
        %v = memref.load %x[%i] : memref<{extent}xf32>
        %w = arith.addf %v, %v : f32
        memref.store %w, %x[%i] : memref<{extent}xf32>
      }}
    }}"""


@settings(max_examples=40, deadline=None)
@given(text=updates_in_place(), seed=st.integers(0, 9))
def test_updates_in_place_run_once(text: str, seed: int) -> None:
    assert_lowers_right(text, seed)


@st.composite
def row_sums(draw: Draw) -> str:
    rows, columns = draw(st.integers(0, 9)), draw(st.integers(0, 70))
    type, kind = draw(
        st.sampled_from(
            [("f32", "addf"), ("f32", "maximumf"), ("f64", "mulf"), ("i8", "addi"), ("i16", "minsi")]
        )
    )
    # An unrolled row keeps sums of its own, and then the columns may still be vectors.
    return f"""sched.kernel @f(%x: memref<{rows}x{columns}x{type}>, %y: memref<{rows}x{type}>) {{
      sched.axis %i = {rows} {level(draw)} {side_by_side(draw, vector=False)} {{
        %s = sched.reduce {kind} %j = {columns} {partial_results(draw)} : {type} {{
          %v = memref.load %x[%i, %j] : memref<{rows}x{columns}x{type}>
          sched.yield %v : {type}
        }}
        memref.store %s, %y[%i] : memref<{rows}x{type}>
      }}
    }}"""


@settings(max_examples=80, deadline=None)
@given(text=row_sums(), seed=st.integers(0, 9))
def test_row_sums(text: str, seed: int) -> None:
    assert_lowers_right(text, seed)


@st.composite
def column_sums(draw: Draw) -> str:
    rows, columns = draw(st.integers(0, 20)), draw(st.integers(1, 40))
    return f"""sched.kernel @f(%x: memref<{rows}x{columns}xf32>, %y: memref<{columns}xf32>) {{
      sched.axis %j = {columns} {level(draw)} {side_by_side(draw)} {{
        %s = sched.reduce addf %i = {rows} {partial_results(draw, vector=False)} : f32 {{
          %v = memref.load %x[%i, %j] : memref<{rows}x{columns}xf32>
          sched.yield %v : f32
        }}
        %h = arith.addf %s, %s : f32
        memref.store %h, %y[%j] : memref<{columns}xf32>
      }}
    }}"""


@settings(max_examples=80, deadline=None)
@given(text=column_sums(), seed=st.integers(0, 9))
def test_column_sums(text: str, seed: int) -> None:
    assert_lowers_right(text, seed)


@st.composite
def products(draw: Draw) -> str:
    m, n, k = draw(st.integers(1, 9)), draw(st.integers(1, 20)), draw(st.integers(0, 20))
    outer = level(draw)
    inner = level(draw) if outer else ""
    if outer.startswith("thread") and inner.startswith("thread"):
        inner = ""
    a, b, c = f"memref<{m}x{k}xf32>", f"memref<{k}x{n}xf32>", f"memref<{m}x{n}xf32>"
    return f"""sched.kernel @f(%a: {a}, %b: {b}, %c: {c}) {{
      sched.axis %i = {m} {outer} {side_by_side(draw, vector=False)} {{
        sched.axis %j = {n} {inner} {side_by_side(draw)} {{
          %s = sched.reduce addf %k = {k} {partial_results(draw, vector=False)} : f32 {{
            %v = memref.load %a[%i, %k] : {a}
            %w = memref.load %b[%k, %j] : {b}
            %p = arith.mulf %v, %w : f32
            sched.yield %p : f32
          }}
          memref.store %s, %c[%i, %j] : {c}
        }}
      }}
    }}"""


@settings(max_examples=100, deadline=None)
@given(text=products(), seed=st.integers(0, 9))
def test_matrix_products(text: str, seed: int) -> None:
    assert_lowers_right(text, seed)


@st.composite
def softmaxes(draw: Draw) -> str:
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 40))
    memory, row = f"memref<{rows}x{columns}xf32>", f"memref<{columns}xf32>"
    return f"""sched.kernel @f(%x: {memory}, %y: {memory}) {{
      sched.axis %i = {rows} {level(draw)} {{
        %m = sched.reduce maximumf %j = {columns} {partial_results(draw)} : f32 {{
          %v = memref.load %x[%i, %j] : {memory}
          sched.yield %v : f32
        }}
        %e = sched.alloc local : {row}
        sched.axis %j = {columns} {side_by_side(draw)} {{
          %v = memref.load %x[%i, %j] : {memory}
          %d = arith.subf %v, %m : f32
          %q = arith.mulf %d, %d : f32
          memref.store %q, %e[%j] : {row}
        }}
        %s = sched.reduce addf %j = {columns} {partial_results(draw)} : f32 {{
          %v = memref.load %e[%j] : {row}
          sched.yield %v : f32
        }}
        sched.axis %j = {columns} {side_by_side(draw)} {{
          %v = memref.load %e[%j] : {row}
          %r = arith.divf %v, %s : f32
          memref.store %r, %y[%i, %j] : {memory}
        }}
      }}
    }}"""


@settings(max_examples=80, deadline=None)
@given(text=softmaxes(), seed=st.integers(0, 9))
def test_stages_that_share_a_local_buffer(text: str, seed: int) -> None:
    assert_lowers_right(text, seed)


@st.composite
def nested_sums(draw: Draw) -> str:
    n, a, b = draw(st.integers(1, 20)), draw(st.integers(0, 7)), draw(st.integers(0, 20))
    in_lanes = draw(st.booleans())
    outer = side_by_side(draw) if in_lanes else ""
    memory = f"memref<{a}x{b}x{n}xf32>"
    return f"""sched.kernel @f(%x: {memory}, %w: memref<{b}xf32>, %y: memref<{n}xf32>) {{
      sched.axis %i = {n} {level(draw)} {outer} {{
        %s = sched.reduce addf %j = {a} {partial_results(draw, vector=False)} : f32 {{
          %t = sched.reduce addf %k = {b} {partial_results(draw, vector=False)} : f32 {{
            %v = memref.load %x[%j, %k, %i] : {memory}
            %u = memref.load %w[%k] : memref<{b}xf32>
            %p = arith.mulf %v, %u : f32
            sched.yield %p : f32
          }}
          %z = memref.load %y[%i] : memref<{n}xf32>
          %q = arith.addf %t, %z : f32
          sched.yield %q : f32
        }}
        memref.store %s, %y[%i] : memref<{n}xf32>
      }}
    }}"""


@settings(max_examples=80, deadline=None)
@given(text=nested_sums(), seed=st.integers(0, 9))
def test_sums_of_sums(text: str, seed: int) -> None:
    assert_lowers_right(text, seed)


@st.composite
def index_values(draw: Draw) -> str:
    n, m = draw(st.integers(1, 30)), draw(st.integers(1, 6))
    type = draw(st.sampled_from(["i8", "i16", "i32", "i64"]))
    factor, offset = draw(st.integers(-9, 9)), draw(st.integers(-9, 9))
    memory = f"memref<{m}x{n}x{type}>"
    return f"""sched.kernel @f(%y: {memory}) {{
      %factor = arith.constant {factor} : index
      %offset = arith.constant {offset} : index
      sched.axis %i = {m} {level(draw)} {side_by_side(draw, vector=False)} {{
        sched.axis %j = {n} {side_by_side(draw)} {{
          %scaled = arith.muli %j, %factor : index
          %rows = arith.muli %i, %offset : index
          %at = arith.addi %scaled, %rows : index
          %v = arith.index_cast %at : index to {type}
          %r = arith.index_cast %i : index to {type}
          %z = arith.addi %v, %r : {type}
          memref.store %z, %y[%i, %j] : {memory}
        }}
      }}
    }}"""


@settings(max_examples=60, deadline=None)
@given(text=index_values())
def test_indices_as_values(text: str) -> None:
    assert_lowers_right(text)


@st.composite
def padded_kernels(draw: Draw) -> str:
    extent, low_edge = draw(st.integers(1, 20)), draw(st.integers(0, 4))
    whole = extent + low_edge + draw(st.integers(0, 4))
    unroll = draw(UNROLLS)
    return f"""sched.kernel @f(%x: memref<{extent}xf32>, %y: memref<{whole}xf32>) {{
      %zero = arith.constant 0 : index
      %low = arith.constant {low_edge} : index
      %last = arith.constant {extent - 1} : index
      %nothing = arith.constant -1.5 : f32
      sched.axis %i = {whole} {level(draw)} unroll({unroll}) {{
        %j = arith.subi %i, %low : index
        %raised = arith.maxsi %j, %zero : index
        %at = arith.minsi %raised, %last : index
        %v = memref.load %x[%at] : memref<{extent}xf32>
        %is_in = arith.cmpi eq, %at, %j : index
        %r = low.select %is_in, %v, %nothing : f32
        memref.store %r, %y[%i] : memref<{whole}xf32>
      }}
    }}"""


@settings(max_examples=60, deadline=None)
@given(text=padded_kernels(), seed=st.integers(0, 9))
def test_clamped_and_compared_indices(text: str, seed: int) -> None:
    assert_lowers_right(text, seed)


@st.composite
def quotient_kernels(draw: Draw) -> str:
    extent, divisor = draw(st.integers(1, 60)), draw(st.integers(1, 8))
    rows = -(-extent // divisor)
    memory = f"memref<{rows}x{divisor}xf32>"
    return f"""sched.kernel @f(%x: {memory}, %y: memref<{extent}xf32>) {{
      %d = arith.constant {divisor} : index
      sched.axis %i = {extent} {level(draw)} unroll({draw(UNROLLS)}) {{
        %row = arith.divui %i, %d : index
        %column = arith.remui %i, %d : index
        %v = memref.load %x[%row, %column] : {memory}
        %f = memref.load %x[%row, %row_start] : {memory}
        %r = arith.subf %v, %f : f32
        memref.store %r, %y[%i] : memref<{extent}xf32>
      }}
    }}""".replace("%d = ", "%row_start = arith.constant 0 : index\n      %d = ", 1)


@settings(max_examples=60, deadline=None)
@given(text=quotient_kernels(), seed=st.integers(0, 9))
def test_divided_indices(text: str, seed: int) -> None:
    assert_lowers_right(text, seed)


COPY = """sched.kernel @f(%x: memref<8x8xf32>, %y: memref<8x8xf32>) {{
  sched.axis %i = 8 {outer} {{
    sched.axis %j = 8 {inner} {{
      %v = memref.load %x[{load}] : memref<8x8xf32>
      memref.store %v, %y[{store}] : memref<8x8xf32>
    }}
  }}
}}"""


def copy(outer: str = "", inner: str = "", load: str = "%i, %j", store: str = "%i, %j") -> str:
    return COPY.format(outer=outer, inner=inner, load=load, store=store)


def inside(body: str, arguments: str = "%x: memref<8x8xf32>, %y: memref<8xf32>") -> str:
    return f"sched.kernel @f({arguments}) {{\n{body}\n}}"


LOAD = "%v = memref.load %x[%i, %j] : memref<8x8xf32>"
SUM = f"%s = sched.reduce addf %j = 8 MAPPING : f32 {{\n{LOAD}\nsched.yield %v : f32\n}}"
STORE = "memref.store %s, %y[%i] : memref<8xf32>"


@dataclass(frozen=True)
class Illegal:
    """A kernel that cannot be lowered, and why."""

    name: str
    text: str
    message: str


ILLEGAL = [
    Illegal(
        "block_below_serial",
        copy(inner="block"),
        "sched.axis: axis %j cannot be block (an axis around it is serial)",
    ),
    Illegal(
        "block_reduction",
        inside(f"sched.axis %i = 8 block {{\n{SUM.replace('MAPPING', 'block')}\n{STORE}\n}}"),
        "sched.reduce: axis %j cannot be block (other code stands beside it)",
    ),
    Illegal(
        "only_a_block_reduction",
        inside("sched.axis %i = 8 block {\n" + SUM.replace("MAPPING", "block") + "\n}"),
        "sched.reduce: axis %j cannot be block (it is a reduction)",
    ),
    Illegal(
        "beside_a_block",
        inside("sched.axis %i = 8 block(2) {\n}\nsched.axis %k = 8 {\n}"),
        "sched.axis: axis %i cannot be block(2) (other code stands beside it)",
    ),
    Illegal(
        "four_blocks",
        inside(
            "sched.axis %a = 2 block {\nsched.axis %b = 2 block {\nsched.axis %c = 2 block {\n"
            "sched.axis %d = 2 block {\n}\n}\n}\n}"
        ),
        "sched.axis: axis %d cannot be block (there are three dimensions only)",
    ),
    Illegal(
        "two_vectors",
        copy("vector(4)", "vector(2)", load="%i, %i"),
        "sched.axis: axis %j cannot be vector(2) (axis %i around it is a vector)",
    ),
    Illegal(
        "vector_reduction_below_a_vector",
        inside(f"sched.axis %i = 8 vector(4) {{\n{SUM.replace('MAPPING', 'vector(4)')}\n{STORE}\n}}"),
        "sched.reduce: axis %j cannot be vector(4) (axis %i around it is a vector)",
    ),
    Illegal(
        "vector_reduction_of_its_own_below_a_vector",
        inside(f"sched.axis %i = 8 vector(4) {{\n{SUM.replace('MAPPING', 'vector(4)')}\n{STORE}\n}}").replace(
            "%x[%i, %j]", "%x[%j, %j]"
        ),
        "sched.reduce: axis %j cannot be vector(4) (axis %i around it is a vector)",
    ),
    Illegal(
        "wide_load",
        copy("", "vector(4)", load="%j, %i"),
        "memref.load: cannot be a vector over axis %j (stride is 8, expected -1, 0 or 1)",
    ),
    Illegal(
        "wide_store",
        copy("", "vector(4)", store="%j, %i"),
        "memref.store: cannot be a vector over axis %j (stride is 8, expected 1)",
    ),
    Illegal(
        "divided_load",
        inside(
            "%c = arith.constant 2 : index\nsched.axis %i = 8 vector(4) {\n%h = arith.divui %i, %c : index\n"
            "%s = memref.load %x[%h, %h] : memref<8x8xf32>\n" + STORE + "\n}"
        ),
        "memref.load: cannot be a vector over axis %i (stride is not constant, expected -1, 0 or 1)",
    ),
    Illegal(
        "many_to_one",
        copy("unroll(2)", "", store="%j, %j"),
        "memref.store: cannot store from the lanes of axis %i (all to one element)",
    ),
    Illegal(
        "buffer_in_lanes",
        inside("sched.axis %i = 8 unroll(2) {\n%b = sched.alloc local : memref<4xf32>\n}"),
        "sched.alloc: cannot stand under axis %i (it runs in lanes)",
    ),
    Illegal(
        "compared_index_in_lanes",
        inside(
            "%c = arith.constant 2 : index\nsched.axis %i = 8 vector(4) {\n"
            "%b = arith.cmpi slt, %i, %c : index\n}"
        ),
        "arith.cmpi: cannot be a vector over axis %i (index is not linear)",
    ),
    Illegal(
        "loaded_index",
        inside(
            "sched.axis %i = 8 vector(8) {\n%n = memref.load %y[%i] : memref<8xi64>\n"
            "%at = arith.index_cast %n : i64 to index\n%v = memref.load %y[%at] : memref<8xi64>\n}",
            "%y: memref<8xi64>",
        ),
        "memref.load: cannot be a vector over axis %i (stride is not constant, expected -1, 0 or 1)",
    ),
    Illegal(
        "compared_loaded_index",
        inside(
            "sched.axis %i = 8 vector(8) {\n%n = memref.load %y[%i] : memref<8xi64>\n"
            "%at = arith.index_cast %n : i64 to index\n%v = arith.cmpi slt, %at, %i : index\n}",
            "%y: memref<8xi64>",
        ),
        "arith.cmpi: cannot be a vector (its index is loaded or computed for each lane)",
    ),
    Illegal(
        "dynamic_argument",
        inside("", "%y: memref<4x?xi64>"),
        "sched.kernel: cannot lower @f (argument 0 is memref<4x?xi64>)",
    ),
    Illegal(
        "vector_in_the_body",
        inside("%c = arith.constant dense<1.0> : vector<4xf32>"),
        "arith.constant: cannot give vector<4xf32> in a kernel's body (need a scalar)",
    ),
    Illegal("foreign_op", inside("low.barrier"), "low.barrier: cannot stand in the body of a kernel"),
]


@pytest.mark.parametrize("illegal", ILLEGAL, ids=lambda illegal: illegal.name)
def test_illegal_mapping_is_refused_with_its_reason(illegal: Illegal) -> None:
    with pytest.raises(PassFailedException) as caught:
        lower_kernel(kernel_of(illegal.text))
    assert str(caught.value) == illegal.message


def test_lanes_that_fill_no_step_leave_a_scalar_loop():
    lowered = assert_lowers_right(copy("", "vector(16)"))
    assert "vector.load" not in str(lowered)


def test_index_arithmetic_of_an_outer_axis_stands_outside_of_inner_loops():
    lowered = assert_lowers_right(copy("block", "vector(2)"))
    (loop,) = [op for op in lowered.body.block.ops if op.name == "scf.for"]
    assert [op.name for op in loop.regions[0].block.ops].count("arith.muli") == 0


def test_allocations_stand_at_the_front():
    lowered = lower_kernel(
        kernel_of(
            inside(
                "sched.axis %i = 8 {\nsched.axis %j = 8 {\n%b = sched.alloc local : memref<4xf32>\n}\n"
                "%c = sched.alloc shared : memref<2xf32>\n}"
            )
        )
    )
    names = [op.name for op in lowered.body.block.ops]
    assert names[:2] == ["low.alloca", "low.alloca"]
    assert sum('"shared"' in str(op.results[0].type) for op in lowered.body.block.ops if op.results) == 1


MATMUL = "affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>"

PROGRAM = f"""
func.func @main(%x: tensor<20x37xf32>, %w: tensor<37x9xf32>, %n: tensor<5xi32>)
    -> (tensor<20x9xf32>, tensor<20x37xbf16>, tensor<2x9xi32>) {{
  %max = graph.reduce max %x axes [1] keep : tensor<20x37xf32> -> tensor<20x1xf32>
  %base = graph.broadcast %max : tensor<20x1xf32> -> tensor<20x37xf32>
  %d = graph.sub %x, %base : tensor<20x37xf32>
  %e = graph.exp %d : tensor<20x37xf32>
  %s = graph.reduce add %e axes [1] keep : tensor<20x37xf32> -> tensor<20x1xf32>
  %sb = graph.broadcast %s : tensor<20x1xf32> -> tensor<20x37xf32>
  %p = graph.div %e, %sb : tensor<20x37xf32>
  %q = graph.contract %p, %w maps [{MATMUL}]
    : tensor<20x37xf32>, tensor<37x9xf32> -> tensor<20x9xf32>
  %f = graph.flip %x axes [0] : tensor<20x37xf32>
  %t = graph.tanh %f : tensor<20x37xf32>
  %b = graph.cast %t : tensor<20x37xf32> -> tensor<20x37xbf16>
  %filler = graph.constant dense<3> : tensor<i32>
  %numbers = graph.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32>
  %a = graph.pow %n, %numbers : tensor<5xi32>
  %padded = graph.pad %a, %filler low [1] high [3] : tensor<5xi32>
  %i = graph.iota axis 0 : tensor<9xi32>
  %pi = graph.mod %padded, %i : tensor<9xi32>
  %pp = graph.broadcast %pi : tensor<9xi32> -> tensor<2x9xi32>
  func.return %q, %b, %pp : tensor<20x9xf32>, tensor<20x37xbf16>, tensor<2x9xi32>
}}
"""


def run_passes(passes: tuple[Any, ...], module: ModuleOp) -> None:
    PassManager(passes).run(context(), module)


def test_every_op_of_sched_and_low_knows_its_place_in_the_text():
    module = parse_module(PROGRAM, "program.mlir")
    run_passes(sched_passes(DEFAULT_TARGET), module)
    assert_places_are_known(module)
    run_passes(low_passes(DEFAULT_TARGET), module)
    assert_places_are_known(module)


def assert_places_are_known(module: ModuleOp) -> None:
    lost = [op.name for op in module.walk() if location_text(op.location) is None]
    assert lost == []
    lines = {location_text(op.location) for op in module.walk()}
    assert all(place is not None and place.startswith("program.mlir:") for place in lines)
    assert len(lines) > 10
