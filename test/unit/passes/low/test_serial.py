"""Loops and branches in kernels: interpreted at sched and low, lowered as they are, and compiled."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tenon.dialects import context, low, sched
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.low.lowering.convert_sched_to_low import ConvertSchedToLowPass
from tenon.passes.pass_manager import PassManager
from tenon.semantics.errors import InterpreterError
from tenon.test.unit.everywhere import WAYS, run_everywhere
from xdsl.dialects import scf
from xdsl.utils.exceptions import PassFailedException

Array = npt.NDArray[Any]

WAYS_FROM_SCHED = WAYS[1:]

PROGRAM = """
sched.program @f(%x: memref<6x16xf32>, %n: memref<6xi32>)
    : (tensor<6x16xf32>, tensor<6xi32>) -> (tensor<6x16xf32>, tensor<6xi64>) {
  %y = sched.buffer global result : memref<6x16xf32>
  %z = sched.buffer global result : memref<6xi64>
  %t0 = sched.transfer %x to %y after() : memref<6x16xf32>
  %t = sched.launch @k(%x, %n, %y, %z) after(%t0)
    : memref<6x16xf32>, memref<6xi32>, memref<6x16xf32>, memref<6xi64>
  sched.return %y, %z after(%t) : memref<6x16xf32>, memref<6xi64>
}
"""

X = np.random.default_rng(0).normal(size=(6, 16)).astype(np.float32)
N = np.array([0, 3, 16, -1, 15, 7], np.int32)


def program(body: str, mapping: str = "") -> str:
    return f"""
sched.kernel @k(%x: memref<6x16xf32>, %n: memref<6xi32>, %y: memref<6x16xf32>, %z: memref<6xi64>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  %f0 = arith.constant 0.0 : f32
  sched.axis %i = 6{mapping} {{
    %m = memref.load %n[%i] : memref<6xi32>
    %e = arith.index_cast %m : i32 to index
    {body}
  }}
}}
{PROGRAM}"""


def run(body: str) -> tuple[Array, ...]:
    return run_everywhere(program(body), X, N, ways=WAYS_FROM_SCHED)


def test_iterations_run_loops_of_different_lengths() -> None:
    y, z = run("""%s = scf.for %k = %c0 to %e step %c1 iter_args(%t = %zero) -> (i64) {
        %v = memref.load %x[%i, %k] : memref<6x16xf32>
        %w = arith.addf %v, %v : f32
        memref.store %w, %y[%i, %k] : memref<6x16xf32>
        %u = arith.addi %t, %one : i64
        scf.yield %u : i64
      }
      memref.store %s, %z[%i] : memref<6xi64>""")
    expected = X.copy()
    for row, count in enumerate(N):
        expected[row, : max(count, 0)] *= 2
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(z, np.maximum(N, 0))


def test_iterations_take_different_branches() -> None:
    y, z = run("""%odd = arith.constant 1 : i32
      %bit = arith.andi %m, %odd : i32
      %is_odd = arith.cmpi eq, %bit, %odd : i32
      %at, %r = scf.if %is_odd -> (index, i64) {
        %v = memref.load %x[%i, %c0] : memref<6x16xf32>
        memref.store %v, %y[%i, %c1] : memref<6x16xf32>
        scf.yield %c15, %one : index, i64
      } else {
        scf.yield %c0, %zero : index, i64
      }
      memref.store %f0, %y[%i, %at] : memref<6x16xf32>
      memref.store %r, %z[%i] : memref<6xi64>""")
    expected = X.copy()
    for row, count in enumerate(N):
        if count % 2:
            expected[row, 1], expected[row, 15] = X[row, 0], 0
        else:
            expected[row, 0] = 0
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(z, N % 2)


def test_an_inactive_iteration_may_have_an_index_out_of_bounds() -> None:
    y, _ = run("""%inside = arith.cmpi sge, %e, %c0 : index
      %low = arith.cmpi sle, %e, %c15 : index
      %both = arith.andi %inside, %low : i1
      scf.if %both {
        memref.store %f0, %y[%i, %e] : memref<6x16xf32>
      }
      memref.store %one, %z[%i] : memref<6xi64>""")
    expected = X.copy()
    for row, count in enumerate(N):
        if 0 <= count < 16:
            expected[row, count] = 0
    np.testing.assert_array_equal(y, expected)


def test_an_active_iteration_out_of_bounds_is_reported() -> None:
    text = program(
        "memref.store %f0, %y[%i, %e] : memref<6x16xf32>\nmemref.store %one, %z[%i] : memref<6xi64>"
    )
    with pytest.raises(InterpreterError, match="index 16 is out of bounds for dim 1 of extent 16"):
        run_everywhere(text, X, N, ways=WAYS_FROM_SCHED[:1])


def test_an_axis_inside_of_a_loop_is_a_vector() -> None:
    body = """scf.for %k = %c0 to %e step %c1 {
        sched.axis %j = 16 {
          %v = memref.load %y[%i, %j] : memref<6x16xf32>
          %w = arith.addf %v, %v : f32
          memref.store %w, %y[%i, %j] : memref<6x16xf32>
        }
      }
      memref.store %one, %z[%i] : memref<6xi64>"""
    module = parse_module(program(body))
    PassManager("map-axes").run(context(), module)
    axes = [op.mapping.vector.data for op in module.walk() if isinstance(op, sched.AxisOp)]
    assert axes == [1, 8]
    y, _ = run(body)
    np.testing.assert_array_equal(y, X * 2.0 ** np.maximum(N, 0)[:, None])


def test_a_reduction_inside_of_a_loop_and_a_branch() -> None:
    y, _ = run("""%big = arith.cmpi sgt, %e, %c1 : index
      scf.if %big {
        scf.for %k = %c0 to %e step %c1 {
          %s = sched.reduce maximumf %j = 16 : f32 {
            %v = memref.load %x[%i, %j] : memref<6x16xf32>
            sched.yield %v : f32
          }
          memref.store %s, %y[%i, %k] : memref<6x16xf32>
        }
      }
      memref.store %one, %z[%i] : memref<6xi64>""")
    expected = X.copy()
    for row, count in enumerate(N):
        if count > 1:
            expected[row, :count] = X[row].max()
    np.testing.assert_array_equal(y, expected)


def test_a_division_that_an_iteration_skips_does_not_trap() -> None:
    _, z = run("""%wide = arith.index_cast %e : index to i64
      %some = arith.cmpi ne, %wide, %zero : i64
      %r = scf.if %some -> (i64) {
        %q = arith.divsi %one, %wide : i64
        scf.yield %q : i64
      } else {
        scf.yield %one : i64
      }
      memref.store %r, %z[%i] : memref<6xi64>""")
    np.testing.assert_array_equal(z, [1, 0, 0, -1, 0, 0])


def test_loops_stay_loops() -> None:
    module = parse_module(
        program("""scf.for %k = %c0 to %e step %c1 {
        memref.store %f0, %y[%i, %k] : memref<6x16xf32>
      }
      memref.store %one, %z[%i] : memref<6xi64>""")
    )
    PassManager("map-axes,convert-sched-to-low").run(context(), module)
    (kernel,) = [op for op in module.ops if isinstance(op, low.KernelOp)]
    assert sum(isinstance(op, scf.ForOp) for op in kernel.walk()) == 2


@pytest.mark.parametrize("mapping", [" vector(2)", " unroll(2)"])
def test_serial_code_does_not_run_in_lanes(mapping: str) -> None:
    body = "scf.for %k = %c0 to %c15 step %c1 {\nmemref.store %f0, %y[%i, %k] : memref<6x16xf32>\n}"
    module = parse_module(program(body, mapping).replace("[%i, %k]", "[%k, %i]"))
    with pytest.raises(
        PassFailedException, match=r"scf.for: cannot stand under axis %i \(it runs in lanes\)"
    ):
        ConvertSchedToLowPass().apply(context(), module)


def test_a_step_that_is_not_positive_is_reported() -> None:
    body = "scf.for %k = %c0 to %c15 step %e {\n}\nmemref.store %one, %z[%i] : memref<6xi64>"
    with pytest.raises(InterpreterError, match=r"scf.for at .*: step 0 is not positive"):
        run_everywhere(program(body), X, N, ways=WAYS_FROM_SCHED[:1])


WHILE = """%end, %sum = scf.while (%k = %c0, %t = %zero) : (index, i64) -> (index, i64) {
        %more = arith.cmpi slt, %k, %e : index
        scf.condition(%more) %k, %t : index, i64
      } do {
      ^body(%at: index, %u: i64):
        memref.store %f0, %y[%i, %at] : memref<6x16xf32>
        %wide = arith.index_cast %at : index to i64
        %v = arith.addi %u, %wide : i64
        %following = arith.addi %at, %c1 : index
        scf.yield %following, %v : index, i64
      }
      %last = arith.index_cast %end : index to i64
      %r = arith.addi %last, %sum : i64
      memref.store %r, %z[%i] : memref<6xi64>"""


def test_iterations_run_while_their_own_condition_holds() -> None:
    y, z = run(WHILE)
    expected = X.copy()
    for row, count in enumerate(N):
        expected[row, : max(count, 0)] = 0
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(z, [sum(range(count)) + max(count, 0) for count in N])


def test_a_while_that_carries_nothing() -> None:
    y, _ = run("""%slot = sched.alloc local : memref<1xi64>
      memref.store %zero, %slot[%c0] : memref<1xi64>
      scf.while () : () -> () {
        %now = memref.load %slot[%c0] : memref<1xi64>
        %wide = arith.index_cast %e : index to i64
        %more = arith.cmpi slt, %now, %wide : i64
        scf.condition(%more)
      } do {
        %now = memref.load %slot[%c0] : memref<1xi64>
        %at = arith.index_cast %now : i64 to index
        memref.store %f0, %y[%i, %at] : memref<6x16xf32>
        %next = arith.addi %now, %one : i64
        memref.store %next, %slot[%c0] : memref<1xi64>
        scf.yield
      }
      memref.store %one, %z[%i] : memref<6xi64>""")
    expected = X.copy()
    for row, count in enumerate(N):
        expected[row, : max(count, 0)] = 0
    np.testing.assert_array_equal(y, expected)


def test_a_step_counts_only_where_the_loop_is_reached() -> None:
    body = """%some = arith.cmpi sgt, %e, %c0 : index
    %sum = scf.if %some -> (i64) {
      %steps = scf.for %k = %c0 to %c15 step %e iter_args(%s = %zero) -> (i64) {
        %next = arith.addi %s, %one : i64
        scf.yield %next : i64
      }
      scf.yield %steps : i64
    } else {
      scf.yield %zero : i64
    }
    memref.store %sum, %z[%i] : memref<6xi64>"""
    _, counts = run(body)
    np.testing.assert_array_equal(counts, [0, 5, 1, 0, 1, 3])
