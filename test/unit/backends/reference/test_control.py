"""The interpreter of control flow at `graph`."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tenon.backends.reference.graph import run_graph
from tenon.dialects.modules.parsing import parse_module
from tenon.semantics.errors import InterpreterError

Array = npt.NDArray[Any]


def run(text: str, *inputs: Array) -> list[Array]:
    module = parse_module(text, "t.mlir")
    module.verify()
    return run_graph(module, "f", inputs)


BRANCH = """func.func @f(%c: tensor<i1>, %x: tensor<3xf64>) -> tensor<3xf64> {
  %y = graph.if %c -> (tensor<3xf64>) {
    %n = graph.neg %x : tensor<3xf64>
    graph.yield %n : tensor<3xf64>
  } else {
    graph.yield %x : tensor<3xf64>
  }
  func.return %y : tensor<3xf64>
}"""


@pytest.mark.parametrize("condition", [True, False])
def test_an_if_gives_what_the_chosen_region_yields(condition: bool):
    x = np.arange(3.0)
    (y,) = run(BRANCH, np.array(condition), x)
    np.testing.assert_array_equal(y, -x if condition else x)


def test_only_the_chosen_region_is_run():
    text = """graph.tnode @w : tensor<3xf64> = dense<0.0>
    func.func @f(%c: tensor<i1>, %x: tensor<3xf64>) -> tensor<3xf64> {
      graph.if %c -> () {
        graph.write @w, %x : tensor<3xf64>
        graph.yield
      } else {
        graph.yield
      }
      %w = graph.read @w : tensor<3xf64>
      func.return %w : tensor<3xf64>
    }"""
    x = np.arange(3.0)
    np.testing.assert_array_equal(run(text, np.array(True), x)[0], x)
    np.testing.assert_array_equal(run(text, np.array(False), x)[0], np.zeros(3))


SWAPS = """func.func @f(%n: tensor<i32>, %a: tensor<2xf32>, %b: tensor<2xf32>)
    -> (tensor<i32>, tensor<2xf32>, tensor<2xf32>) {
  %zero = graph.constant dense<0> : tensor<i32>
  %one = graph.constant dense<1> : tensor<i32>
  %i, %c, %d = graph.while (%i = %zero, %x = %a, %y = %b) : (tensor<i32>, tensor<2xf32>, tensor<2xf32>) {
    %more = graph.lt %i, %n : tensor<i32>
    graph.condition %more
  } do (%i, %x, %y) {
    %j = graph.add %i, %one : tensor<i32>
    graph.yield %j, %y, %x : tensor<i32>, tensor<2xf32>, tensor<2xf32>
  }
  func.return %i, %c, %d : tensor<i32>, tensor<2xf32>, tensor<2xf32>
}"""


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_while_carries_all_values_at_once(count: int):
    a, b = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    i, c, d = run(SWAPS, np.array(count, np.int32), a, b)
    assert i == count
    np.testing.assert_array_equal(c, b if count % 2 else a)
    np.testing.assert_array_equal(d, a if count % 2 else b)


def scan(length: int, reverse: bool) -> str:
    return f"""func.func @f(%x: tensor<{length}x2xf64>, %z: tensor<2xf64>)
        -> (tensor<2xf64>, tensor<{length}x2xf64>, tensor<{length}xi64>) {{
      %s, %sums, %k = graph.scan %i = {length} {"reverse " if reverse else ""}(%c = %z) over (%r = %x)
          : (tensor<2xf64>, tensor<{length}x2xf64>)
          -> (tensor<2xf64>, tensor<{length}x2xf64>, tensor<{length}xi64>) {{
        %n = graph.add %c, %r : tensor<2xf64>
        graph.yield %n, %n, %i : tensor<2xf64>, tensor<2xf64>, tensor<i64>
      }}
      func.return %s, %sums, %k : tensor<2xf64>, tensor<{length}x2xf64>, tensor<{length}xi64>
    }}"""


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 4])
def test_a_scan_carries_slices_and_stacks(length: int, reverse: bool):
    x, z = np.arange(2.0 * length).reshape(length, 2), np.array([0.5, 0.25])
    s, sums, k = run(scan(length, reverse), x, z)
    ordered = x[::-1] if reverse else x
    expected = z + np.cumsum(ordered, axis=0)
    np.testing.assert_array_equal(sums, expected[::-1] if reverse else expected)
    np.testing.assert_array_equal(s, expected[-1] if length else z)
    np.testing.assert_array_equal(k, np.arange(length))


def test_a_scan_refuses_an_extent_that_differs_at_run_time():
    text = """func.func @f(%x: tensor<?xf64>) {
      graph.scan %i = 3 () over (%r = %x) : (tensor<?xf64>) -> () {
        graph.yield
      }
      func.return
    }"""
    run(text, np.zeros(3))
    with pytest.raises(InterpreterError, match=r"input 0 has extent 4 along axis 0 at run time, expected 3"):
        run(text, np.zeros(4))


def test_a_stack_of_no_iterations_must_have_known_extents():
    text = """func.func @f(%x: tensor<?xf64>) {
      %y = graph.scan %i = 0 () : () -> (tensor<0x?xf64>) {
        graph.yield %x : tensor<?xf64>
      }
      func.return
    }"""
    with pytest.raises(InterpreterError, match=r"nothing tells the extents of tensor<0x\?xf64>"):
        run(text, np.zeros(3))


@pytest.mark.parametrize("marker", ["detach", "materialize"])
def test_markers_give_their_operand(marker: str):
    x = np.arange(3.0)
    (y,) = run(
        f"""func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {{
          %y = graph.{marker} %x : tensor<3xf64>
          func.return %y : tensor<3xf64>
        }}""",
        x,
    )
    np.testing.assert_array_equal(y, x)
