"""Tensor nodes, the merge buffer and static symbols in the reference interpreter, at every level."""

import numpy as np
import pytest
from tenon.backends.reference.execute import run_module
from tenon.dialects import context
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.errors import CallError, TenonError
from tenon.passes.pass_manager import PassManager
from tenon.semantics.errors import InterpreterError
from xdsl.dialects.builtin import ModuleOp

NODES = """
graph.tnode @w : tensor<4xf32>
graph.tnode @x : tensor<3x4xf32>
graph.tnode @c : tensor<4xi1> = dense<[true, false, true, true]>
graph.tnode @l : tensor<4xf32> mode local
"""
LEVELS = ("graph", "sched", "low")
PIPELINES = {"graph": "", "sched": "sched-pipeline", "low": "sched-pipeline,low-pipeline"}
W = np.arange(4, dtype=np.float32)


def module_at(level: str, body: str, arguments: str = "", results: str = "") -> ModuleOp:
    module = parse_module(f"{NODES}func.func @f({arguments}){results} {{\n{body}\n}}")
    verify_module(module)
    if PIPELINES[level]:
        PassManager(PIPELINES[level]).run(context(), module)
    return module


ADD = "%w = graph.read @w : tensor<4xf32>\ngraph.write add @x[%i], %w : tensor<4xf32>\nfunc.return"


@pytest.mark.parametrize("level", LEVELS)
def test_nodes_are_changed_in_place(level: str):
    module = module_at(level, ADD, "%i: index")
    x = np.ones((3, 4), np.float32)
    nodes = {"w": W.copy(), "x": x[:, ::-1]}
    assert run_module(module, "f", [], nodes, symbols={"i": 1}) == []
    assert x.tolist() == [[1, 1, 1, 1], [4, 3, 2, 1], [1, 1, 1, 1]]
    assert nodes["w"].tolist() == W.tolist()


@pytest.mark.parametrize("level", LEVELS)
def test_a_node_that_is_not_given_is_added_with_its_initial_value(level: str):
    body = (
        "%c = graph.read @c : tensor<4xi1>\n%n = graph.not %c : tensor<4xi1>\n"
        "graph.write @c, %n : tensor<4xi1>\n%one = graph.constant dense<1.0> : tensor<4xf32>\n"
        "graph.write @w, %one : tensor<4xf32>\nfunc.return %c : tensor<4xi1>"
    )
    nodes: dict[str, np.ndarray] = {}
    (c,) = run_module(module_at(level, body, "", " -> tensor<4xi1>"), "f", [], nodes)
    assert c.tolist() == [True, False, True, True]
    assert nodes["c"].tolist() == [False, True, False, False]
    assert nodes["w"].tolist() == [1, 1, 1, 1]
    assert sorted(nodes) == ["c", "w"]


def test_local_nodes_are_new_in_each_run():
    module = module_at(
        "graph",
        "graph.write @l, %a : tensor<4xf32>\ngraph.write add @l, %a : tensor<4xf32>\n"
        "%l = graph.read @l : tensor<4xf32>\nfunc.return %l : tensor<4xf32>",
        "%a: tensor<4xf32>",
        " -> tensor<4xf32>",
    )
    nodes = {"l": W.copy()}
    (result,) = run_module(module, "f", [W], nodes)
    assert result.tolist() == [0, 2, 4, 6]
    assert nodes["l"].tolist() == W.tolist()


@pytest.mark.parametrize("level", LEVELS)
def test_the_merge_buffer_is_read(level: str):
    body = "%m = graph.merge @w : tensor<4xf32>\ngraph.write add @w, %m : tensor<4xf32>\nfunc.return"
    module = module_at(level, body)
    nodes = {"w": W.copy()}
    run_module(module, "f", [], nodes, merge=10 * W)
    assert nodes["w"].tolist() == [0, 11, 22, 33]
    with pytest.raises(InterpreterError, match=r"the merge buffer is read, but nothing was written to it$"):
        run_module(module, "f", [], nodes)
    with pytest.raises(CallError, match=r"^the merge buffer, for node @w, has shape \[3\], expected \[4\]$"):
        run_module(module, "f", [], nodes, merge=W[:3])


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_read_must_have_been_written(level: str):
    module = module_at(level, ADD, "%i: index")
    with pytest.raises(InterpreterError, match=r"node @w is read, but nothing was written to it$"):
        run_module(module, "f", [], {"x": np.zeros((3, 4), np.float32)}, symbols={"i": 0})
    with pytest.raises(InterpreterError, match=r"node @x is read, but nothing was written to it$"):
        run_module(module, "f", [], {"w": W.copy()}, symbols={"i": 0})


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("index", [-1, 3])
def test_an_index_must_be_inside_of_its_axis(level: str, index: int):
    module = module_at(level, ADD, "%i: index")
    nodes = {"w": W.copy(), "x": np.zeros((3, 4), np.float32)}
    with pytest.raises(
        InterpreterError, match=rf"index {index} is out of bounds for axis 0 of node @x, of extent 3$"
    ):
        run_module(module, "f", [], nodes, symbols={"i": index})


@pytest.mark.parametrize("level", LEVELS)
def test_arrays_must_fit_the_nodes(level: str):
    module = module_at(level, ADD, "%i: index")
    x = np.zeros((3, 4), np.float32)
    with pytest.raises(CallError, match=r"^node @w has dtype float64, expected float32$"):
        run_module(module, "f", [], {"w": W.astype(np.float64), "x": x}, symbols={"i": 0})
    with pytest.raises(CallError, match=r"^node @x has shape \[4\], expected \[3, 4\]$"):
        run_module(module, "f", [], {"w": W.copy(), "x": W.copy()}, symbols={"i": 0})


def test_symbols_must_be_those_of_the_function():
    module = module_at("graph", ADD, "%i: index")
    with pytest.raises(CallError, match=r"^f: symbol 'i' is missing$"):
        run_module(module, "f", [])
    with pytest.raises(CallError, match=r"^f: there is no symbol 'j'$"):
        run_module(module, "f", [], symbols={"i": 0, "j": 0})
    with pytest.raises(CallError, match=r"^f: takes 0 arguments, found 1$"):
        run_module(module, "f", [W], symbols={"i": 0})


def test_a_called_function_sees_the_same_nodes_and_symbols():
    module = parse_module(
        f"""{NODES}
func.func private @add(%i: index) {{
{ADD}
}}
func.func @twice(%j: index) {{
  func.call @add(%j) : (index) -> ()
  func.call @add(%j) : (index) -> ()
  func.return
}}
"""
    )
    verify_module(module)
    nodes = {"w": W.copy(), "x": np.zeros((3, 4), np.float32)}
    run_module(module, "twice", [], nodes, symbols={"j": 2})
    assert nodes["x"][2].tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize("target", ["transfer", "launch"])
def test_the_merge_buffer_is_not_written(target: str):
    item = {
        "transfer": "sched.transfer %w to %m after() : memref<4xf32>",
        "launch": "sched.launch @clear(%m) after() : memref<4xf32>",
    }[target]
    module = parse_module(
        f"""{NODES}
sched.kernel @clear(%y: memref<4xf32>) {{
  %zero = arith.constant 0.0 : f32
  sched.axis %i = 4 {{
    memref.store %zero, %y[%i] : memref<4xf32>
  }}
}}
sched.program @p() : () -> () {{
  %w = sched.node @w : memref<4xf32>
  %m = sched.merge_buffer @w : memref<4xf32>
  %t = {item}
  sched.return after()
}}
"""
    )
    verify_module(module)
    with pytest.raises(TenonError, match=rf"^sched.{target}: @p writes to its merge buffer 'm'$"):
        run_module(module, "p", [], {"w": W.copy()}, merge=W)
