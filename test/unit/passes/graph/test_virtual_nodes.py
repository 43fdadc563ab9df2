import warnings

import numpy as np
import pytest
import tenon
from tenon.backends.reference.execute import run_module
from tenon.dialects.modules.parsing import verify_module
from tenon.errors import ContextError
from tenon.passes.graph.virtual_nodes import extract_virtual, inline_virtual
from tenon.test.kernels import parsed
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import PassFailedException

NODES = """
graph.tnode @x : tensor<4xf32>
graph.tnode @rows : tensor<3x4xf32>
graph.tnode @v : tensor<4xf32> mode virtual
graph.tnode @u : tensor<4xf32> mode virtual
graph.tnode @l : tensor<4xf32> mode local
"""
WRITER = """
func.func @writer() {
  %x = graph.read @x : tensor<4xf32>
  %e = graph.add %x, %x : tensor<4xf32>
  %unused = graph.exp %x : tensor<4xf32>
  graph.write @v, %e : tensor<4xf32>
  %v = graph.read @v : tensor<4xf32>
  %n = graph.neg %v : tensor<4xf32>
  graph.write @u, %n : tensor<4xf32>
  func.return
}
"""
READER = """
graph.tnode @u : tensor<4xf32> mode virtual
graph.tnode @y : tensor<4xf32>
func.func @reader() {
  %u = graph.read @u : tensor<4xf32>
  graph.write @y, %u : tensor<4xf32>
  func.return
}
"""


def computations(body: str, arguments: str = "") -> dict[str, FuncOp]:
    return extract_virtual(parsed(f"{NODES}func.func @f({arguments}) {{\n{body}\nfunc.return\n}}"))


def test_a_computation_is_a_function_of_what_is_needed():
    found = extract_virtual(parsed(NODES + WRITER))
    assert list(found) == ["v", "u"]
    assert [op.name for op in found["v"].body.block.ops] == ["graph.read", "graph.add", "func.return"]
    names = [op.name for op in found["u"].body.block.ops]
    assert names == ["graph.read", "graph.add", "graph.neg", "func.return"]
    assert str(found["u"]).startswith("func.func private @u() -> tensor<4xf32> {")


def test_a_computation_runs_in_a_later_module():
    module = parsed(READER)
    inline_virtual(module, extract_virtual(parsed(NODES + WRITER)))
    verify_module(module)
    assert "virtual" not in str(module)
    nodes = {"x": np.arange(4, dtype=np.float32)}
    run_module(module, "reader", [], nodes)
    assert nodes["y"].tolist() == [0, -2, -4, -6]


def test_a_computation_may_go_through_a_virtual_node_of_an_earlier_module():
    first = extract_virtual(parsed(NODES + WRITER))
    second = extract_virtual(
        parsed(
            """
graph.tnode @v : tensor<4xf32> mode virtual
graph.tnode @z : tensor<4xf32> mode virtual
func.func @f() {
  %v = graph.read @v : tensor<4xf32>
  %z = graph.mul %v, %v : tensor<4xf32>
  graph.write @z, %z : tensor<4xf32>
  func.return
}
"""
        )
    )
    module = parsed(
        """
graph.tnode @z : tensor<4xf32> mode virtual
func.func @g() -> (tensor<4xf32>, tensor<4xf32>) {
  %z = graph.read @z : tensor<4xf32>
  %again = graph.read @z : tensor<4xf32>
  func.return %z, %again : tensor<4xf32>, tensor<4xf32>
}
"""
    )
    inline_virtual(module, {**first, **second})
    verify_module(module)
    assert str(module).count("graph.mul") == 1
    (z, again) = run_module(module, "g", [], {"x": np.arange(4, dtype=np.float32)})
    assert z.tolist() == again.tolist() == [0, 4, 16, 36]


def test_a_computation_may_go_through_a_local_node():
    found = computations(
        """
  %x = graph.read @x : tensor<4xf32>
  graph.write @l, %x : tensor<4xf32>
  %n = graph.neg %x : tensor<4xf32>
  graph.write @l, %n : tensor<4xf32>
  %l = graph.read @l : tensor<4xf32>
  graph.write @u, %l : tensor<4xf32>"""
    )["u"]
    assert [op.name for op in found.body.block.ops] == ["graph.read", "graph.neg", "func.return"]
    module = parsed(READER)
    inline_virtual(module, {"u": found})
    verify_module(module)
    nodes = {"x": np.arange(4, dtype=np.float32)}
    run_module(module, "reader", [], nodes)
    assert nodes["y"].tolist() == [0, -1, -2, -3]


OBSTACLES = {
    "argument": (
        "graph.write @v, %a : tensor<4xf32>",
        "%a: tensor<4xf32>",
        "it depends on an argument of its function",
    ),
    "symbol": (
        "%r = graph.read @rows[%i] : tensor<4xf32>\ngraph.write @v, %r : tensor<4xf32>",
        "%i: index",
        "it depends on which part of @rows is read",
    ),
    "merge": (
        "%r = graph.merge @x : tensor<4xf32>\ngraph.write @v, %r : tensor<4xf32>",
        "",
        "it depends on a graph.merge",
    ),
    "overwritten": (
        "%r = graph.read @x : tensor<4xf32>\ngraph.write @v, %r : tensor<4xf32>\n"
        "graph.write add @x, %r : tensor<4xf32>",
        "",
        "@x, which it reads, is overwritten afterwards",
    ),
    "overwritten virtual": (
        "%r = graph.read @u : tensor<4xf32>\ngraph.write @v, %r : tensor<4xf32>\n"
        "graph.write @u, %r : tensor<4xf32>",
        "",
        "@u, which it reads, is overwritten afterwards",
    ),
    "called": (
        "%r = graph.read @x : tensor<4xf32>\ngraph.write @v, %r : tensor<4xf32>\nfunc.call @f() : () -> ()",
        "",
        "@x, which it reads, is overwritten afterwards",
    ),
    "added to local": (
        "%r = graph.read @x : tensor<4xf32>\ngraph.write @l, %r : tensor<4xf32>\n"
        "graph.write add @l, %r : tensor<4xf32>\n%l = graph.read @l : tensor<4xf32>\n"
        "graph.write @v, %l : tensor<4xf32>",
        "",
        "what it reads of @l, which is local, was not written at once",
    ),
    "local around a call": (
        "%r = graph.read @x : tensor<4xf32>\ngraph.write @l, %r : tensor<4xf32>\n"
        "func.call @f() : () -> ()\n%l = graph.read @l : tensor<4xf32>\n"
        "graph.write @v, %l : tensor<4xf32>",
        "",
        "what it reads of @l, which is local, was not written at once",
    ),
}


@pytest.mark.parametrize("name", OBSTACLES)
def test_what_cannot_be_computed_elsewhere_is_an_error_there_only(name: str):
    body, arguments, obstacle = OBSTACLES[name]
    found = computations(body, arguments)["v"]
    assert found.is_declaration
    module = parsed(READER.replace("@u", "@v"))
    with pytest.raises(PassFailedException) as error:
        inline_virtual(module, {"v": found})
    assert str(error.value) == f"graph.read: virtual node @v cannot be computed here: {obstacle}"


def test_a_virtual_node_that_nothing_writes_is_an_error():
    with pytest.raises(
        PassFailedException,
        match=r"^graph.read: virtual node @u is read, but nothing is known to write it$",
    ):
        inline_virtual(parsed(READER), {})


def test_a_virtual_node_is_written_once():
    twice = "%r = graph.read @x : tensor<4xf32>\n" + "graph.write @v, %r : tensor<4xf32>\n" * 2
    with pytest.raises(PassFailedException, match=r"^graph.write: virtual node @v is written twice in @f$"):
        computations(twice)
    with pytest.raises(PassFailedException, match=r"^graph.write add: virtual node @v cannot be added to$"):
        computations("%r = graph.read @x : tensor<4xf32>\ngraph.write add @v, %r : tensor<4xf32>")
    with pytest.raises(
        PassFailedException, match=r"^graph.write: virtual node @v is written by two functions$"
    ):
        extract_virtual(parsed(NODES + WRITER + WRITER.replace("@writer", "@other")))


def test_what_a_computation_reads_must_not_be_overwritten_before():
    found = extract_virtual(parsed(NODES + WRITER))
    before = """
graph.tnode @u : tensor<4xf32> mode virtual
graph.tnode @x : tensor<4xf32>
func.func @clear(%c: tensor<4xf32>) {
  graph.write @x, %c : tensor<4xf32>
  func.return
}
func.func @reader(%c: tensor<4xf32>) -> tensor<4xf32> {
"""
    after = "\n  %u = graph.read @u : tensor<4xf32>\n  func.return %u : tensor<4xf32>\n}"
    message = r"^graph.read: virtual node @u is computed from @x, which is overwritten before$"
    for overwrite in ("graph.write @x, %c : tensor<4xf32>", "func.call @clear(%c) : (tensor<4xf32>) -> ()"):
        with pytest.raises(PassFailedException, match=message):
            inline_virtual(parsed(before + overwrite + after), found)


def test_what_a_computation_reads_has_one_type():
    found = extract_virtual(parsed(NODES + WRITER))
    with pytest.raises(
        PassFailedException,
        match=r"^graph.read: virtual node @u is computed from @x of type tensor<4xf32>, which is "
        r"tensor<5xf32> here$",
    ):
        inline_virtual(parsed("graph.tnode @x : tensor<5xf32>" + READER), found)


def test_a_node_that_is_computed_from_itself_is_an_error():
    itself = computations("%u = graph.read @u : tensor<4xf32>\ngraph.write @v, %u : tensor<4xf32>")["v"]
    other = READER.replace("@u", "@v")
    of_v = extract_virtual(
        parsed(other.replace("@y : tensor<4xf32>\n", "@u : tensor<4xf32> mode virtual\n").replace("@y", "@u"))
    )
    with pytest.raises(PassFailedException, match=r"^graph.read: virtual node @v is computed from itself$"):
        inline_virtual(parsed(other), {"v": itself, **of_v})


DOUBLE = """
graph.tnode @x : tensor<4xf32> mode on_device
graph.tnode @v : tensor<4xf32> mode virtual
func.func @double() {
  %x = graph.read @x : tensor<4xf32>
  %v = graph.add %x, %x : tensor<4xf32>
  graph.write @v, %v : tensor<4xf32>
  func.return
}
"""


def test_a_virtual_node_that_is_computed_otherwise_than_before_is_warned_of():
    platform = tenon.open_platform("reference")
    first = platform.compile(DOUBLE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        renamed = DOUBLE.replace("@double", "@again").replace("%v", "%sum")
        platform.compile(renamed, optimize_context=first.optimize_context)
    other = DOUBLE.replace("@double", "@square").replace("graph.add", "graph.mul")
    with pytest.warns(
        RuntimeWarning, match="@square: virtual node @v is not computed as in an earlier program"
    ):
        platform.compile(other, optimize_context=first.optimize_context)


def test_a_name_stands_for_one_node():
    platform = tenon.open_platform("reference")
    one, other = (
        tenon.TensorNode.create("f4", dims=[4], label="x", memory_mode="on_device", code_name="x")
        for _ in range(2)
    )
    first = platform.compile(DOUBLE, nodes=[one, one])
    again = platform.compile(DOUBLE, nodes=[one], optimize_context=first.optimize_context)
    assert again.nodes["x"] is one
    with pytest.raises(ContextError, match=r"compile: @x is the name of .* and of "):
        platform.compile(DOUBLE, nodes=[one, other])
    # The computation of @v reads the node that the first program called @x.
    with pytest.raises(ContextError, match=r"compile: @x is the name of .* and of "):
        platform.compile(DOUBLE, nodes=[other], optimize_context=first.optimize_context)
