"""Whoever reads a host program finds launches that do not fit their kernel, verified or not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tenon.backends.reference.execute import run_module
from tenon.dialects import sched
from tenon.dialects.modules.entry import find_entry
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.errors import TenonError
from tenon.runtime.plan.plan_reader import plan_program
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr

TEXT = """
low.kernel @fits(%x: memref<8xf32>, %y: memref<8xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<8xf32>
  memref.store %v, %y[%c0] : memref<8xf32>
}
low.kernel @same_sizes(%x: memref<8xf32>, %y: memref<8xf32>) grid [1, 1, 1] block [1, 1, 1] {
}
low.kernel @fewer(%x: memref<8xf32>) grid [1, 1, 1] block [1, 1, 1] {
}
low.kernel @more(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) grid [1, 1, 1] block [1, 1, 1] {
}
low.kernel @longer(%x: memref<8xf32>, %y: memref<9xf32>) grid [1, 1, 1] block [1, 1, 1] {
}
low.kernel @integers(%x: memref<8xi32>, %y: memref<8xf32>) grid [1, 1, 1] block [1, 1, 1] {
}
low.kernel @empty(%x: memref<9xf32>, %y: memref<8xf32>) grid [0, 1, 1] block [1, 1, 1] {
}
sched.program @p(%x: memref<2x4xf32>) : (tensor<2x4xf32>) -> tensor<8xf32> {
  %y = sched.buffer global result : memref<8xf32>
  %t = sched.launch @fits(%x, %y) after() : memref<2x4xf32>, memref<8xf32>
  sched.return %y after(%t) : memref<8xf32>
}
"""

MISFITS = {
    "fewer": r"sched.launch: @fewer takes 1 buffers \(8 x f32\), found \(8 x f32, 8 x f32\)",
    "more": r"sched.launch: @more takes 3 buffers \(8 x f32, 8 x f32, 8 x f32\), found \(8 x f32, 8 x f32\)",
    "longer": r"sched.launch: @longer takes 2 buffers \(8 x f32, 9 x f32\), found \(8 x f32, 8 x f32\)",
    "integers": r"sched.launch: @integers takes 2 buffers \(8 x i32, 8 x f32\), found \(8 x f32, 8 x f32\)",
    "empty": r"sched.launch: @empty takes 2 buffers \(9 x f32, 8 x f32\), found \(8 x f32, 8 x f32\)",
}


def program_of(module: ModuleOp) -> sched.ProgramOp:
    program = find_entry(module, None)
    assert isinstance(program, sched.ProgramOp)
    return program


def launching(kernel: str) -> ModuleOp:
    module = parse_module(TEXT)
    verify_module(module)
    (launch,) = [op for op in module.walk() if isinstance(op, sched.LaunchOp)]
    launch.kernel = SymbolRefAttr(kernel)
    return module


def plan(module: ModuleOp) -> None:
    plan_program(module, program_of(module))


def interpret(module: ModuleOp) -> None:
    run_module(module, "p", [np.ones((2, 4), np.float32)])


READERS = {"plan": plan, "interpreter": interpret}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("kernel", MISFITS)
def test_a_launch_must_fit_its_kernel(read: Callable[[ModuleOp], None], kernel: str):
    with pytest.raises(TenonError, match=MISFITS[kernel]) as caught:
        read(launching(kernel))
    assert caught.value.location is not None


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_buffer_may_have_another_shape_than_the_kernel_sees(read: Callable[[ModuleOp], None]):
    for kernel in ("fits", "same_sizes"):
        read(launching(kernel))


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_buffer_that_is_written_is_given_once(read: Callable[[ModuleOp], None]):
    """Kernels are compiled for arguments that are apart: what they do otherwise is not said."""
    for kernel in ("fits", "same_sizes"):
        module = launching(kernel)
        (launch,) = [op for op in module.walk() if isinstance(op, sched.LaunchOp)]
        launch.operands[0] = launch.operands[1]
        if kernel == "same_sizes":
            read(module)
            continue
        with pytest.raises(TenonError, match=r"sched.launch: @fits writes to y, which it is given twice"):
            read(module)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_row_that_is_written_is_no_part_of_what_is_read(read: Callable[[ModuleOp], None]):
    text = TEXT.replace(
        "%y = sched.buffer global result : memref<8xf32>",
        """
  %all = sched.buffer global temporary slab <1, 0> : memref<2x8xf32>
  %y = sched.buffer global result : memref<8xf32>
  %row = sched.row %all[0] : memref<2x8xf32>
  %other = sched.row %all[1] : memref<2x8xf32>
  %again = sched.row %all[1] : memref<2x8xf32>
  %s = sched.launch @fits(%x, %row) after() : memref<2x4xf32>, memref<8xf32>
  %u = sched.launch @fits(%row, %other) after(%s) : memref<8xf32>, memref<8xf32>""",
    )
    read(parse_module(text))
    with pytest.raises(TenonError, match=r"sched.launch: @fits writes to other, which it is given twice"):
        read(parse_module(text.replace("@fits(%row, %other)", "@fits(%again, %other)")))


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_two_kernels_of_one_name_are_an_error(read: Callable[[ModuleOp], None]):
    module = launching("fits")
    last = [op for op in module.ops if not isinstance(op, sched.ProgramOp)][-1]
    last.properties["sym_name"] = StringAttr("fits")
    with pytest.raises(TenonError, match=r"low.kernel: @fits is the name of two kernels"):
        read(module)


def test_the_interpreter_names_a_kernel_that_is_not_there():
    with pytest.raises(TenonError, match=r"sched.launch: there is no kernel @nothing"):
        interpret(launching("nothing"))


def test_a_plan_names_a_kernel_that_is_not_there():
    with pytest.raises(TenonError, match=r"sched.launch: @nothing is no low.kernel"):
        plan(launching("nothing"))
