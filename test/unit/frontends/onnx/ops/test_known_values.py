"""Shapes are computed when a model is imported, also with extents that vary: programs have nothing of it."""

from __future__ import annotations

import numpy as np
import pytest
import tenon
from tenon.test.unit.frontends.onnx.models import model_of, normal

CONSTANTS = """
<int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] minus = {-1}, int64 first = {0},
 int64[2] both = {0, 1}>
"""


@pytest.mark.parametrize(
    ("nodes", "wanted"),
    [
        (
            "n = Gather(s, first) u = Unsqueeze(n, zero) shape = Concat<axis = 0>(u, minus)",
            lambda n, m: (n, m),
        ),
        ("t = Slice(s, zero, one) shape = Concat<axis = 0>(minus, t)", lambda n, m: (m, n)),
        ("p = ReduceProd<keepdims = 1>(s) shape = Concat<axis = 0>(p, one)", lambda n, m: (n * m, 1)),
        ("d = Mul(s, two) h = Div(d, two) shape = Cast<to = 7>(h)", lambda n, m: (n, m)),
        ("a = Add(s, one) b = Sub(a, one) shape = Identity(b)", lambda n, m: (n, m)),
        ("a = Max(s, one) b = Min(a, s) shape = Reshape(b, two)", lambda n, m: (n, m)),
        ("e = Equal(s, minus) shape = Where(e, one, s)", lambda n, m: (n, m)),
        ("k = Size(x) u = Unsqueeze(k, zero) shape = Concat<axis = 0>(one, u)", lambda n, m: (1, n * m)),
        ("u = Unsqueeze(s, one) w = Squeeze(u, one) shape = Identity(w)", lambda n, m: (n, m)),
    ],
)
def test_shapes_are_computed_with_extents_that_vary(nodes: str, wanted):
    nodes = f"{{ s = Shape(x) {nodes} y = Reshape(x, shape) }}"
    text = f"agraph (float[n, m] x) => (float[a, b] y) {CONSTANTS} {nodes}"
    model = tenon.from_onnx(model_of(text), backend="reference")
    for shape in ((2, 3), (4, 5)):
        x = normal(*shape)
        np.testing.assert_array_equal(model(x), x.reshape(wanted(*shape)))
    assert model.notes == []
    assert model.n_programs == 1


def test_an_extent_that_is_asked_for_makes_programs_of_shapes():
    text = f"agraph (float[n] x) => (bool[1] y) {CONSTANTS} {{ s = Shape(x) y = Equal(s, two) }}"
    model = tenon.from_onnx(model_of(text), backend="reference")
    assert [bool(model(normal(count))[0]) for count in (2, 3)] == [True, False]
    assert "known at each call only" in model.notes[0]


def test_an_extent_is_a_result_too():
    model = tenon.from_onnx(
        model_of("agraph (float[n, 3] x) => (int64[2] y) { y = Shape(x) }"), backend="reference"
    )
    for count in (1, 4):
        np.testing.assert_array_equal(model(normal(count, 3)), [count, 3])


def test_numbers_are_computed_as_in_programs():
    text = """
    agraph (float[2] x) => (int64[3] y, float[2] z)
    <int64[3] a = {-7, 7, 5}, int64[3] b = {2, -2, 5}>
    { y = Div(a, b) z = Identity(x) }
    """
    results = tenon.from_onnx(model_of(text), backend="reference")(normal(2))
    np.testing.assert_array_equal(results[0], [-3, -3, 1])
