"""The interpreter of `sched`: what it finds wrong, memory nobody wrote, and work in pieces."""

from __future__ import annotations

import numpy as np
import pytest
from tenon.backends.reference.kernels import sched as interpreter
from tenon.dialects import sched
from tenon.dialects.modules.parsing import parse_module
from tenon.semantics.errors import InterpreterError


def kernel_of(text: str) -> sched.KernelOp:
    kernel = parse_module(text, "k.mlir").body.block.first_op
    assert isinstance(kernel, sched.KernelOp)
    return kernel


SHIFTED = """sched.kernel @f(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  %three = arith.constant 3 : index
  sched.axis %i = 4 {
    sched.axis %j = 8 {
      %k = arith.SHIFT %j, %three : index
      %v = memref.load %x[%i, %k] : memref<4x8xf32>
      memref.store %v, %y[%i, %j] : memref<4x8xf32>
    }
  }
}"""


@pytest.mark.parametrize(("shift", "wrong"), [("addi", 8), ("subi", -3)])
def test_index_out_of_bounds_is_an_error_with_its_place(shift: str, wrong: int) -> None:
    kernel = kernel_of(SHIFTED.replace("SHIFT", shift))
    x = np.zeros((4, 8), np.float32)
    expected = f"index {wrong} is out of bounds for dim 1 of extent 8"
    with pytest.raises(InterpreterError, match=f"memref.load.*{expected}") as caught:
        interpreter.run_kernel(kernel, [x, x.copy()])
    assert "k.mlir:6" in str(caught.value)


def test_op_that_is_no_scalar_code_is_an_error_that_names_it():
    kernel = kernel_of("sched.kernel @f() {\n%i = low.block_id x\n}")
    with pytest.raises(InterpreterError, match=r"low\.block_id"):
        interpreter.run_kernel(kernel, [])


def test_local_memory_is_nan_until_it_is_written():
    kernel = kernel_of(
        """sched.kernel @f(%y: memref<3xf32>) {
          sched.axis %i = 3 {
            %b = sched.alloc local : memref<1xf32>
            %zero = arith.constant 0 : index
            %v = memref.load %b[%zero] : memref<1xf32>
            memref.store %v, %y[%i] : memref<3xf32>
          }
        }"""
    )
    y = np.zeros(3, np.float32)
    interpreter.run_kernel(kernel, [y])
    assert np.isnan(y).all()


def test_work_in_pieces_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kernel_of(
        """sched.kernel @f(%x: memref<5x37xf32>, %y: memref<5xf32>) {
          sched.axis %i = 5 {
            %row = sched.alloc local : memref<37xf32>
            sched.axis %j = 37 {
              %v = memref.load %x[%i, %j] : memref<5x37xf32>
              %w = arith.mulf %v, %v : f32
              memref.store %w, %row[%j] : memref<37xf32>
            }
            %s = sched.reduce addf %j = 37 vector(2) unroll(4) : f32 {
              %v = memref.load %row[%j] : memref<37xf32>
              sched.yield %v : f32
            }
            memref.store %s, %y[%i] : memref<5xf32>
          }
        }"""
    )
    x = np.random.default_rng(0).standard_normal((5, 37)).astype(np.float32)
    whole, pieces = np.zeros(5, np.float32), np.zeros(5, np.float32)
    interpreter.run_kernel(kernel, [x, whole])
    monkeypatch.setattr(interpreter, "LANES_LIMIT", 16)
    interpreter.run_kernel(kernel, [x, pieces])
    assert (whole == pieces).all() and whole.all()


def test_sums_of_nothing_are_the_identity():
    kernel = kernel_of(
        """sched.kernel @f(%x: memref<0xi8>, %y: memref<i8>) {
          %s = sched.reduce minsi %j = 0 : i8 {
            %v = memref.load %x[%j] : memref<0xi8>
            sched.yield %v : i8
          }
          memref.store %s, %y[] : memref<i8>
        }"""
    )
    y = np.zeros((), np.int8)
    interpreter.run_kernel(kernel, [np.zeros(0, np.int8), y])
    assert y == 127
