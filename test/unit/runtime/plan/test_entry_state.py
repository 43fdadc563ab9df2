import numpy as np
from tenon.dialects import context, memory_modes
from tenon.dialects.modules.entry import find_entry
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.pass_manager import PassManager
from tenon.runtime.plan.entry_state import nodes_of, symbols_of
from tenon.runtime.plan.program_plan import NodePlan, SymbolPlan
from tenon.runtime.plan.signature import ArrayType

MODULE = """
graph.tnode @w : tensor<4xf32> mode hosted(volatile) = dense<2.0>
graph.tnode @x : tensor<2x3x4xf32>
graph.tnode @other : tensor<4xf32>
graph.tnode @called : tensor<4xi1>
graph.tnode @l : tensor<4xf32> mode local
func.func private @callee(%c: tensor<4xi1>) {
  graph.write @called, %c : tensor<4xi1>
  func.return
}
func.func @f(%i: index, %c: tensor<4xi1>, %j: index, %unused: index) {
  %x = graph.read @x[%j, %i] : tensor<4xf32>
  %y = graph.read @x[%i] : tensor<3x4xf32>
  graph.write @l, %x : tensor<4xf32>
  %m = graph.merge @w : tensor<4xf32>
  func.call @callee(%c) : (tensor<4xi1>) -> ()
  func.return
}
func.func @g() {
  %o = graph.read @other : tensor<4xf32>
  func.return
}
"""


def test_symbols_have_the_bounds_of_all_that_they_index():
    module = parse_module(MODULE)
    expected = (SymbolPlan("i", 2, 0), SymbolPlan("j", 2, 2), SymbolPlan("unused", None, 3))
    found = symbols_of(find_entry(module, "f"))
    assert found == expected
    assert [symbol.position for symbol in found] == [0, 2, 3]
    assert symbols_of(find_entry(module, "g")) == ()


def test_nodes_are_those_of_the_function_and_what_it_calls():
    module = parse_module(MODULE)
    verify_module(module)
    w, x, called = nodes_of(module, find_entry(module, "f"))
    assert w == NodePlan("w", ArrayType(np.dtype(np.float32), (4,)), 16, memory_modes.HOSTED_VOLATILE)
    assert w.initial is not None
    assert w.initial.tolist() == [2, 2, 2, 2]
    assert x == NodePlan("x", ArrayType(np.dtype(np.float32), (2, 3, 4)), 96)
    assert called == NodePlan("called", ArrayType(np.dtype(np.bool_), (4,)), 4)
    (other,) = nodes_of(module, find_entry(module, "g"))
    assert other.name == "other"


def test_a_program_has_what_its_function_had():
    text = """
graph.tnode @w : tensor<4xf32>
graph.tnode @x : tensor<2x3x4xf32>
func.func @f(%i: index, %v: tensor<4xf32>, %j: index) {
  graph.write @x[%i, %j], %v : tensor<4xf32>
  %m = graph.merge @w : tensor<4xf32>
  graph.write add @x[%j, %j], %m : tensor<4xf32>
  func.return
}
"""
    module = parse_module(text)
    entry = find_entry(module, "f")
    before = (symbols_of(entry), nodes_of(module, entry))
    assert before[0] == (SymbolPlan("i", 2), SymbolPlan("j", 2))
    PassManager("default-pipeline").run(context(), module)
    entry = find_entry(module, "f")
    assert (symbols_of(entry), nodes_of(module, entry)) == before
