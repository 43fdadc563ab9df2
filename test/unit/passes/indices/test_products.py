"""Sums of products: what is one, and what is known of its sides."""

import pytest
from tenon.dialects import sched
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.indices.analysis import IndexAnalysis
from tenon.passes.indices.lanes import lanes_for, runs_in_lanes
from tenon.passes.indices.products import product_of, products_in

KERNEL = """
sched.kernel @f(%a: memref<12x6xf16>, %b: memref<6x32xf32>, %c: memref<12x32xf32>) {{
  sched.axis %i = 12 {{
    sched.axis %j = 32 {{
      {before}
      %s = sched.reduce {kind} %k = 6 : f32 {{
        %h = memref.load %a[%i, %k] : memref<12x6xf16>
        %x = arith.extf %h : f16 to f32
        %y = memref.load %b[%k, %j] : memref<6x32xf32>
        {inside}
        sched.yield %x, {second} : f32
      }}
      memref.store %s, %c[%i, %j] : memref<12x32xf32>
    }}
  }}
}}
"""


def parts(kind: str = "fma", before: str = "", inside: str = "", second: str = "%y"):
    module = parse_module(KERNEL.format(kind=kind, before=before, inside=inside, second=second))
    loops = {op.index.name_hint: op for op in module.walk() if isinstance(op, sched.AxisOp | sched.ReduceOp)}
    return loops, IndexAnalysis()


def test_a_product_has_two_sides_and_a_depth():
    loops, analysis = parts()
    product = product_of(loops["k"], analysis)
    assert product is not None and product.is_linear(analysis) and product.depth(analysis) == 6
    lhs, rhs = product.sides
    i, j, k = (analysis.axis(loops[name]) for name in "ijk")
    assert [lhs.stride(axis) for axis in (i, j, k)] == [6, 0, 1]
    assert [rhs.stride(axis) for axis in (i, j, k)] == [0, 1, 32]
    assert (lhs.nbytes, rhs.nbytes, product.nbytes, product.sum_nbytes) == (2, 4, 4, 4)
    assert (lhs.buffer_nbytes, rhs.buffer_nbytes) == (12 * 6 * 2, 6 * 32 * 4)
    assert (product.column_side(j, None), product.column_side(i, None)) == (1, None)
    assert [each.op for each in products_in(loops["j"], analysis)] == [loops["k"]]


def test_a_panel_is_how_long_neighbours_go_on():
    text = KERNEL.format(kind="fma", before="%w = arith.constant 8 : index", inside="", second="%y")
    text = text.replace("%b[%k, %j] : memref<6x32xf32>", "%b[%q, %k, %r] : memref<4x6x8xf32>")
    text = text.replace("%b: memref<6x32xf32>", "%b: memref<4x6x8xf32>")
    text = text.replace(
        "%s = sched.reduce",
        "%q = arith.divui %j, %w : index\n %r = arith.remui %j, %w : index\n %s = sched.reduce",
    )
    text = text.replace("%k = 6 :", "%k = 6 tile_shape [6 in panels, 8 in panels] :")
    loops = {
        op.index.name_hint: op
        for op in parse_module(text).walk()
        if isinstance(op, sched.AxisOp | sched.ReduceOp)
    }
    analysis = IndexAnalysis()
    product = product_of(loops["k"], analysis)
    assert product is not None
    j = analysis.axis(loops["j"])
    rhs = product.sides[1]
    assert product.panels == (6, 8)
    assert (rhs.panel(j, product.panels), rhs.stride(j), rhs.stride(j, 8)) == (8, None, 1)
    assert [rhs.panel(j, widths) for widths in ((), (16,), (4,), (3, 4))] == [None, None, 4, 4]
    assert product.sides[0].panel(j, product.panels) is None
    assert (product.column_side(j, None), product.column_side(j, 8)) == (None, 1)


def test_rows_that_are_looked_up_are_no_panel():
    text = KERNEL.format(
        kind="fma",
        before="%f = memref.load %p[%i] : memref<12xi64>\n %q = arith.index_cast %f : i64 to index",
        inside="",
        second="%y",
    )
    text = text.replace("@f(", "@f(%p: memref<12xi64>, ").replace("%a[%i, %k]", "%a[%q, %k]")
    text = text.replace("%k = 6 :", "%k = 6 tile_shape [6, 8 in panels] :")
    loops = {
        op.index.name_hint: op
        for op in parse_module(text).walk()
        if isinstance(op, sched.AxisOp | sched.ReduceOp)
    }
    analysis = IndexAnalysis()
    product = product_of(loops["k"], analysis)
    assert product is not None
    i, j = analysis.axis(loops["i"]), analysis.axis(loops["j"])
    lhs = product.sides[0]
    assert [lhs.stride(i), lhs.stride(i, 6), lhs.panel(i, (6, 8)), lhs.stride(j, 8)] == [None, None, None, 0]


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "addf", "second": ""},
        {"inside": "%z = arith.addf %y, %y : f32", "second": "%z"},
        {"inside": "memref.store %y, %b[%k, %j] : memref<6x32xf32>"},
    ],
)
def test_other_sums_are_no_products(change: dict[str, str]):
    if change.get("kind"):
        text = KERNEL.format(kind="addf", before="", inside="", second="").replace("%x,  :", "%x :")
        loops = {op.index.name_hint: op for op in parse_module(text).walk() if isinstance(op, sched.ReduceOp)}
        assert product_of(loops["k"], IndexAnalysis()) is None
        return
    loops, analysis = parts(**change)
    reduce = loops["k"]
    assert isinstance(reduce, sched.ReduceOp) and product_of(reduce, analysis) is None
    axis = loops["j"]
    assert isinstance(axis, sched.AxisOp) and products_in(axis, analysis) == []


def test_a_sum_beside_a_local_buffer_is_not_alone():
    loops, analysis = parts(before="%t = sched.alloc local : memref<4xf32>")
    axis = loops["j"]
    assert isinstance(axis, sched.AxisOp) and products_in(axis, analysis) == []


def test_lanes_are_for_neighbours():
    loops, analysis = parts(before="%n = arith.index_cast %j : index to i32")
    ops = list(loops["j"].walk())
    i, j = analysis.axis(loops["i"]), analysis.axis(loops["j"])
    assert all(runs_in_lanes(op, j, analysis) for op in ops)
    assert [op.name for op in ops if not runs_in_lanes(op, i, analysis)] == ["memref.load", "memref.store"]
    assert [lanes_for(ops, nbytes) for nbytes in (4, 16, 32, 1024)] == [2, 4, 8, 16]
    assert lanes_for(ops, 4, least=1) == 1
