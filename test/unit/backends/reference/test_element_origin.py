"""Which op, of which values, an element of a result is said to come from."""

import re
from typing import Any

import numpy as np
import pytest
from tenon import PassManager, parse_module
from tenon.backends.reference.element_origin import element_origin
from tenon.dialects import context

GRAPH = """\
graph.tnode @n : tensor<2x2xf32>
func.func @f(%x: tensor<2x2xf32>, %i: index) -> (tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>) {
  %y = graph.neg %x : tensor<2x2xf32>
  %s = graph.reduce add %y axes [1] : tensor<2x2xf32> -> tensor<2xf32>
  %true = graph.constant dense<true> : tensor<i1>
  %z = graph.if %true -> (tensor<2xf32>) {
    %e = graph.abs %s : tensor<2xf32>
    graph.yield %e : tensor<2xf32>
  } else {
    graph.yield %s : tensor<2xf32>
  }
  graph.write @n[%i], %s : tensor<2xf32>
  func.return %s, %x, %z : tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>
}
"""
X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


def origin(result: int | str, *index: int, text: str = GRAPH, inputs: Any = (X,), pipeline: str = "") -> Any:
    module = parse_module(text, "f.mlir")
    PassManager(pipeline).run(context(), module)
    nodes = {"n": np.zeros((2, 2), np.float32)} if "@n" in text else {}
    symbols = {"i": 1} if "@n" in text else {}
    return list(element_origin(module, "f", inputs, nodes, None, symbols, result, index))


@pytest.mark.parametrize("pipeline", ["", "canonicalize-graph"])
def test_a_small_operand_of_another_shape_is_shown_whole(pipeline: str):
    expected = "%s = graph.reduce at f.mlir:4:8 of %y = [[-1.0, -2.0], [-3.0, -4.0]]"
    assert origin(0, 1, pipeline=pipeline) == [expected]


def test_an_argument_comes_from_no_op():
    assert origin(1, 0, 1) == []


def test_the_op_in_a_region_is_told_not_the_one_around_it():
    assert origin(2, 1)[0] == "%e = graph.abs at f.mlir:7:10 of %s = -7.0"


def test_a_node_comes_from_the_write_that_covers_the_element():
    assert origin("n", 1, 0)[0].startswith("%s = graph.reduce at f.mlir:4:8")
    assert origin("n", 0, 0) == []


MASKED = """\
func.func @f(%x: tensor<11xf32>) -> tensor<11xf32> {
  %c = graph.constant dense<0.5> : tensor<11xf32>
  %y = graph.mul %x, %c : tensor<11xf32>
  func.return %y : tensor<11xf32>
}
"""


@pytest.mark.parametrize(
    "pipeline",
    [
        "sched-pipeline",
        "default-pipeline{vector-nbytes=16}",
        "default-pipeline{target=gpu max-items=4}",
        "graph-pipeline,convert-graph-to-sched",
    ],
)
@pytest.mark.parametrize("index", [0, 5, 10])
def test_the_lane_and_the_work_item_are_found(pipeline: str, index: int):
    x = np.arange(11, dtype=np.float32) + 1
    store, computed, *_ = origin(0, index, text=MASKED, inputs=(x,), pipeline=pipeline)
    assert re.match(rf"(memref|vector)\.store at f.mlir:3:8 of %\w+ = {(index + 1) / 2}\b", store)
    assert re.match(rf"%\w+ = arith.mulf at f.mlir:3:8 of .*= {float(index + 1)}\b", computed)


def test_a_node_of_a_program_is_watched_where_it_lies():
    text = """\
graph.tnode @n : tensor<2x2xf32>
func.func @f(%x: tensor<2xf32>, %i: index) {
  %y = graph.neg %x : tensor<2xf32>
  graph.write @n[%i], %y : tensor<2xf32>
  func.return
}
"""
    found = origin("n", 1, 1, text=text, inputs=(X[0],), pipeline="default-pipeline")
    assert "= -2.0" in found[0] and "arith.negf" in found[1]
    assert origin("n", 0, 1, text=text, inputs=(X[0],), pipeline="default-pipeline") == []


def test_a_transfer_is_where_what_it_copied_comes_from():
    text = """\
func.func @f(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  func.return %x : tensor<2x2xf32>
}
"""
    (found,) = origin(0, 1, 1, text=text, pipeline="default-pipeline")
    assert found.startswith("sched.transfer")


UPDATED = """\
low.kernel @k(%x: memref<4xf32>, %y: memref<1xf32>) grid [4, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%i] : memref<4xf32>
  %old = low.atomic_rmw assign %v, %y[%c0] : memref<1xf32>
}
sched.program @f(%x: memref<4xf32>) : (tensor<4xf32>) -> tensor<1xf32> {
  %y = sched.buffer global result : memref<1xf32>
  %t = sched.launch @k(%x, %y) after() : memref<4xf32>, memref<1xf32>
  sched.return %y after(%t) : memref<1xf32>
}
"""


def test_an_element_that_work_items_update_comes_from_the_update():
    found = origin(0, 0, text=UPDATED, inputs=(np.arange(4, dtype=np.float32),))
    assert found == ["low.atomic_rmw at f.mlir:5:10"]
