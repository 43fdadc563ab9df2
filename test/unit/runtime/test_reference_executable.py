import numpy as np
import pytest
import tenon
from tenon.errors import CallError, TenonError
from tenon.runtime.executables.reference_executable import ReferenceExecutable

COUNTER = """
graph.tnode @count : tensor<i32> = dense<7>
graph.tnode @rows : tensor<3x2xf32>
func.func @step(%v: tensor<2xf32>, %i: index) -> tensor<2xf32> {
  %one = graph.constant dense<1> : tensor<i32>
  graph.write add @count, %one : tensor<i32>
  graph.write add @rows[%i], %v : tensor<2xf32>
  %row = graph.read @rows[%i] : tensor<2xf32>
  func.return %row : tensor<2xf32>
}
"""
V = np.array([1, 2], np.float32)
LEVELS = (None, "graph", "sched", "low")


def counter(level: str | None) -> ReferenceExecutable:
    executable = tenon.compile(COUNTER, backend="reference", level=level)
    assert isinstance(executable, ReferenceExecutable)
    return executable


@pytest.mark.parametrize("level", LEVELS)
def test_nodes_keep_their_values_from_call_to_call(level: str | None):
    executable = counter(level)
    assert executable.nodes["count"] == 7
    executable.nodes["rows"] = np.zeros((3, 2), np.float32)
    assert executable(V, 2).tolist() == [1, 2]
    assert executable(V, i=2).tolist() == [2, 4]
    assert executable.nodes["count"] == 9
    assert executable.nodes["count"].shape == ()
    assert executable.nodes["rows"].tolist() == [[0, 0], [0, 0], [2, 4]]


@pytest.mark.parametrize("level", LEVELS)
def test_a_call_that_fails_leaves_the_nodes_as_they_were(level: str | None):
    executable = counter(level)
    with pytest.raises(TenonError, match=r"node @rows is read, but nothing was written to it$"):
        executable(V, 0)
    assert executable.nodes["count"] == 7
    with pytest.raises(CallError, match=r"^step: symbol 'i' is 3, expected 0 to 2$"):
        executable(V, 3)


def test_nodes_are_copies():
    executable = counter(None)
    rows = np.zeros((3, 2), np.float32)
    executable.nodes["rows"] = rows
    rows[0] = 5
    executable.nodes["rows"][1] = 5
    executable(V, 0)
    assert executable.nodes["rows"].tolist() == [[1, 2], [0, 0], [0, 0]]
    assert rows[0].tolist() == [5, 5]


def test_executables_of_one_program_have_nodes_of_their_own():
    first, second = counter(None), counter(None)
    for executable in (first, second):
        executable.nodes["rows"] = np.zeros((3, 2), np.float32)
    first(V, 0)
    assert (int(first.nodes["count"]), int(second.nodes["count"])) == (8, 7)
