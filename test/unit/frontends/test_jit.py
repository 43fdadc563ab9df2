"""`tenon.jit`: what is traced again and why, every level as text, and the user's line on every op."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.dialects import context
from tenon.dialects.modules.parsing import location_text
from tenon.frontends.arrays.aval import aval_of
from tenon.frontends.tracing import graph_ops, source_lines
from tenon.frontends.tracing.trace import Trace, current_trace
from tenon.passes.pass_manager import PassManager
from tenon.passes.pipeline import phases

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def reasons(jitted: Any) -> list[str]:
    return ["; ".join(miss.reasons) for miss in jitted.explain_misses()]


def test_only_a_new_signature_is_traced():
    f = tenon.jit(lambda x, y: x + y)
    for _ in range(3):
        f(X, X)
        f(tnp.asarray(X), X)
        f(X, tnp.asarray(X))
    assert reasons(f) == ["the first call"]


def test_a_miss_names_what_differs_from_the_nearest_signature():
    f = tenon.jit(lambda params, x, mode="a": x, static_argnames="mode")
    f({"w": [X]}, X)
    f({"w": [X]}, X.astype(np.float64))
    f({"w": [X[:1]]}, X)
    f({"w": [X]}, 3)
    f({"w": [X]}, 3.0)
    f({"w": [X], "b": X}, X)
    f({"w": (X,)}, X)
    f({"w": [X]}, X, mode="b")
    f({"w": [X]}, X, "c")
    f({"w": [X[:1]]}, X, mode="c")
    assert reasons(f) == [
        "the first call",
        "x: dtype float64, was float32",
        "params['w'][0]: shape [1, 3], was [2, 3]",
        "x: dtype int64, was float64; x: shape [], was [2, 3]; x: a Python scalar, was an array",
        "x: dtype float64, was int64",
        "the structure of the arguments differs (params['b'] is new)",
        "the structure of the arguments differs (params['b'] is gone)",
        "static argument 'mode' is 'b', was not given",
        "static argument 'mode' is 'c', was 'b'",
        "params['w'][0]: shape [1, 3], was [2, 3]",
    ]


def test_misses_print_with_their_cost():
    f = tenon.jit(lambda x: x, name="f")
    assert str(f.explain_misses()) == "no call was traced"
    f(X)
    (miss,) = f.explain_misses()
    assert miss.tracing_seconds > 0
    assert miss.compiling_seconds > 0
    assert str(miss).startswith("f: trace 1: the first call (tracing ")
    f.clear_cache()
    assert not f.explain_misses()
    f(X)
    assert len(f.explain_misses()) == 1


def test_lower_gives_every_level():
    lowered = tenon.jit(lambda x: tnp.exp(x) + 1, name="f").lower(X)
    assert "graph.exp %x : tensor<2x3xf32>" in lowered.text("traced")
    assert "graph.exp" in lowered.text()
    assert "sched.kernel" in lowered.text("sched")
    assert "low.kernel" in lowered.text("low")
    assert "define" in lowered.text("source")
    assert "define" in lowered.code("ll")
    assert ".globl" in lowered.code("s")
    assert "__kernel" in lowered.code("cl")
    assert "x" in str(lowered.memory_plan())
    cost = lowered.cost()
    assert (cost.read_nbytes, cost.written_nbytes, cost.kernel_count) == (24, 24, 1)
    assert str(cost) == f"{cost.flops} flops, 24 bytes read, 24 bytes written, 1 kernels"
    assert repr(lowered) == "<lowered f(float32[2, 3])>"


def test_levels_and_code_that_are_not_there_are_errors():
    lowered = tenon.jit(lambda x: x).lower(X)
    with pytest.raises(tenon.TenonError, match="lower: level 'high' is not one of traced, graph, sched, low"):
        lowered.text("high")
    with pytest.raises(tenon.TenonError, match="lower: code 'ptx' is not one of ll, s, cl"):
        lowered.code("ptx")
    interpreted = tenon.jit(lambda x: x, backend="reference", name="f").lower(X)
    with pytest.raises(tenon.TenonError, match="f: the reference interpreter has no costs"):
        interpreted.cost()
    with pytest.raises(tenon.TenonError, match="the reference interpreter has no memory plan"):
        interpreted.memory_plan()


def test_what_is_lowered_is_compiled_for_its_signature_only():
    f = tenon.jit(lambda x, y: {"sum": x + y, "n": 2}, name="f")
    call = f.lower(X, y=X).compile()
    found = call(X, X)
    np.testing.assert_array_equal(np.asarray(found["sum"]), X + X)
    assert found["n"] == 2
    assert not f.explain_misses(), "lowering is no call"
    with pytest.raises(
        TypeError, match=r"f: compiled for another signature \(y: dtype float64, was float32\)"
    ):
        call(X, X.astype(np.float64))


def test_an_unknown_backend_and_pipeline_are_errors():
    with pytest.raises(tenon.TenonError, match="backend 'gpu' is not one of"):
        tenon.jit(lambda x: x, backend="gpu")(X)
    with pytest.raises(tenon.TenonError, match=r"the pipeline leaves a func.func"):
        tenon.jit(lambda x: x, pipeline="canonicalize-graph")(X)


def test_a_function_that_computes_no_array_has_no_program():
    lowered = tenon.jit(lambda x: x.shape, name="f").lower(X)
    assert lowered.compile()(X) == (2, 3)
    with pytest.raises(tenon.TenonError, match="f: computes no array, so there is no program"):
        lowered.cost()


def attention(x: Any, w: Any) -> Any:
    y = tnp.exp(x @ w)
    z = y - tnp.max(y, axis=1, keepdims=True)
    s = tnp.sum(tnp.exp(z), axis=1, keepdims=True)
    q = tnp.take(z / s, tnp.asarray(np.array([1, 0])), axis=0)
    return q * 2 + tnp.astype(tnp.argmax(q, axis=1), tnp.float32)[:, None], tnp.std(x), tnp.logaddexp(x, x)


def test_every_op_has_the_users_line_at_every_level():
    module = tenon.jit(attention).lower(X, np.ones((3, 3), np.float32)).module.clone()
    ctx = context()
    first = attention.__code__.co_firstlineno
    for stage, passes in phases().items():
        for each in passes:
            PassManager((each,), verify_each=False).run(ctx, module)
            lines: set[int] = set()
            for op in module.walk():
                text = location_text(op.location)
                assert text is not None, f"{op.name} after {each.name} has no place"
                assert text.startswith(f"{__file__}:"), f"{op.name} after {each.name} is at {text}"
                lines.add(int(text.split(":")[-2]) - first)
            assert {1, 2, 3, 5} <= lines, f"{stage}: {each.name} leaves lines {sorted(lines)}"


def test_the_column_is_that_of_the_expression():
    def f(x: Any) -> Any:
        return tnp.exp(x) + tnp.sin(x)

    module = tenon.jit(f).lower(X).module
    line = f.__code__.co_firstlineno + 1
    places = [str(location_text(op.location)).rsplit(":", 2)[1:] for op in module.walk()]
    columns = [int(column) for row, column in places if int(row) == line]
    assert columns == [16, 29, 16], "exp, sin, and the sum that begins with exp"


def test_an_error_of_the_compiler_shows_the_users_line():
    def f(x: Any) -> Any:
        return graph_ops.concat([x], 0) if False else graph_ops.reshape(x, (7,))

    with pytest.raises(tenon.TenonError) as caught:
        tenon.jit(f)(X)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"{__file__}:{f.__code__.co_firstlineno + 1}:")
    assert "graph.reshape: cannot reshape" in lines[0]
    assert lines[1] == "        return graph_ops.concat([x], 0) if False else graph_ops.reshape(x, (7,))"
    assert lines[2].index("^") == lines[1].index("graph_ops.reshape")


def test_an_error_of_an_op_shows_the_users_line():
    def f(x: Any) -> Any:
        return graph_ops.permute(x, (0, 0))

    with pytest.raises(tenon.TenonError, match=r"graph.permute: axis 0 is given twice") as caught:
        tenon.jit(f)(X)
    assert "        return graph_ops.permute(x, (0, 0))\n               ^" in str(caught.value)


def test_an_excerpt_keeps_tabs_and_counts_characters(tmp_path: Any):
    path = tmp_path / "program.py"
    path.write_text("first\n\tä = x + y\n", encoding="utf-8")
    linecache.checkcache()
    assert source_lines.excerpt(f"{path}:2:7") == "\tä = x + y\n\t    ^"
    assert source_lines.excerpt(f"{path}:9:1") is None
    assert source_lines.excerpt("nowhere.py:1:1") is None
    assert source_lines.excerpt("no place") is None


def test_equal_constants_are_one_op():
    def f(x: Any) -> Any:
        return (x + np.float32(2)) * np.float32(2), x + np.float32(3)

    assert tenon.jit(f).lower(X).text("traced").count("graph.constant") == 2


def test_a_small_constant_of_a_loop_is_not_used_outside_of_it():
    def f(x: Any) -> Any:
        y = tenon.fori_loop(0, 2, lambda i, v: v * np.float32(3), x)
        return y + np.float32(3)

    np.testing.assert_array_equal(np.asarray(tenon.jit(f)(X)), X * 9 + 3)


def test_arguments_have_their_names():
    text = (
        tenon.jit(lambda x, params: x + params["w"][0], name="my model").lower(X, {"w": [X]}).text("traced")
    )
    assert "func.func @my_model(%x: tensor<2x3xf32>, %params__w___0_: tensor<2x3xf32>)" in text


def test_traces_of_threads_are_kept_apart():
    trace = Trace("f")
    assert current_trace() is None
    with trace:
        assert current_trace() is trace
        x = trace.argument(aval_of(np.dtype(np.float32), (2,)), "x")
        assert repr(x) == "<traced float32[2] of @f>"
        y = tnp.asarray(np.ones(2, np.float32)) + np.ones(2, np.float32)
        assert "traced" in repr(y), "a trace has all that happens while it is written"
    assert current_trace() is None


def test_operands_of_other_types_are_an_error_of_the_op():
    def f(x: Any) -> Any:
        return graph_ops.add(x, graph_ops.cast(x, np.dtype(np.float64)))

    with pytest.raises(tenon.TenonError, match=r"graph.add: operands are tensor<2x3xf32> and tensor"):
        tenon.jit(f)(X)
    with pytest.raises(tenon.TenonError, match=r"graph.exp: cannot take tensor<2x3xi64>"):
        tenon.jit(graph_ops.exp)(X.astype(np.int64))


def test_dtypes_without_arrays_are_errors_that_name_the_argument():
    f = tenon.jit(lambda a: a, name="f")
    with pytest.raises(TypeError, match=r"^f: argument 'a': no element type for dtype complex128$"):
        f(np.ones(3, complex))
