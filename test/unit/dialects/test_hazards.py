"""The items of a program: which ops of a block are some, and those that stand between two."""

from tenon.dialects import sched
from tenon.dialects.modules.hazards import is_item, items_between, items_in, items_of, may_share_rows
from tenon.dialects.modules.parsing import parse_module

PROGRAM = """
sched.kernel @one(%x: memref<4xf32>, %y: memref<4xf32>) {
  sched.axis %i = 4 {
    %v = memref.load %x[%i] : memref<4xf32>
    memref.store %v, %y[%i] : memref<4xf32>
  }
}
sched.program @f(%x: memref<4xf32>) : (tensor<4xf32>) -> tensor<4xf32> {
  %a = sched.buffer global temporary : memref<4xf32>
  %0 = sched.launch @one(%x, %a) after() : memref<4xf32>, memref<4xf32>
  %b = sched.buffer global temporary : memref<4xf32>
  %1 = sched.launch @one(%a, %b) after() : memref<4xf32>, memref<4xf32>
  %c = sched.buffer global result : memref<4xf32>
  %2 = sched.launch @one(%b, %c) after() : memref<4xf32>, memref<4xf32>
  sched.return %c after() : memref<4xf32>
}
"""


def test_items_are_those_that_run() -> None:
    program = next(op for op in parse_module(PROGRAM).ops if isinstance(op, sched.ProgramOp))
    items = items_of(program)
    assert [op.name for op in items] == ["sched.launch"] * 3
    assert items == items_in(program.body.block)
    assert [op for op in program.body.block.ops if not is_item(op)] == [
        op for op in program.body.block.ops if op.name != "sched.launch"
    ]


def test_items_between_are_without_both_ends() -> None:
    program = next(op for op in parse_module(PROGRAM).ops if isinstance(op, sched.ProgramOp))
    first, second, third = items_of(program)
    assert list(items_between(first, third)) == [second]
    assert list(items_between(first, second)) == []
    # The end may be of no kind that is yielded, and nothing after it is looked at.
    assert list(items_between(second, third)) == []


ROWS = """
sched.program @f(%x: memref<4x3x2xf32>, %y: memref<4x3x2xf32>) :
    (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> () {
  %first = sched.row %x[0] : memref<4x3x2xf32>
  %second = sched.row %x[1] : memref<4x3x2xf32>
  %other = sched.row %y[0] : memref<4x3x2xf32>
  %inner = sched.row %first[2] : memref<3x2xf32>
  %same = sched.row %x[0] : memref<4x3x2xf32>
  %t = sched.for %i = 4 after() {
    %moving = sched.row %x[%i] : memref<4x3x2xf32>
    %part = sched.row %moving[1] : memref<3x2xf32>
  }
  sched.return after()
}
"""


def test_rows_overlap_unless_their_numbers_say_otherwise() -> None:
    program = next(op for op in parse_module(ROWS).ops if isinstance(op, sched.ProgramOp))
    rows = {op.result.name_hint: op.result for op in program.walk() if isinstance(op, sched.RowOp)}
    x = program.body.block.args[0]
    apart = [("first", "second"), ("first", "other"), ("second", "inner"), ("inner", "part")]
    for one, other in apart:
        assert not may_share_rows(rows[one], rows[other]) and not may_share_rows(rows[other], rows[one])
    together = [
        ("first", "same"),
        ("first", "inner"),
        ("same", "inner"),
        ("moving", "second"),
        ("part", "second"),
    ]
    for one, other in together:
        assert may_share_rows(rows[one], rows[other]) and may_share_rows(rows[other], rows[one])
    assert all(may_share_rows(x, row) == (name != "other") for name, row in rows.items())
