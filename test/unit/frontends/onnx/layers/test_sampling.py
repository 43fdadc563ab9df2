"""Elements of images at places between them: of integers, the nearest ones only."""

from __future__ import annotations

import numpy as np
import pytest
import tenon
from tenon.errors import TenonError
from tenon.test.unit.frontends.onnx.models import model_of, normal

TEXT = """
agraph (TYPE[1, 1, 5, 6] x, float[1, 3, 4, 2] grid) => (TYPE[1, 1, 3, 4] y)
{ y = GridSample<mode = "MODE", align_corners = 1, padding_mode = "border">(x, grid) }
"""


def test_the_nearest_of_integers_are_those_of_floats():
    x = np.arange(30).reshape(1, 1, 5, 6)
    grid = np.clip(normal(1, 3, 4, 2), -1, 1)
    found = {}
    for type, dtype in (("int32", np.int32), ("float", np.float32)):
        text = TEXT.replace("TYPE", type).replace("MODE", "nearest")
        found[type] = tenon.from_onnx(model_of(text, opset=20), backend="reference")(x.astype(dtype), grid)
    np.testing.assert_array_equal(found["int32"], found["float"])
    assert len(np.unique(found["int32"])) > 5


def test_weights_of_integers_are_an_error():
    model = TEXT.replace("TYPE", "int32").replace("MODE", "linear")
    with pytest.raises(TenonError, match="mode 'linear' of int32 is not supported: weights are no integers"):
        tenon.from_onnx(model_of(model, opset=20), backend="reference")(
            np.zeros((1, 1, 5, 6), np.int32), np.zeros((1, 3, 4, 2), np.float32)
        )
