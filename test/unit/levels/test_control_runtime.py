"""What runs, measures and shows programs with loops and branches."""

from typing import Any

import numpy as np
import pytest
import tenon
from tenon.backends.steps import BranchStep, CopyStep, JumpStep, LaunchStep, LoopStep, NextStep
from tenon.runtime.executables.device_executable import DeviceExecutable
from tenon.runtime.reports.kernel_statistics import kernel_statistics

SCAN = """func.func @f(%x: tensor<10x20x30xf32>, %z: tensor<30x20xf32>)
    -> (tensor<30x20xf32>, tensor<10x30x20xf32>) {
  %s, %sums = graph.scan %i = 10 (%c = %z) over (%r = %x) : (tensor<30x20xf32>, tensor<10x20x30xf32>)
      -> (tensor<30x20xf32>, tensor<10x30x20xf32>) {
    %t = graph.permute %r [1, 0] : tensor<20x30xf32>
    %n = graph.add %c, %t : tensor<30x20xf32>
    graph.yield %n, %n : tensor<30x20xf32>, tensor<30x20xf32>
  }
  func.return %s, %sums : tensor<30x20xf32>, tensor<10x30x20xf32>
}"""
"""What is read the other way around: the kernel is not merged with the copy of what it stores."""

NODES = """
graph.tnode @x : tensor<8xf32>
graph.tnode @n : tensor<i32>
graph.tnode @y : tensor<8xf32>
func.func @step() {
  %x = graph.read @x : tensor<8xf32>
  %n = graph.read @n : tensor<i32>
  %zero = graph.constant dense<0> : tensor<i32>
  %one = graph.constant dense<1> : tensor<i32>
  %k, %y = graph.while (%i = %zero, %v = %x) : (tensor<i32>, tensor<8xf32>) {
    %more = graph.lt %i, %n : tensor<i32>
    graph.condition %more
  } do (%i, %v) {
    %j = graph.add %i, %one : tensor<i32>
    %w = graph.add %v, %x : tensor<8xf32>
    graph.yield %j, %w : tensor<i32>, tensor<8xf32>
  }
  graph.write @y, %y : tensor<8xf32>
  func.return
}"""


def plan_of(text: str) -> Any:
    with tenon.compile(text, backend="llvm") as executable:
        assert isinstance(executable, DeviceExecutable)
        return executable.program


def test_a_plan_has_the_steps_of_a_loop_once():
    plan = plan_of(SCAN)
    first, loop, launch, copy, following = plan.steps
    assert isinstance(first, CopyStep) and isinstance(launch, LaunchStep) and isinstance(copy, CopyStep)
    assert isinstance(loop, LoopStep) and (loop.count, loop.end, loop.counter) == (10, 4, None)
    assert [row.stride_nbytes for row in loop.rows] == [2400, 2400]
    assert following == NextStep(1)
    assert {row.row for row in loop.rows} <= set(launch.buffers)
    assert [plan.buffers[row.row].kind.value for row in loop.rows] == ["row", "row"]


def test_a_plan_has_the_condition_of_a_while_before_its_body():
    plan = plan_of(NODES)
    kinds = [type(step) for step in plan.steps]
    branch, jump = kinds.index(BranchStep), kinds.index(JumpStep)
    assert plan.steps[branch].target == jump + 1
    assert plan.steps[jump].target < branch < jump


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_statistics_count_all_launches_of_a_loop(backend: str):
    with tenon.compile(SCAN, backend=backend) as executable:
        assert isinstance(executable, DeviceExecutable)
        x, z = np.ones((10, 20, 30), np.float32), np.zeros((30, 20), np.float32)
        with tenon.record_timeline() as timeline:
            s, _ = executable(x, z)
        np.testing.assert_array_equal(s, np.full((30, 20), 10, np.float32))
        found = kernel_statistics(executable.program, timeline.spans)
        launches = {row.name: row.launches for row in found.kernels}
        assert launches == {"@f_0": 10, "copies": 11}
        assert found.total.launches == 21
        (kernel, *_) = found.kernels
        assert kernel.cost is not None and kernel.cost.flops == 6000
        assert kernel.nanoseconds > 0


def test_plans_are_shown():
    with tenon.compile(SCAN, backend="llvm") as executable:
        assert isinstance(executable, DeviceExecutable)
        text = str(executable.memory_plan())
        assert "loop 10 times to step 4" in text and "next iteration of step 1" in text


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_routines_run_loops_over_nodes(backend: str):
    platform = tenon.open_platform(backend)
    code = platform.compile(NODES)
    x = np.arange(8, dtype=np.float32)
    context = platform.get_device(0).make_context().init_from_host(code.nodes["x"], x)
    context = context.init_from_host(code.nodes["n"], np.array(3, np.int32))
    routine = context.link(code)
    routine.run()
    np.testing.assert_array_equal(routine.context.to_host(code.nodes["y"]), 4 * x)
    assert any("go to step" in step for step in routine.schedule)


def test_threads_give_the_same_bits():
    text = SCAN.replace("10", "4").replace("20x30", "250x400").replace("30x20", "400x250")
    x = np.random.default_rng(0).random((4, 250, 400)).astype(np.float32)
    z = np.zeros((400, 250), np.float32)
    results: list[Any] = []
    before = tenon.get_num_threads() if hasattr(tenon, "get_num_threads") else 2
    with tenon.compile(text, backend="llvm") as executable:
        for n in (1, 2, 4):
            tenon.set_num_threads(n)
            results.append(executable(x, z)[1])
    tenon.set_num_threads(before)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
