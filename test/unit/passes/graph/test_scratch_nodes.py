"""Which nodes no function can tell to be kept, and what compiling for contexts makes of that."""

import numpy as np
import pytest
import tenon
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import ContextError, MemoryModeError
from tenon.passes.graph.scratch_nodes import scratch_nodes

V = "tensor<4xf32>"
WRITE, READ = f"graph.write @h, %y : {V}", f"%h = graph.read @h : {V}"
BRANCH = """%c = graph.constant dense<true> : tensor<i1>
  graph.if %c -> () {{
    {}
    graph.yield
  }} else {{
    graph.yield
  }}"""


def function(*accesses: str, name: str = "step", arguments: str = "") -> str:
    lines = "\n  ".join((f"%y = graph.read @x : {V}", *accesses, "func.return"))
    return f"func.func @{name}({arguments}) {{\n  {lines}\n}}\n"


def module(*functions: str, h: str = V) -> str:
    return f"graph.tnode @x : {V} mode hosted\ngraph.tnode @h : {h}\n" + "".join(functions)


def found(*functions: str, h: str = V) -> list[str]:
    return [op.sym_name.data for op in scratch_nodes(parse_module(module(*functions, h=h)))]


@pytest.mark.parametrize(
    "accesses",
    [
        (WRITE, READ),
        (WRITE, READ, WRITE, f"%again = graph.read @h : {V}"),
        (WRITE, f"graph.write add @h, %y : {V}", READ),
        (WRITE, BRANCH.format(READ)),
    ],
    ids=["once", "twice", "added to", "read in a branch"],
)
def test_what_is_written_first_and_read_last_is_scratch(accesses: tuple[str, ...]):
    assert found(function(*accesses)) == ["h"]


@pytest.mark.parametrize(
    "accesses",
    [
        (READ, WRITE, f"%again = graph.read @h : {V}"),
        (WRITE,),
        (READ,),
        (WRITE, READ, WRITE),
        (f"graph.write add @h, %y : {V}", READ),
        (BRANCH.format(WRITE), READ),
        (WRITE, BRANCH.format(WRITE), READ),
        (f"%m = graph.merge @h : {V}", WRITE, READ),
        (WRITE, f"%m = graph.merge @h : {V}", READ),
        (),
    ],
    ids=[
        "read first",
        "only written",
        "only read",
        "written last",
        "added to first",
        "written in a branch",
        "written again in a branch",
        "merged",
        "merged later",
        "not used",
    ],
)
def test_what_somebody_may_keep_is_no_scratch(accesses: tuple[str, ...]):
    assert found(function(*accesses)) == []


def test_parts_of_a_node_are_no_scratch():
    accesses = f"graph.write @h[%i], %y : {V}", f"%h = graph.read @h[%i] : {V}"
    assert found(function(*accesses, arguments="%i: index"), h="tensor<3x4xf32>") == []


def test_an_initial_value_is_kept():
    assert found(function(WRITE, READ), h=f"{V} = dense<1.0>") == []


def test_every_function_of_the_module_is_asked():
    scratch = function(WRITE, READ)
    assert found(scratch, function(WRITE, READ, name="other")) == ["h"]
    assert found(scratch, function(READ, name="other")) == []
    call = "func.func @main() {\n  func.call @step() : () -> ()\n  func.return\n}\n"
    assert found(scratch, call) == []
    assert found(function("func.call @inner() : () -> ()", WRITE, READ), function(name="inner")) == []


STEP = module(
    function(WRITE, READ, f"%z = graph.mul %h, %h : {V}", f"graph.write @z, %z : {V}"), h=V
) + f"graph.tnode @z : {V}\n"  # fmt: skip


def test_compiling_makes_scratch_local():
    code = tenon.open_platform("llvm").compile(STEP)
    reason = "@step uses it; it is written before it is read, and nothing says that it is kept"
    assert code.nodes["h"].debug_memory_mode == f"local ({reason})"
    assert (
        code.nodes["z"].debug_memory_mode == "materialized (@step uses it, and does not say where it lives)"
    )
    assert code.kept_nodes == [code.nodes["x"], code.nodes["z"]]
    context = code.platform.get_device(0).make_context()
    context = context.init_from_host(code.nodes["x"], np.arange(4, dtype=np.float32))
    used = code.platform.get_device(0).used_memory
    routine = context.link(code)
    assert code.platform.get_device(0).used_memory - used == 64  # One cache line, for z.
    routine.run()
    assert routine.context.to_host(code.nodes["z"]).tolist() == [0, 1, 4, 9]
    with pytest.raises(ContextError, match=r"to_host: h is in no context, it is local \(@step uses it; "):
        routine.context.to_host(code.nodes["h"])


def test_what_is_too_large_to_be_local_is_on_the_device():
    code = tenon.open_platform("llvm").compile(STEP.replace("<4x", "<5000x"))
    assert code.nodes["h"].debug_memory_mode.startswith("on_device (@step uses it; ")


@pytest.mark.parametrize(
    ("asked", "decided"),
    [
        ("never_virtual", "local"),
        ("device_only", "local"),
        ("local", "local"),
        ("on_device", "on_device"),
        ("materialized", "materialized"),
        ("hosted", "hosted"),
    ],
)
def test_what_is_asked_for_is_kept_to(asked: str, decided: str):
    code = tenon.open_platform("llvm").compile(
        STEP.replace(f"graph.tnode @h : {V}", f"graph.tnode @h : {V} mode {asked}")
    )
    assert str(code.nodes["h"].memory_mode) == decided


def test_programs_compiled_later_use_it_in_the_same_way_or_are_told_why_they_cannot():
    platform = tenon.open_platform("llvm")
    code = platform.compile(STEP)
    again = platform.compile(STEP, optimize_context=code.optimize_context)
    assert again.nodes["h"] is code.nodes["h"]
    reads = module(function(READ, name="reads")).replace("hosted", "materialized")
    with pytest.raises(
        MemoryModeError,
        match=r"@reads: graph.read: node @h is local, and is read before .* \(h is local \(@step ",
    ):
        platform.compile(reads, optimize_context=code.optimize_context)
    parts = function("%h = graph.read @h[%i] : tensor<f32>", name="parts", arguments="%i: index")
    with pytest.raises(
        MemoryModeError, match=r"@parts: graph.read: node @h is local, so it is read .* as a whole"
    ):
        platform.compile(module(parts), optimize_context=code.optimize_context)


def test_a_node_that_has_memory_keeps_it():
    platform = tenon.open_platform("llvm")
    node = tenon.TensorNode.create("float32", dims=(4,), label=["h"], code_name="h")
    context = platform.get_device(0).make_context().init_zeros(node)
    code = platform.compile(STEP, nodes=[node])
    assert str(node.memory_mode) == "materialized"
    context = context.init_from_host(code.nodes["x"], np.ones(4, np.float32))
    routine = context.link(code)
    routine.run()
    assert routine.context.to_host(node).tolist() == [1] * 4
