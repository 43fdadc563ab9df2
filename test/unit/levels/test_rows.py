"""Rows at numbers, in programs as they are written: where they lie on every backend, and in plans."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.backends.reference.execute import run_module
from tenon.backends.steps import CopyStep, LaunchStep, LoopStep, PlaceStep, RowPlace
from tenon.dialects import context, sched
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.pass_manager import PassManager
from tenon.runtime.executables.device_executable import DeviceExecutable
from tenon.runtime.plan.plan_codec import decode, encode
from tenon.runtime.plan.plan_reader import plan_program
from tenon.test.unit.compiler.export.c_programs import needs_cc

ADD = """
sched.kernel @add(%a: memref<3xf32>, %b: memref<3xf32>, %c: memref<3xf32>) {
  sched.axis %i = 3 {
    %v = memref.load %a[%i] : memref<3xf32>
    %w = memref.load %b[%i] : memref<3xf32>
    %s = arith.addf %v, %w : f32
    memref.store %s, %c[%i] : memref<3xf32>
  }
}
"""

LAUNCH = "memref<3xf32>, memref<3xf32>, memref<3xf32>"

PROGRAMS = {
    "rows of an argument and a constant": (
        f"""
sched.program @f(%x: memref<4x3xf32>) : (tensor<4x3xf32>) -> tensor<3xf32> {{
  %k = sched.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32> : memref<2x3xf32>
  %y = sched.buffer global result : memref<3xf32>
  %third = sched.row %x[2] : memref<4x3xf32>
  %last = sched.row %k[1] : memref<2x3xf32>
  %t = sched.launch @add(%third, %last, %y) after() : {LAUNCH}
  sched.return %y after(%t) : memref<3xf32>
}}""",
        lambda x: x[2] + np.array([4, 5, 6], np.float32),
    ),
    "rows that are written, and a row of a row": (
        f"""
sched.program @f(%x: memref<4x3xf32>) : (tensor<4x3xf32>) -> tensor<2x2x3xf32> {{
  %y = sched.buffer global result : memref<2x2x3xf32>
  %a = sched.row %x[0] : memref<4x3xf32>
  %b = sched.row %x[3] : memref<4x3xf32>
  %0 = sched.row %y[0] : memref<2x2x3xf32>
  %1 = sched.row %y[1] : memref<2x2x3xf32>
  %00 = sched.row %0[0] : memref<2x3xf32>
  %01 = sched.row %0[1] : memref<2x3xf32>
  %10 = sched.row %1[0] : memref<2x3xf32>
  %11 = sched.row %1[1] : memref<2x3xf32>
  %t0 = sched.launch @add(%a, %b, %00) after() : {LAUNCH}
  %t1 = sched.launch @add(%00, %b, %01) after(%t0) : {LAUNCH}
  %t2 = sched.launch @add(%01, %a, %10) after(%t1) : {LAUNCH}
  %t3 = sched.transfer %01 to %11 after(%t2) : memref<3xf32>
  sched.return %y after(%t2, %t3) : memref<2x2x3xf32>
}}""",
        lambda x: np.array(
            [[x[0] + x[3], x[0] + x[3] + x[3]], [x[0] + x[3] + x[3] + x[0], x[0] + x[3] + x[3]]]
        ),
    ),
    "a row of what moves with a loop": (
        f"""
sched.program @f(%x: memref<5x4x3xf32>) : (tensor<5x4x3xf32>) -> tensor<5x3xf32> {{
  %y = sched.buffer global result : memref<5x3xf32>
  %one = sched.row %x[1] : memref<5x4x3xf32>
  %same = sched.row %one[3] : memref<4x3xf32>
  %t = sched.for %i = 5 reverse after() {{
    %row = sched.row %x[%i] : memref<5x4x3xf32>
    %second = sched.row %row[1] : memref<4x3xf32>
    %out = sched.row %y[%i] : memref<5x3xf32>
    %u = sched.launch @add(%second, %same, %out) after() : {LAUNCH}
  }}
  sched.return %y after(%t) : memref<5x3xf32>
}}""",
        lambda x: x[:, 1] + x[1, 3],
    ),
    "rows behind branches": (
        f"""
sched.kernel @is_large(%x: memref<3xf32>, %c: memref<i8>) {{
  %zero = arith.constant 0 : index
  %limit = arith.constant 10.0 : f32
  %v = memref.load %x[%zero] : memref<3xf32>
  %large = arith.cmpf ogt, %v, %limit : f32
  %yes = arith.constant 1 : i8
  %no = arith.constant 0 : i8
  %byte = low.select %large, %yes, %no : i8
  memref.store %byte, %c[] : memref<i8>
}}
sched.program @f(%x: memref<4x3xf32>) : (tensor<4x3xf32>) -> tensor<3xf32> {{
  %c = sched.buffer global temporary : memref<i8>
  %y = sched.buffer global temporary : memref<3xf32>
  %a = sched.row %x[0] : memref<4x3xf32>
  %t = sched.launch @is_large(%a, %c) after() : memref<3xf32>, memref<i8>
  %i = sched.if %c after(%t) {{
    %b = sched.row %x[1] : memref<4x3xf32>
    %u = sched.launch @add(%a, %b, %y) after() : {LAUNCH}
  }} else {{
    %d = sched.row %x[2] : memref<4x3xf32>
    %u = sched.transfer %d to %y after() : memref<3xf32>
    %e = sched.row %x[3] : memref<4x3xf32>
  }}
  %z = sched.buffer global result : memref<3xf32>
  %last = sched.row %x[3] : memref<4x3xf32>
  %v = sched.launch @add(%y, %last, %z) after(%i) : {LAUNCH}
  sched.return %z after(%v) : memref<3xf32>
}}""",
        lambda x: (x[0] + x[1] if x[0, 0] > 10 else x[2]) + x[3],
    ),
}


def numbers(*shape: int) -> Any:
    return np.random.default_rng(3).integers(-9, 9, shape).astype(np.float32)


def arguments(name: str) -> list[Any]:
    if "loop" in name:
        return [numbers(5, 4, 3)]
    return [numbers(4, 3), numbers(4, 3) + 30]


@pytest.mark.parametrize("backend", ["reference", "llvm", "opencl"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_lie_where_their_numbers_say(name: str, backend: str) -> None:
    text, expected = PROGRAMS[name]
    if backend == "reference":
        module = parse_module(ADD + text)
        for x in arguments(name):
            np.testing.assert_array_equal(run_module(module, "f", [x])[0], expected(x))
        return
    with tenon.compile(ADD + text, backend=backend) as executable:
        for x in arguments(name) * 2:
            np.testing.assert_array_equal(executable(x), expected(x))


@needs_cc
@pytest.mark.parametrize("name", PROGRAMS)
def test_exported_programs_have_them_there(name: str, tmp_path: Path) -> None:
    text, expected = PROGRAMS[name]
    exported = tenon.export(ADD + text, tmp_path / "m")
    assert exported.library is not None
    with tenon.load(exported.library) as loaded:
        for x in arguments(name):
            np.testing.assert_array_equal(loaded(x), expected(x))


def plan_of(name: str) -> Any:
    with tenon.compile(ADD + PROGRAMS[name][0], backend="llvm") as executable:
        assert isinstance(executable, DeviceExecutable)
        return executable.program


def again(plan: Any) -> Any:
    """Returns a plan that was written and read."""
    sections: list[bytes] = []
    return decode(encode(plan, sections), sections)


def test_rows_beside_one_another_are_placed_by_one_step() -> None:
    plan = plan_of("rows that are written, and a row of a row")
    first, *others = plan.steps
    assert isinstance(first, PlaceStep) and not any(isinstance(step, PlaceStep) for step in others)
    assert [row.stride_nbytes for row in first.rows] == [0, 36, 0, 24, 0, 12, 0, 12]
    assert all(plan.buffers[row.row].kind.value == "row" for row in first.rows)
    assert again(plan).steps == plan.steps


def test_rows_are_placed_in_the_region_that_they_stand_in() -> None:
    plan = plan_of("a row of what moves with a loop")
    place, loop, inner = plan.steps[:3]
    assert isinstance(place, PlaceStep) and isinstance(loop, LoopStep) and isinstance(inner, PlaceStep)
    assert (len(place.rows), len(loop.rows), len(inner.rows)) == (2, 2, 1)
    plan = plan_of("rows behind branches")
    # Not with that of the branch before it, which only one of two ways leads to; rows without a use are none.
    assert [len(step.rows) for step in plan.steps if isinstance(step, PlaceStep)] == [1, 1, 1, 1]
    assert sum(isinstance(step, LaunchStep | CopyStep) for step in plan.steps) == 4


def test_where_rows_lie_may_depend_on_named_dims() -> None:
    text = """
graph.dim @n min 1 max 50
sched.kernel @copy(%n: index, 
    %a: memref<?xf32, {dims = #graph.dims<n>}>, %b: memref<?xf32, {dims = #graph.dims<n>}>) dims [n] {
  sched.axis %i = n {
    %v = memref.load %a[%i] : memref<?xf32, {dims = #graph.dims<n>}>
    memref.store %v, %b[%i] : memref<?xf32, {dims = #graph.dims<n>}>
  }
}
sched.program @f(%x: memref<4x?xf32, {dims = #graph.dims<4, n>}>) :
    (tensor<4x?xf32, #graph.dims<4, n>>) -> tensor<?xf32, #graph.dims<n>> {
  %y = sched.buffer global result : memref<?xf32, {dims = #graph.dims<n>}>
  %n = sched.dim @n
  %row = sched.row %x[3] : memref<4x?xf32, {dims = #graph.dims<4, n>}>
  %t = sched.launch @copy(%n, %row, %y) after() :
      index, memref<?xf32, {dims = #graph.dims<n>}>, memref<?xf32, {dims = #graph.dims<n>}>
  sched.return %y after(%t) : memref<?xf32, {dims = #graph.dims<n>}>
}"""
    for backend in ("llvm", "opencl"):
        with tenon.compile(text, backend=backend) as executable:
            for n in (7, 1, 50):
                x = numbers(4, n)
                np.testing.assert_array_equal(executable(x), x[3])
    lowered = parse_module(text)
    PassManager("low-pipeline").run(context(), lowered)
    (program,) = [op for op in lowered.ops if isinstance(op, sched.ProgramOp)]
    plan = plan_program(lowered, program)
    assert [plan.at({"n": n}).steps[0] for n in (7, 50)] == [
        PlaceStep((RowPlace(2, 0, 84),)),
        PlaceStep((RowPlace(2, 0, 600),)),
    ]
    assert again(plan).at({"n": 7}).steps == plan.at({"n": 7}).steps


NODES = """
graph.tnode @n : tensor<2x3xf32>
graph.tnode @m : tensor<2x3xf32>
sched.program @f(%x: memref<3xf32>) : (tensor<3xf32>) -> () {
  %n = sched.node @n : memref<2x3xf32>
  %m = sched.node @m : memref<2x3xf32>
  %first = sched.row %n[0] : memref<2x3xf32>
  %second = sched.row %m[1] : memref<2x3xf32>
  %t = sched.launch @add(%x, %first, %second) after() : memref<3xf32>, memref<3xf32>, memref<3xf32>
  sched.return after(%t)
}
"""


def test_rows_of_nodes_are_read_and_written_in_part() -> None:
    lowered = parse_module(ADD + NODES)
    PassManager("low-pipeline").run(context(), lowered)
    (program,) = [op for op in lowered.ops if isinstance(op, sched.ProgramOp)]
    plan = plan_program(lowered, program)
    # What is left of @m must be there before.
    assert plan.reads == ("n", "m") and plan.writes == ("m",)
    for backend in ("llvm", "opencl"):
        with tenon.compile(ADD + NODES, backend=backend) as executable:
            assert isinstance(executable, DeviceExecutable)
            nodes = executable.nodes
            nodes["n"], nodes["m"] = numbers(2, 3), np.zeros((2, 3), np.float32)
            executable(numbers(3))
            np.testing.assert_array_equal(nodes["m"], [np.zeros(3), numbers(3) + numbers(2, 3)[0]])
