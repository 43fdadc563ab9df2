"""Slices with bounds anywhere, and indices that are known to be out of range."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import tenon
from onnx import TensorProto, helper, numpy_helper
from tenon.errors import TenonError
from tenon.frontends.onnx.program import program_of
from tenon.test.unit.frontends.onnx.models import Array, normal

LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def sliced(extent: int | str, x: Array, cases: list[tuple[int, int, int]]) -> tuple[Any, Any]:
    """Returns slices of an array, each from, to and by the numbers of a case, and their model."""
    numbers = sorted({number for case in cases for number in case})
    constants = [numpy_helper.from_array(np.array([number]), f"n{number}") for number in numbers]
    axis = numpy_helper.from_array(np.array([0]), "axis")
    nodes = [
        helper.make_node("Slice", ["x", f"n{start}", f"n{end}", "axis", f"n{step}"], [f"y{number}"])
        for number, (start, end, step) in enumerate(cases)
    ]
    outputs = [helper.make_empty_tensor_value_info(f"y{number}") for number in range(len(cases))]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [extent])]
    graph = helper.make_graph(nodes, "slices", inputs, outputs, [*constants, axis])
    opsets = [helper.make_opsetid("", 21)]
    model = tenon.from_onnx(helper.make_model(graph, opset_imports=opsets), backend="reference")
    return model(x), model


@pytest.mark.parametrize("extent", [1, 3])
@pytest.mark.parametrize("step", [LEAST, -2, -1, 1, 2, MOST])
def test_slices_are_those_of_numpy(extent: int, step: int):
    x = normal(extent)
    bounds = [LEAST, LEAST + 1, *range(-extent - 2, extent + 3), MOST - 1, MOST]
    cases = [(start, end, step) for start, end in itertools.product(bounds, bounds)]
    found, _ = sliced(extent, x, cases)
    for case, each in zip(cases, found, strict=True):
        np.testing.assert_array_equal(each, x[slice(*case)], err_msg=str(case))


def test_slices_of_an_extent_that_varies_are_those_of_numpy():
    bounds = [LEAST, *range(-4, 5), MOST]
    cases = [*itertools.product(bounds, bounds, [1]), (-1, LEAST, -1), (-1, -(1 << 31), -1)]
    for extent in (1, 3):
        x = normal(extent)
        found, model = sliced("n", x, cases)
        for case, each in zip(cases, found, strict=True):
            np.testing.assert_array_equal(each, x[slice(*case)], err_msg=str(case))
        assert model.notes == []


@pytest.mark.parametrize("case", [(-6, -9, -1), (3, 0, -1), (0, 3, 2), (MOST, LEAST, -2)])
def test_other_steps_make_a_program_for_each_extent(case: tuple[int, int, int]):
    for extent in (2, 5):
        x = normal(extent)
        found, model = sliced("n", x, [case])
        np.testing.assert_array_equal(found, x[slice(*case)])
        assert "a program for each shape" in model.notes[0]


def model_at(
    op: str, indices: Any, is_known: bool, extent: int | str = 2, **attributes: Any
) -> tuple[Any, dict[str, Array]]:
    """Returns the model of an op of indices and what it is called with: rows, and indices not known."""
    x, places = np.arange(6, dtype=np.float32).reshape(2, 3), np.array(indices)
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [extent, 3])]
    given, initializers, names = {"x": x}, [], ["x", "i"]
    if is_known:
        initializers.append(numpy_helper.from_array(places, "i"))
    else:
        inputs.append(helper.make_tensor_value_info("i", TensorProto.INT64, places.shape))
        given["i"] = places
    if op.startswith("Scatter"):
        shape = places.shape if op != "ScatterND" else (*places.shape[:-1], *x.shape[places.shape[-1] :])
        initializers.append(numpy_helper.from_array(np.full(shape, 9, np.float32), "u"))
        names.append("u")
    node = helper.make_node(op, names, ["y"], **attributes)
    outputs = [helper.make_empty_tensor_value_info("y")]
    graph = helper.make_graph([node], "indices", inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", 21)]
    return tenon.from_onnx(helper.make_model(graph, opset_imports=opsets), backend="reference"), given


def at_indices(op: str, indices: Any, is_known: bool, extent: int | str = 2, **attributes: Any) -> Array:
    """Returns what an op of indices makes of the rows (0, 1, 2) and (3, 4, 5); what it puts there is 9."""
    model, given = model_at(op, indices, is_known, extent, **attributes)
    return model(**given)


@pytest.mark.parametrize(
    ("op", "indices", "attributes", "index", "axis"),
    [
        ("Gather", [0, 2], {}, 2, 0),
        ("Gather", 2, {}, 2, 0),
        ("Gather", [-4], {"axis": -1}, -4, 1),
        ("GatherElements", [[0, 1, -3]], {}, -3, 0),
        ("GatherElements", [[3]], {"axis": 1}, 3, 1),
        ("GatherND", [[1, 2], [1, 3]], {}, 3, 1),
        ("GatherND", [[-3]], {}, -3, 0),
        ("GatherND", [[0], [3]], {"batch_dims": 1}, 3, 1),
        ("ScatterND", [[1], [2]], {}, 2, 0),
        ("ScatterND", [[0, -4]], {"reduction": "add"}, -4, 1),
        ("ScatterElements", [[0, 2, 0]], {}, 2, 0),
        ("ScatterElements", [[-4]], {"axis": 1}, -4, 1),
    ],
)
def test_a_known_index_out_of_range_is_an_error(
    op: str, indices: Any, attributes: dict[str, Any], index: int, axis: int
):
    message = rf"{op} \(node 0\): index {index} is out of range for axis {axis} of shape \(2, 3\)$"
    with pytest.raises(TenonError, match=message):
        at_indices(op, indices, True, **attributes)
    # One that a call gives is moved into range, or nothing is put there.
    assert at_indices(op, indices, False, **attributes).size


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize(
    ("op", "indices", "attributes", "wanted"),
    [
        ("Gather", [1, -2], {}, [[3, 4, 5], [0, 1, 2]]),
        ("Gather", np.zeros((0,), np.int64), {}, np.zeros((0, 3))),
        ("GatherElements", [[1, -2, 0]], {}, [[3, 1, 2]]),
        ("GatherND", [[1, 2], [-2, -3]], {}, [5, 0]),
        ("GatherND", [[2], [-3]], {"batch_dims": 1}, [2, 3]),
        ("ScatterND", [[1, 2], [-2, -3]], {}, [[9, 1, 2], [3, 4, 9]]),
        ("ScatterElements", [[-2, 1, 1]], {}, [[9, 1, 2], [3, 9, 9]]),
    ],
)
def test_the_first_and_the_last_index_are_inside(
    op: str, indices: Any, attributes: dict[str, Any], wanted: Any, is_known: bool
):
    np.testing.assert_array_equal(at_indices(op, indices, is_known, **attributes), wanted)


@pytest.mark.parametrize(("times", "weights"), [(1, []), (50, ["i"])])
def test_many_known_indices_are_weights_of_a_program(times: int, weights: list[str]):
    indices = np.tile(np.array([[0, 1], [1, -1]]), (times, 1))
    model, given = model_at("GatherND", indices, True)
    np.testing.assert_array_equal(model(**given), np.tile([1, 5], times))
    assert list(program_of(model).weights) == weights


def test_an_index_into_an_extent_that_varies_is_moved_into_range():
    np.testing.assert_array_equal(at_indices("Gather", [1, 7], True, extent="n"), [[3, 4, 5]] * 2)
