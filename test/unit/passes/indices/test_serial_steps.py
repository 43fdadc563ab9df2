"""How far what is loaded moves from one iteration of a serial loop to the next."""

import pytest
from tenon.dialects import sched
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.indices.analysis import IndexAnalysis
from tenon.passes.indices.serial_steps import row_step
from xdsl.dialects import memref
from xdsl.ir import SSAValue

KERNEL = """
sched.kernel @f(%n: memref<i64>, %m: memref<i64>, %x: memref<40x50xf32>) {{
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c39 = arith.constant 39 : index
  %n5 = arith.constant 5 : i64
  %n0 = arith.constant 0 : i64
  %number = memref.load %n[] : memref<i64>
  %other = memref.load %m[] : memref<i64>
  {code}
  %s = sched.reduce addf %i = 30 : f32 {{
    %at = arith.addi %i, %c2 : index
    %v = memref.load %x[{row}, %at] : memref<40x50xf32>
    sched.yield %v : f32
  }}
}}
"""

ROW = """
%cast = arith.index_cast {number} : i64 to index
%raised = arith.maxsi %cast, %c0 : index
%row = arith.minsi %raised, %c39 : index
"""


def step_of(code: str, row: str = "%row", step: int = 1) -> int | None:
    module = parse_module(KERNEL.format(code=code, row=row))
    analysis = IndexAnalysis()
    (loop,) = [op for op in module.walk() if isinstance(op, sched.ReduceOp)]
    (kernel,) = [op for op in module.walk() if isinstance(op, sched.KernelOp)]
    (load,) = [op for op in loop.body.block.ops if isinstance(op, memref.LoadOp)]
    numbers: dict[SSAValue, int] = {kernel.body.block.args[0]: step}
    return row_step(load, analysis.axis(loop), analysis, numbers)


@pytest.mark.parametrize("step", [1, -1, 3])
def test_the_row_of_a_number_moves_by_whole_rows(step: int):
    assert step_of(ROW.format(number="%number"), step=step) == 50 * step


@pytest.mark.parametrize(
    ("code", "step"),
    [
        ("%a = arith.addi %number, %n5 : i64", 50),
        ("%a = arith.subi %number, %n5 : i64", 50),
        ("%a = arith.subi %n5, %number : i64", -50),
        ("%a = arith.addi %number, %number : i64", 100),
        ("%a = arith.subi %number, %number : i64", 0),
        ("%b = arith.maxsi %number, %n0 : i64 %a = arith.minsi %b, %n5 : i64", 50),
        (
            "%b = arith.cmpi slt, %number, %n0 : i64 %c = arith.addi %number, %n5 : i64 "
            "%a = low.select %b, %c, %number : i64",
            50,
        ),
        ("%a = arith.addi %number, %other : i64", None),
        ("%a = arith.subi %other, %number : i64", None),
        ("%a = arith.muli %number, %n5 : i64", None),
        ("%a = arith.minsi %number, %other : i64", None),
    ],
)
def test_what_is_computed_of_a_number_moves_with_it(code: str, step: int | None):
    assert step_of(code + ROW.format(number="%a")) == step


def test_other_rows_move_by_no_known_number():
    assert step_of(ROW.format(number="%other")) is None
    assert step_of("", "%c2") == 0
    halved = ROW.format(number="%number") + "%half = arith.divui %row, %c2 : index"
    assert step_of(halved, "%half") is None
    doubled = ROW.format(number="%number") + "%twice = arith.muli %row, %c2 : index"
    assert step_of(doubled, "%twice") == 100
