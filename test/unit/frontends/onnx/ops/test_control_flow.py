"""Scans of version 8, whose arrays have the batch first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tenon
from onnx import TensorProto, helper
from tenon.errors import TenonError
from tenon.test.unit.frontends.onnx.models import Array, normal


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
