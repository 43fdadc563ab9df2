import numpy as np
import pytest
from hypothesis import given
from tenon.backends.reference.execute import run_module
from tenon.dialects import context
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import TenonError
from tenon.passes.sched.host.plan_memory import PlanMemoryPass
from tenon.test.unit.host_programs import RandomProgram, programs

X = np.array([3, -1, 2**31 - 1, 7], np.int32)


def expected(program: RandomProgram) -> list[list[int]]:
    buffers = {0: X}
    for word, reads, writes in program.items:
        if word in ("copy", "transfer"):
            buffers[writes[0]] = buffers[reads[0]]
        elif word == "add":
            buffers[writes[0]] = buffers[reads[0]] + buffers[reads[1]]
    return [buffers[number].tolist() for number in program.returned]


@given(programs())
def test_a_program_gives_what_its_text_says(program: RandomProgram):
    assert [array.tolist() for array in run_module(program.module(), "p", [X])] == expected(program)


@given(programs())
def test_sharing_memory_changes_no_result(program: RandomProgram):
    module = program.module()
    PlanMemoryPass(alignment=4).apply(context(), module)
    assert [array.tolist() for array in run_module(module, "p", [X])] == expected(program)


def test_buffers_with_one_slab_are_one_memory():
    module = parse_module("""
sched.program @p(%x: memref<4xi32>) : (tensor<4xi32>) -> tensor<4xi32> {
  %a = sched.buffer global temporary slab <2, 0> : memref<4xi32>
  %b = sched.buffer global temporary slab <2, 4> : memref<4xi32>
  %t = sched.transfer %x to %a after() : memref<4xi32>
  sched.return %b after(%t) : memref<4xi32>
}
""")
    assert run_module(module, None, [X])[0].tolist() == [*X[1:], -1]


def test_booleans_and_unsigned_bytes_keep_their_values():
    module = parse_module("""
sched.kernel @not(%x: memref<3xi8>, %y: memref<3xi8>) {
  sched.axis %i = 3 {
    %one = arith.constant 1 : i8
    %v = memref.load %x[%i] : memref<3xi8>
    %n = arith.xori %v, %one : i8
    memref.store %n, %y[%i] : memref<3xi8>
  }
}
sched.program @p(%x: memref<3xi8>, %u: memref<2xi8>) : (tensor<3xi1>, tensor<2xui8>)
    -> (tensor<3xi1>, tensor<2xui8>, tensor<2xi1>) {
  %c = sched.constant dense<[true, false]> : tensor<2xi1> : memref<2xi8>
  %y = sched.buffer global result : memref<3xi8>
  %t = sched.launch @not(%x, %y) after() : memref<3xi8>, memref<3xi8>
  sched.return %y, %u, %c after(%t) : memref<3xi8>, memref<2xi8>, memref<2xi8>
}
""")
    unsigned = np.array([0, 255], np.uint8)
    y, u, c = run_module(module, "p", [np.array([True, False, True]), unsigned])
    assert (y.dtype, y.tolist()) == (np.bool_, [False, True, False])
    assert (u.dtype, u.tolist()) == (np.uint8, [0, 255])
    assert (c.dtype, c.tolist()) == (np.bool_, [True, False])
    assert not np.may_share_memory(u, unsigned)


def test_a_kernel_sees_a_buffer_in_its_own_shape():
    module = parse_module("""
low.kernel @last(%x: memref<6xf32>, %y: memref<1xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %zero = arith.constant 0 : index
  %five = arith.constant 5 : index
  %v = memref.load %x[%five] : memref<6xf32>
  memref.store %v, %y[%zero] : memref<1xf32>
}
sched.program @p(%x: memref<2x3xf32>) : (tensor<2x3xf32>) -> tensor<f32> {
  %y = sched.buffer global result : memref<f32>
  %t = sched.launch @last(%x, %y) after() : memref<2x3xf32>, memref<f32>
  sched.return %y after(%t) : memref<f32>
}
""")
    (y,) = run_module(module, "p", [np.arange(6, dtype=np.float32).reshape(2, 3)])
    assert y.shape == ()
    assert y == 5


def test_a_kernel_cannot_write_to_an_argument():
    module = parse_module("""
sched.kernel @clear(%x: memref<4xi32>) {
  sched.axis %i = 4 {
    %zero = arith.constant 0 : i32
    memref.store %zero, %x[%i] : memref<4xi32>
  }
}
sched.program @p(%x: memref<4xi32>) : (tensor<4xi32>) -> tensor<4xi32> {
  %t = sched.launch @clear(%x) after() : memref<4xi32>
  sched.return %x after(%t) : memref<4xi32>
}
""")
    with pytest.raises(TenonError, match=r"sched.launch: @p writes to its argument 'x'"):
        run_module(module, "p", [X])


def test_a_transfer_cannot_write_to_a_constant():
    module = parse_module("""
sched.program @p(%x: memref<4xi32>) : (tensor<4xi32>) -> tensor<4xi32> {
  %c = sched.constant dense<1> : tensor<4xi32> : memref<4xi32>
  %t = sched.transfer %x to %c after() : memref<4xi32>
  sched.return %c after(%t) : memref<4xi32>
}
""")
    with pytest.raises(TenonError, match=r"sched.transfer: @p writes to its constant 'c'"):
        run_module(module, "p", [X])


def test_an_op_that_is_no_part_of_a_program_is_an_error():
    module = parse_module("""
sched.program @p(%x: memref<4xi32>) : (tensor<4xi32>) -> tensor<4xi32> {
  %c = arith.constant 1 : i32
  sched.return %x after() : memref<4xi32>
}
""")
    with pytest.raises(TenonError, match=r"reference: cannot run arith.constant in a program"):
        run_module(module, "p", [X])


def test_a_function_is_run_on_its_graph():
    module = parse_module("""
func.func @f(%x: tensor<4xi32>) -> tensor<4xi32> {
  %y = graph.add %x, %x : tensor<4xi32>
  func.return %y : tensor<4xi32>
}
""")
    assert run_module(module, None, [X])[0].tolist() == [6, -2, -2, 14]
