"""Scans of version 8, whose arrays have the batch first, and what loops have programs for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tenon
from onnx import TensorProto, helper
from tenon.errors import TenonError
from tenon.test.unit.frontends.onnx.models import Array, model_of, normal


def scanned(inputs: dict[str, Array | None], **options: Any) -> Any:
    """Returns sums so far of sequences, and the last ones."""
    rows = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("total", "row")]
    sums = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("sum", "shown")]
    nodes = [
        helper.make_node("Add", ["total", "row"], ["sum"]),
        helper.make_node("Identity", ["sum"], ["shown"]),
    ]
    body = helper.make_graph(nodes, "body", rows, sums)
    names = [name if each is not None else "" for name, each in inputs.items()]
    node = helper.make_node("Scan", names, ["last", "all"], body=body, num_scan_inputs=1, **options)
    given = {name: each for name, each in inputs.items() if each is not None}
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
        for name, each in given.items()
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in ("last", "all")]
    graph = helper.make_graph([node], "g", infos, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)])
    return tenon.from_onnx(model, backend="reference")(**given)


def test_each_of_a_batch_is_scanned():
    start, x = normal(3, 2), normal(3, 5, 2)
    last, sums = scanned({"lengths": None, "start": start, "x": x})
    expected = start[:, None] + x.cumsum(1)
    np.testing.assert_allclose(sums, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(last, expected[:, -1], rtol=1e-5, atol=1e-6)
    _, sums = scanned({"lengths": None, "start": start, "x": x}, directions=[1])
    np.testing.assert_allclose(sums, start[:, None] + x[:, ::-1].cumsum(1), rtol=1e-5, atol=1e-6)


def test_batches_that_are_wrong():
    start, x = normal(3, 2), normal(3, 5, 2)
    with pytest.raises(TenonError, match="sequences of several lengths are not supported"):
        scanned({"lengths": np.array([1, 2, 3]), "start": start, "x": x})
    with pytest.raises(TenonError, match="of one batch"):
        scanned({"lengths": None, "start": start[:2], "x": x})
    with pytest.raises(TenonError, match="a batch of 0"):
        scanned({"lengths": None, "start": start[:0], "x": x[:0]})
    with pytest.raises(TenonError, match="1 inputs, expected the lengths"):
        scanned({"x": x})


def doubling(inputs: str, ends: str, count: str = "count", constants: str = "") -> Any:
    """Returns a model that doubles an array in each round, and gives what it was."""
    return tenon.from_onnx(
        model_of(f"""
        agraph ({inputs}float[2] x) => (float[2] last, float[k, 2] each)
        <bool yes = {{1}}, float limit = {{10}}{constants}>
        {{
            last, each = Loop<body = step (int64 i, bool c, float[2] s) => (bool d, float[2] t, float[2] e)
                {{ t = Add(s, s) e = Identity(s) {ends} }}>
                ({count}, {"begins" if "begins" in inputs else "yes"}, x)
        }}
        """),
        backend="reference",
    )


ENDS_BY_VALUE = "m = ReduceMax<keepdims = 0>(t) d = Less(m, limit)"


@pytest.mark.parametrize("count", [0, 1, 16, 17, 60])
def test_a_loop_of_given_length_has_one_program_for_all_that_it_carries(count: int):
    model = doubling("int64 count, ", "d = Identity(c)")
    for x in (normal(2), normal(2) + 1, np.zeros(2, np.float32)):
        last, each = model(np.array(count), x)
        np.testing.assert_array_equal(last, x * 2.0**count)
        np.testing.assert_array_equal(each, [x * 2.0**k for k in range(count)] or np.zeros((0, 2)))
    assert model.notes == ["a program for each value of count"]
    assert model.n_programs == 1


def test_whether_a_loop_begins_is_asked_for_where_it_is_not_known():
    model = doubling("int64 count, bool begins, ", "d = Identity(c)")
    for x in (normal(2), normal(2) + 1):
        for begins in (True, False):
            assert len(model(np.array(20), np.array(begins), x)[1]) == (20 if begins else 0)
    assert model.notes == ["a program for each value of begins, count"]
    assert model.n_programs == 2


@pytest.mark.parametrize(
    ("inputs", "count", "needed"), [("int64 count, ", "count", "count, x"), ("", "many", "x"), ("", "", "x")]
)
def test_what_a_loop_carries_is_asked_for_where_that_ends_it(inputs: str, count: str, needed: str):
    model = doubling(inputs, ENDS_BY_VALUE, count, ", int64 many = {20}")
    given = [np.array(20)] if inputs else []
    for start, wanted in ((1, 4), (2, 3)):
        last, each = model(*given, np.full(2, start, np.float32))
        np.testing.assert_array_equal(last, [16, 16])
        np.testing.assert_array_equal(each, [[start * 2**k] * 2 for k in range(wanted)])
    assert model.notes == [f"a program for each value of {needed}"]


def test_the_length_of_a_loop_may_be_that_of_the_round_around_it():
    """What the inner loop asks for is no input: the state of the outer one has to be known."""
    model = tenon.from_onnx(
        model_of("""
        agraph (float x) => (float last)
        <bool yes = {1}, int64 many = {20}>
        {
            last = Loop<body = outer (int64 i, bool c, float s) => (bool d, float t)
                {
                    d = Identity(c)
                    kept, each = Loop<body = inner (int64 j, bool e, float p) => (bool f, float q, float r)
                        { f = Identity(e) q = Add(p, x) r = Identity(q) }>(i, yes, x)
                    sum = ReduceSum<keepdims = 0>(each)
                    t = Add(s, sum)
                }>(many, yes, x)
        }
        """),
        backend="reference",
    )
    for x in (1.0, 2.0):
        expected = x + sum(x * (k + 1) for i in range(20) for k in range(1, i + 1))
        np.testing.assert_allclose(model(np.float32(x)), expected)
    assert model.notes == ["a program for each value of x"]
