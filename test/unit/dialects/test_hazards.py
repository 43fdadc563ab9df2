"""The items of a program: which ops of a block are some, and those that stand between two."""

from tenon.dialects import sched
from tenon.dialects.modules.hazards import is_item, items_between, items_in, items_of
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
