import numpy as np
from tenon.dialects.modules.entry import find_entry
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.instruments.random_state import RandomState, random_state

MODULE = """
graph.tnode @w : tensor<4xf32> = dense<0.0>
graph.tnode @x : tensor<2x3x4xi32>
graph.tnode @l : tensor<4xf32> mode local
graph.tnode @v : tensor<4xf32> mode virtual
func.func @f(%i: index, %j: index, %unused: index) {
  %x = graph.read @x[%i, %j] : tensor<4xi32>
  %part = graph.read @x[%j] : tensor<3x4xi32>
  func.return
}
func.func @merging() {
  %m = graph.merge @w : tensor<4xf32>
  graph.write @w, %m : tensor<4xf32>
  func.return
}
"""


def state(name: str = "f", seed: int = 0, text: str = MODULE) -> RandomState:
    module = parse_module(text)
    return random_state(module, find_entry(module, name), seed)


def test_nodes_that_outlive_a_run_have_random_contents():
    found = state()
    assert {name: (array.shape, array.dtype) for name, array in found.nodes.items()} == {
        "w": ((4,), np.float32),
        "x": ((2, 3, 4), np.int32),
    }
    assert found.nodes["w"].all()


def test_contents_follow_from_the_name_and_the_seed_only():
    reordered = "graph.tnode @other : tensor<4xf32>\n" + MODULE
    for name in ("w", "x"):
        np.testing.assert_array_equal(state().nodes[name], state(text=reordered).nodes[name])
    assert (state(seed=1).nodes["w"] != state().nodes["w"]).any()
    assert (state(text=reordered).nodes["other"] != state().nodes["w"]).any()


def test_copies_of_nodes_may_be_changed():
    found = state()
    found.copied_nodes()["w"][0] = 100
    assert found.nodes["w"][0] != 100


def test_symbols_are_inside_of_the_axes_that_they_index():
    found = [state(seed=seed).symbols for seed in range(40)]
    assert all(list(symbols) == ["i", "j", "unused"] for symbols in found)
    assert {symbols["i"] for symbols in found} == {0, 1}
    assert {symbols["j"] for symbols in found} == {0, 1}
    assert {symbols["unused"] for symbols in found} == {0, 1, 2, 3}


def test_the_merge_buffer_is_not_what_its_node_holds():
    found = state("merging")
    assert found.merge is not None
    assert (found.merge != found.nodes["w"]).any()
    plain = MODULE.replace("%m = graph.merge @w", "%m = graph.read @w")
    assert state("merging", text=plain).merge is None
