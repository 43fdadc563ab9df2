"""Loops with a `count`, and reductions with an `init`: interpreted, and lowered bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tenon.backends.reference.kernels.low import run_kernel as run_low_kernel
from tenon.backends.reference.kernels.sched import run_kernel
from tenon.passes.low.lowering.kernel import lower_kernel
from xdsl.utils.exceptions import PassFailedException

from .test_lowering import (
    HALVING_UNROLLS,
    LANES,
    Draw,
    assert_lowers_right,
    kernel_of,
    level,
    partial_results,
    side_by_side,
)


@st.composite
def split_elementwise(draw: Draw) -> str:
    extent, factor = draw(st.integers(1, 60)), draw(st.integers(1, 20))
    parts, memory = -(-extent // factor), f"memref<{extent}xf32>"
    inner = draw(
        st.sampled_from(["", "vector(4)", "unroll(3)", "vector(2) unroll(2)", "thread(5) vector(2)"])
    )
    outer = draw(st.sampled_from(["block", "block(3)"])) if "thread" in inner else level(draw)
    return f"""sched.kernel @f(%x: {memory}, %y: {memory}) {{
      %extent = arith.constant {extent} : index
      %factor = arith.constant {factor} : index
      sched.axis %i_outer = {parts} {outer} {{
        %base = arith.muli %i_outer, %factor : index
        %left = arith.subi %extent, %base : index
        sched.axis %i_inner = {factor} count %left {inner} {{
          %i = arith.addi %base, %i_inner : index
          %v = memref.load %x[%i] : {memory}
          %w = arith.mulf %v, %v : f32
          memref.store %w, %y[%i] : {memory}
        }}
      }}
    }}"""


@settings(max_examples=80, deadline=None)
@given(text=split_elementwise(), seed=st.integers(0, 9))
def test_a_split_axis_with_a_tail_gives_all_elements(text: str, seed: int) -> None:
    kernel = kernel_of(text)
    (memory,) = {argument.type for argument in kernel.body.block.args}
    x = np.arange(memory.get_shape()[0], dtype=np.float32)
    y = np.full_like(x, -1)
    run_kernel(kernel, [x, y])
    np.testing.assert_array_equal(y, x * x)
    assert_lowers_right(text, seed)


@st.composite
def counted_rows(draw: Draw) -> str:
    rows, columns, count = draw(st.integers(1, 9)), draw(st.integers(1, 40)), draw(st.integers(-2, 45))
    type, kind = draw(
        st.sampled_from([("f32", "addf"), ("f32", "maximumf"), ("f64", "mulf"), ("i8", "addi")])
    )
    init = draw(st.sampled_from(["", "init(%start)"]))
    memory = f"memref<{rows}x{columns}x{type}>"
    return f"""sched.kernel @f(%x: {memory}, %y: memref<{rows}x{type}>) {{
      %count = arith.constant {count} : index
      sched.axis %i = {rows} {level(draw)} {side_by_side(draw, vector=False)} {{
        %start = memref.load %y[%i] : memref<{rows}x{type}>
        %s = sched.reduce {kind} %j = {columns} count %count {partial_results(draw)} {init} : {type} {{
          %v = memref.load %x[%i, %j] : {memory}
          sched.yield %v : {type}
        }}
        memref.store %s, %y[%i] : memref<{rows}x{type}>
      }}
    }}"""


@settings(max_examples=100, deadline=None)
@given(text=counted_rows(), seed=st.integers(0, 9))
def test_reductions_with_a_count_and_an_init(text: str, seed: int) -> None:
    assert_lowers_right(text, seed)


@pytest.mark.parametrize("words", ["vector(4)", "vector(2) unroll(2)", "unroll(4)", ""])
@pytest.mark.parametrize(
    ("kind", "type"), [("addf", "f32"), ("mulf", "f64"), ("addi", "i16"), ("maximumf", "f32")]
)
def test_no_whole_step_of_vectors_is_none(words: str, kind: str, type: str) -> None:
    text = f"""sched.kernel @f(%x: memref<11x{type}>, %y: memref<12x{type}>) {{
      sched.axis %i = 12 {{
        %start = memref.load %y[%i] : memref<12x{type}>
        %s = sched.reduce {kind} %j = 11 count %i {words} init(%start) : {type} {{
          %v = memref.load %x[%j] : memref<11x{type}>
          sched.yield %v : {type}
        }}
        memref.store %s, %y[%i] : memref<12x{type}>
      }}
    }}"""
    lowered = assert_lowers_right(text)
    has_branch = "vector" in words and kind != "maximumf"
    assert ("scf.if %has_steps" in str(lowered)) is has_branch
    if type == "f32":
        # Before no elements -0.0 is what the sums of no vectors make of it.
        x, y = np.zeros(11, np.float32), np.full(12, -0.0, np.float32)
        expected, found = y.copy(), y.copy()
        run_kernel(kernel_of(text), [x, expected])
        run_low_kernel(lowered, [x, found])
        assert found.tobytes() == expected.tobytes()


@st.composite
def triangles(draw: Draw) -> str:
    """Sums along a triangle: each row has a count of its own."""
    rows, columns = draw(st.integers(1, 9)), draw(st.integers(1, 20))
    memory = f"memref<{rows}x{columns}xf32>"
    return f"""sched.kernel @f(%x: {memory}, %y: memref<{rows}xf32>) {{
      %two = arith.constant 2 : index
      sched.axis %i = {rows} {level(draw)} {{
        %start = memref.load %x[%i, %first] : {memory}
        %twice = arith.muli %i, %two : index
        %count = arith.subi %twice, %two : index
        %s = sched.reduce addf %j = {columns} count %count {partial_results(draw)} init(%start) : f32 {{
          %v = memref.load %x[%i, %j] : {memory}
          sched.yield %v : f32
        }}
        memref.store %s, %y[%i] : memref<{rows}xf32>
      }}
    }}""".replace("%two = ", "%first = arith.constant 0 : index\n      %two = ", 1)


@settings(max_examples=60, deadline=None)
@given(text=triangles(), seed=st.integers(0, 9))
def test_each_row_may_have_another_count(text: str, seed: int) -> None:
    assert_lowers_right(text, seed)


def test_a_row_takes_part_only_in_as_many_iterations_as_its_count_says() -> None:
    kernel = kernel_of("""sched.kernel @f(%x: memref<4x3xf32>, %y: memref<4xf32>) {
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1 : index
      sched.axis %i = 4 {
        %count = arith.subi %i, %one : index
        %s = sched.reduce addf %j = 3 count %count : f32 {
          sched.axis %k = 1 count %count {
            memref.store %zero, %x[%i, %j] : memref<4x3xf32>
          }
          %v = memref.load %x[%i, %j] : memref<4x3xf32>
          %w = arith.addf %v, %v : f32
          sched.yield %w : f32
        }
        memref.store %s, %y[%i] : memref<4xf32>
      }
    }""")
    x, y = np.ones((4, 3), np.float32), np.ones(4, np.float32)
    run_kernel(kernel, [x, y])
    np.testing.assert_array_equal(x, [[1, 1, 1], [1, 1, 1], [0, 1, 1], [0, 0, 1]])
    np.testing.assert_array_equal(y, [0, 0, 0, 0])


@settings(max_examples=60, deadline=None)
@given(
    columns=st.integers(1, 50),
    split=st.integers(1, 50),
    lanes=LANES,
    unroll=HALVING_UNROLLS,
    seed=st.integers(0, 9),
)
def test_an_init_in_vector_lanes(columns: int, split: int, lanes: int, unroll: int, seed: int) -> None:
    memory = f"memref<{columns}x8xf32>"
    assert_lowers_right(
        f"""sched.kernel @f(%x: {memory}, %y: memref<8xf32>) {{
      %count = arith.constant {split} : index
      sched.axis %i = 8 vector({lanes}) {{
        %start = memref.load %y[%i] : memref<8xf32>
        %s = sched.reduce addf %j = {columns} count %count unroll({unroll}) init(%start) : f32 {{
          %v = memref.load %x[%j, %i] : {memory}
          sched.yield %v : f32
        }}
        %t = sched.reduce mulf %j = {columns} init(%s) : f32 {{
          %v = memref.load %x[%j, %i] : {memory}
          sched.yield %v : f32
        }}
        memref.store %t, %y[%i] : memref<8xf32>
      }}
    }}""",
        seed,
    )


@settings(max_examples=40, deadline=None)
@given(columns=st.integers(1, 60), split=st.integers(0, 60))
def test_a_reduction_goes_on_with_the_bits_that_it_would_have(columns: int, split: int) -> None:
    split = min(split, columns)

    def part(name: str, begin: str, extent: int, init: str) -> str:
        return f"""%{name} = sched.reduce addf %j = {extent} init(%{init}) : f32 {{
            %k = arith.addi %j, %{begin} : index
            %v = memref.load %x[%k] : memref<{columns}xf32>
            sched.yield %v : f32
          }}"""

    in_one = part("s", "begin", columns, "start")
    in_two = part("a", "begin", split, "start") + part("s", "split", columns - split, "a")
    x = np.random.default_rng(columns).standard_normal(columns).astype(np.float32)
    results: list[bytes] = []
    for body in (in_one, in_two):
        y = np.zeros((), np.float32)
        kernel = kernel_of(f"""sched.kernel @f(%x: memref<{columns}xf32>, %y: memref<f32>) {{
          %start = arith.constant -0.0 : f32
          %begin = arith.constant 0 : index
          %split = arith.constant {split} : index
          {body}
          memref.store %s, %y[] : memref<f32>
        }}""")
        run_kernel(kernel, [x, y])
        results.append(y.tobytes())
    assert results[0] == results[1]


@settings(max_examples=60, deadline=None)
@given(rows=st.integers(1, 8), columns=st.integers(1, 20), data=st.data(), seed=st.integers(0, 9))
def test_a_sum_of_products_over_two_dims_with_a_tail(
    rows: int, columns: int, data: st.DataObject, seed: int
) -> None:
    around = data.draw(st.sampled_from(["", "vector(4)", "unroll(2)", "vector(2) unroll(2)"]))
    own = "" if "vector" in around else partial_results(data.draw)
    memory = f"memref<{rows}x{columns}xf32>"
    assert_lowers_right(
        f"""sched.kernel @f(%x: {memory}, %y: memref<8xf32>) {{
      %most = arith.constant {columns} : index
      sched.axis %i = 8 {around} {{
        %start = memref.load %y[%i] : memref<8xf32>
        %s = sched.reduce fma %j = {rows} init(%start) : f32 {{
          %left = arith.subi %most, %j : index
          %t = sched.reduce fma %k = {columns} count %left {own} : f32 {{
            %v = memref.load %x[%j, %k] : {memory}
            sched.yield %v, %v : f32
          }}
          sched.yield %t : f32
        }}
        memref.store %s, %y[%i] : memref<8xf32>
      }}
    }}""",
        seed,
    )


@pytest.mark.parametrize(
    "loop", ["sched.axis %j = 4 count %i {", "%s = sched.reduce addf %j = 4 count %i : f32 {"]
)
@pytest.mark.parametrize("words", ["unroll(2)", "vector(2)"])
def test_lanes_cannot_have_a_count_each(loop: str, words: str) -> None:
    kernel = kernel_of(f"""sched.kernel @f(%x: memref<4xf32>) {{
      %zero = arith.constant 0.0 : f32
      sched.axis %i = 4 {words} {{
        {loop}
          {"sched.yield %zero : f32" if "reduce" in loop else "memref.store %zero, %x[%j] : memref<4xf32>"}
        }}
      }}
    }}""")
    with pytest.raises(PassFailedException) as caught:
        lower_kernel(kernel)
    assert (
        str(caught.value)
        == f"sched.axis: axis %i cannot be {words} (the count of axis %j in it depends on it)"
    )
