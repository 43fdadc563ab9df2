import numpy as np
import pytest
from tenon.dialects.modules.entry import find_entry
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import TenonError
from tenon.tools.run.run_state import RunState, run_state

MODULE = """
graph.tnode @count : tensor<i32> = dense<7>
graph.tnode @w : tensor<3xf32>
func.func @f(%i: index, %v: tensor<f32>, %j: index) {
  %c = graph.read @count : tensor<i32>
  graph.write @w[%i], %v : tensor<f32>
  graph.write @w[%j], %v : tensor<f32>
  func.return
}
"""


def state(given: dict[str, np.ndarray] | None = None, *symbols: tuple[str, int]) -> RunState:
    module = parse_module(MODULE)
    return run_state(module, find_entry(module, "f"), given or {}, symbols, 0)


def test_what_is_given_wins_then_initial_values_then_random_ones():
    w = np.arange(3, dtype=np.float32)
    found = state({"w": w}, ("j", 2))
    assert (found.nodes["w"].tolist(), found.nodes["count"].tolist()) == ([0, 1, 2], 7)
    assert found.symbols["j"] == 2
    assert 0 <= found.symbols["i"] < 3
    assert state({"count": np.array(3, np.int32)}).nodes["count"] == 3
    assert state().nodes["w"].all()


def test_symbols_stand_among_the_arguments():
    module = parse_module(MODULE)
    entry = find_entry(module, "f")
    assert state({}, ("i", 1), ("j", 2)).with_symbols(entry, ["v"]) == [1, "v", 2]


def test_what_does_not_fit_is_an_error():
    with pytest.raises(TenonError, match=r"^f: node 'w' is float32\[3\], found float64\[3\]$"):
        state({"w": np.zeros(3)})
    with pytest.raises(TenonError, match=r"^f: there is no symbol 'k' \(symbols: i, j\)$"):
        state({}, ("k", 0))
