"""Resized images: as onnx's reference has them, also where what is not resized has a named dim."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import tenon
from onnx.reference import ReferenceEvaluator
from tenon.test.unit.frontends.onnx.models import model_of, normal

MODES = ("nearest", "linear", "cubic")
PLACES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")


@pytest.mark.parametrize(("mode", "places"), list(itertools.product(MODES, PLACES)))
@pytest.mark.parametrize("size", [(13, 5), (4, 18)])
def test_images_are_resized_as_by_onnx(mode: str, places: str, size: tuple[int, int]):
    attributes = f'mode = "{mode}", coordinate_transformation_mode = "{places}", axes = [2, 3]'
    sizes = ", ".join(map(str, size))
    text = f"""
    agraph (float[n, 2, 7, 9] x) => (float[n, 2, a, b] y)
    <int64[2] sizes = {{{sizes}}}> {{ y = Resize<{attributes}>(x, , , sizes) }}
    """
    proto = model_of(text)
    model = tenon.from_onnx(proto, backend="reference")
    for count in (1, 3):
        x = normal(count, 2, 7, 9)
        (wanted,) = ReferenceEvaluator(proto).run(None, {"x": x})
        np.testing.assert_allclose(model(x), wanted, rtol=1e-4, atol=1e-5)
    assert model.notes == []


def test_images_of_a_named_size_get_programs_of_their_own():
    text = """
    agraph (float[1, 1, h, w] x) => (float[1, 1, a, b] y)
    <float[4] scales = {1, 1, 2, 2}> { y = Resize(x, , scales) }
    """
    model = tenon.from_onnx(model_of(text), backend="reference")
    for shape in ((1, 1, 2, 3), (1, 1, 4, 4)):
        x = normal(*shape)
        np.testing.assert_array_equal(model(x), x.repeat(2, 2).repeat(2, 3))
    assert "an axis whose extent varies is resized" in model.notes[0]
