"""Nodes that are read and written in loops and branches."""

from typing import Any

import numpy as np
import pytest
import tenon
from tenon.backends.reference.execute import run_module
from tenon.dialects import context
from tenon.dialects.modules.parsing import parse_module
from tenon.passes import pipeline

TEXT = """
graph.tnode @w : tensor<4xf32> = dense<1.0>
graph.tnode @v : tensor<3x4xf32> = dense<1.0>
graph.tnode @n : tensor<i32> = dense<0>
func.func @f(%x: tensor<4xf32>, %j: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %w = graph.read @w : tensor<4xf32>
  %one = graph.constant dense<1> : tensor<i32>
  %two = graph.constant dense<2> : tensor<i32>
  %a = graph.scan %i = 3 (%c = %x) : (tensor<4xf32>) -> (tensor<4xf32>) {
    %u = graph.read @w : tensor<4xf32>
    %v = graph.read @v[%j] : tensor<4xf32>
    %s = graph.add %c, %u : tensor<4xf32>
    graph.write @w, %s : tensor<4xf32>
    graph.write add @v[%j], %v : tensor<4xf32>
    %n = graph.read @n : tensor<i32>
    %m = graph.add %n, %one : tensor<i32>
    %few = graph.lt %n, %two : tensor<i32>
    graph.if %few -> () {
      graph.write @n, %m : tensor<i32>
      graph.yield
    } else {
      graph.write @v[%j], %s : tensor<4xf32>
      graph.yield
    }
    graph.yield %s : tensor<4xf32>
  }
  %w2 = graph.read @w : tensor<4xf32>
  %w3 = graph.add %w2, %w : tensor<4xf32>
  func.return %a, %w3 : tensor<4xf32>, tensor<4xf32>
}
"""


def run_twice(run: Any) -> tuple[list[Any], dict[str, Any]]:
    nodes: dict[str, Any] = {}
    x = np.arange(4, dtype=np.float32)
    return [*run(x, nodes), *run(x + 1, nodes)], nodes


def test_every_level_reads_and_writes_the_same():
    module = parse_module(TEXT, "t.mlir")
    module.verify()

    def run(x: Any, nodes: dict[str, Any]) -> list[Any]:
        return run_module(module, "f", [x], nodes, symbols={"j": 1})

    expected, nodes = run_twice(run)
    assert nodes["n"] == 2
    for passes in pipeline.phases().values():
        for each in passes:
            each.apply(context(), module)
            module.verify()
            found, after = run_twice(run)
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b, err_msg=each.name)
            for name, array in nodes.items():
                np.testing.assert_array_equal(after[name], array, err_msg=each.name)


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_backends_read_and_write_the_same(backend: str):
    module = parse_module(TEXT, "t.mlir")
    expected, nodes = run_twice(lambda x, nodes: run_module(module, "f", [x], nodes, symbols={"j": 1}))
    with tenon.compile(TEXT, backend=backend) as executable:
        x = np.arange(4, dtype=np.float32)
        found = [*executable(x, j=1), *executable(x + 1, j=1)]
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
        for name, array in nodes.items():
            np.testing.assert_array_equal(executable.nodes[name], array)


def test_a_local_node_is_read_in_the_region_that_it_is_written_in():
    text = """
    graph.tnode @t : tensor<4xf32> mode local
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = graph.scan %i = 3 (%c = %x) : (tensor<4xf32>) -> (tensor<4xf32>) {
        graph.write @t, %c : tensor<4xf32>
        %t = graph.read @t : tensor<4xf32>
        %s = graph.add %t, %x : tensor<4xf32>
        graph.yield %s : tensor<4xf32>
      }
      func.return %a : tensor<4xf32>
    }"""
    x = np.arange(4, dtype=np.float32)
    with tenon.compile(text, backend="llvm") as executable:
        np.testing.assert_array_equal(executable(x), 4 * x)
    text = text.replace("%a = graph.scan", "graph.write @t, %x : tensor<4xf32>\n %a = graph.scan").replace(
        "graph.write @t, %c : tensor<4xf32>\n", ""
    )
    with pytest.raises(tenon.TenonError, match=r"graph\.write: node @t is local, and is written and read in"):
        tenon.compile(text, backend="llvm")


VIRTUAL = """
graph.tnode @v : tensor<4xf32> mode virtual
graph.tnode @w : tensor<4xf32> = dense<2.0>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = graph.read @w : tensor<4xf32>
  %e = graph.neg %w : tensor<4xf32>
  graph.write @v, %e : tensor<4xf32>
  %a = graph.scan %i = 3 (%c = %x) : (tensor<4xf32>) -> (tensor<4xf32>) {
    %v = graph.read @v : tensor<4xf32>
    %s = graph.add %c, %v : tensor<4xf32>
    graph.yield %s : tensor<4xf32>
  }
  func.return %a : tensor<4xf32>
}"""


def test_a_virtual_node_is_read_in_a_loop():
    x = np.arange(4, dtype=np.float32)
    for backend in ("reference", "llvm"):
        with tenon.compile(VIRTUAL, backend=backend) as executable:
            np.testing.assert_array_equal(executable(x), x - 6)


def test_a_virtual_node_is_not_written_in_a_loop():
    text = VIRTUAL.replace("%s = graph.add", "graph.write @v, %c : tensor<4xf32>\n %s = graph.add")
    text = text.replace("  graph.write @v, %e : tensor<4xf32>\n", "")
    with pytest.raises(tenon.TenonError, match=r"graph\.write: virtual node @v is written in a region"):
        tenon.compile(text, backend="llvm")
