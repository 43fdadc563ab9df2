"""Conditions on indices as ranges, and where a kernel stores anything but 0."""

import pytest
from tenon.dialects import sched
from tenon.dialects.low import SelectOp
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.indices.analysis import IndexAnalysis
from tenon.passes.indices.expressions import variable
from tenon.passes.indices.ranges import Range, is_zero, masked_load, ranges_of
from tenon.passes.indices.stored_ranges import StoredRange, joined, stored_ranges
from xdsl.dialects import arith, memref

KERNEL = """
sched.kernel @f(%x: memref<8x9xf32>, %y: memref<12x13xf32>) {{
  %zero = arith.constant {zero} : f32
  %one = arith.constant 1.0 : f32
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  sched.axis %i = 12 {{
    %row = arith.subi %i, %c2 : index
    sched.axis %j = 13 {{
      %above = arith.cmpi sge, %row, %c1 : index
      %below = arith.cmpi slt, %row, %c8 : index
      %beside = arith.cmpi sle, %j, %c9 : index
      %behind = arith.cmpi sgt, %j, %c1 : index
      %is_two = arith.cmpi eq, %j, %c2 : index
      %rows = arith.andi %above, %below : i1
      %columns = arith.andi %beside, %behind : i1
      %both = arith.andi %rows, %columns : i1
      %odd = arith.andi %both, %is_two : i1
      %any = arith.ori %rows, %columns : i1
      %v = memref.load %x[%c1, %c2] : memref<8x9xf32>
      %s = low.select {condition}, {value}, %zero : f32
      memref.store %s, %y[%i, %j] : memref<12x13xf32>
      {more}
    }}
  }}
}}
"""


def parts(condition: str = "%both", value: str = "%v", zero: str = "0.0", more: str = ""):
    module = parse_module(KERNEL.format(condition=condition, value=value, zero=zero, more=more))
    kernel = module.body.block.first_op
    assert isinstance(kernel, sched.KernelOp)
    (select,) = [op for op in kernel.walk() if isinstance(op, SelectOp)]
    analysis = IndexAnalysis()
    i, j = (variable(analysis.axis(op)) for op in kernel.walk() if isinstance(op, sched.AxisOp))
    return kernel, select, i, j, analysis


def plain(*ranges: Range) -> list[StoredRange]:
    return [StoredRange(each) for each in ranges]


def test_comparisons_that_all_hold_are_ranges_of_indices():
    _, select, i, j, analysis = parts()
    assert ranges_of(select.condition, analysis) == {i: Range(3, 10), j: Range(2, 10)}
    _, select, i, _, analysis = parts("%above")
    assert ranges_of(select.condition, analysis) == {i: Range(3, None)}


@pytest.mark.parametrize("condition", ["%odd", "%any"])
def test_other_conditions_are_no_ranges(condition: str):
    _, select, _, _, analysis = parts(condition)
    assert ranges_of(select.condition, analysis) is None
    assert masked_load(select.result, analysis) is None


def test_what_is_loaded_or_zero_is_loaded_under_a_mask():
    _, select, i, j, analysis = parts()
    masked = masked_load(select.result, analysis)
    assert masked is not None and isinstance(masked.load, memref.LoadOp)
    assert set(masked.ranges) == {i, j}
    # A constant is not loaded, and -0.0 is another number.
    for others in (parts(value="%one"), parts(zero="-0.0"), parts(zero="1.0")):
        assert masked_load(others[1].result, others[4]) is None
    assert masked_load(masked.load.res, analysis) is None


def test_zeros_are_constants():
    _, select, _, _, _ = parts()
    assert is_zero(select.on_false) and not is_zero(select.on_true)
    ops = list(
        parse_module("%a = arith.constant 0 : i32 %b = arith.constant dense<0> : vector<2xi32>").walk()
    )
    assert [is_zero(op.result) for op in ops if isinstance(op, arith.ConstantOp)] == [True, False]


def test_a_kernel_stores_zeros_in_a_border():
    kernel, _, _, _, analysis = parts()
    assert stored_ranges(kernel.body.block.args[1], analysis) == plain(Range(3, 10), Range(2, 10))
    # It stores nothing to what it reads.
    assert stored_ranges(kernel.body.block.args[0], analysis) == plain(Range(0, 0), Range(0, 0))
    kernel, _, _, _, analysis = parts("%any")
    assert stored_ranges(kernel.body.block.args[1], analysis) == plain(Range(0, 12), Range(0, 13))
    kernel, _, _, _, analysis = parts(zero="1.0")
    assert stored_ranges(kernel.body.block.args[1], analysis) == plain(Range(0, 12), Range(0, 13))


def test_of_several_stores_all_ranges_count():
    zeros = "memref.store %zero, %y[%i, %j] : memref<12x13xf32>"
    kernel, _, _, _, analysis = parts(more=zeros)
    assert stored_ranges(kernel.body.block.args[1], analysis) == plain(Range(3, 10), Range(2, 10))
    ones = "memref.store %one, %y[%c9, %j] : memref<12x13xf32>"
    kernel, _, _, _, analysis = parts(more=f"{zeros} {ones}")
    assert stored_ranges(kernel.body.block.args[1], analysis) == plain(Range(3, 10), Range(0, 13))


STAGED = """
sched.kernel @f(%x: memref<20xf32>) {{
  %zero = arith.constant 0.0 : f32
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c18 = arith.constant 18 : index
  %c0 = arith.constant 0 : index
  sched.axis %part = 5 {{
    %first = arith.muli %part, %c4 : index
    %rows = sched.alloc local : memref<6xf32>
    sched.axis %i = 6 {{
      %at = arith.addi {at}, %i : index
      %is_after = arith.cmpi sge, %at, %c2 : index
      %is_before = arith.cmpi slt, %at, %c18 : index
      %is_inside = arith.andi %is_after, %is_before : i1
      %v = memref.load %x[%i] : memref<20xf32>
      %w = low.select %is_inside, %v, %zero : f32
      memref.store %w, %rows[%i] : memref<6xf32>
    }}
    {more}
  }}
}}
"""


def staged(at: str = "%first", more: str = ""):
    module = parse_module(STAGED.format(at=at, more=more))
    analysis = IndexAnalysis()
    (buffer,) = [op.results[0] for op in module.walk() if isinstance(op, sched.AllocOp)]
    part, *_ = [variable(analysis.axis(op)) for op in module.walk() if isinstance(op, sched.AxisOp)]
    return stored_ranges(buffer, analysis), part


def test_rows_of_an_image_are_shifted_by_what_is_around_them():
    found, part = staged()
    assert found == [StoredRange(Range(2, 18), part * 4)]
    zeros = "memref.store %zero, %rows[%c0] : memref<6xf32>"
    found, part = staged(more=zeros)
    assert found == [StoredRange(Range(2, 18), part * 4)]
    found, _ = staged("%c4")
    assert found == plain(Range(0, 6))


def test_rows_of_two_images_are_not_shifted_alike():
    zero = "%v2 = memref.load %x[%c0] : memref<20xf32> memref.store %v2, %rows[%c2] : memref<6xf32>"
    found, _ = staged(more=zero)
    assert found == plain(Range())


def test_what_else_changes_a_buffer_is_not_known():
    atomic = "low.atomic_rmw addf %v, %y[%i] : memref<12x13xf32>"
    kernel, _, _, _, analysis = parts(more=atomic)
    assert stored_ranges(kernel.body.block.args[1], analysis) is None


def test_ranges_join_and_meet():
    assert [each.is_empty for each in (Range(2, 2), Range(2, 3), Range(None, 0))] == [True, False, False]
    assert Range(1, None).moved(2) == Range(3, None) and Range(None, 5).moved(-1) == Range(None, 4)
    assert Range(1, 5).and_(Range(None, 3)) == Range(1, 3)
    assert Range(None, 5).and_(Range(2, None)) == Range(2, 5)
    assert joined((Range(1, 5), Range(7, 9))) == Range(1, 9)
    assert joined((Range(1, 5), Range(None, 9))) == Range(None, 9)
    assert joined((Range(1, None), Range(0, 0))) == Range(1, None)
    assert joined((Range(0, 0), Range(4, 4))) == Range(0, 0)
