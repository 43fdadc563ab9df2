"""Elements of images at places between them: of integers, the nearest ones only."""

from __future__ import annotations

import numpy as np
import pytest
import tenon
from tenon.errors import TenonError
from tenon.test.unit.frontends.onnx.models import Array, model_of, normal
from tenon.test.unit.frontends.onnx.single_node import run

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


def cubic(x: Array, place: float) -> float:
    """Returns the cubic of the four elements around a place of a row, the last ones going on for ever."""
    floor = int(np.floor(place))
    taps = x[np.clip(np.arange(floor - 1, floor + 3), 0, len(x) - 1)]
    apart = np.abs(place - np.arange(floor - 1, floor + 3))
    near = (1.25 * apart - 2.25) * apart**2 + 1
    far = ((-0.75 * apart + 3.75) * apart - 6) * apart + 3
    return float(taps @ np.where(apart < 1, near, far))


@pytest.mark.parametrize("align", [0, 1])
def test_a_cubic_goes_on_beyond_the_border(align: int):
    x = np.array([0, 1, 4, 9], np.float32)
    # On elements, on the last ones, between them and the border, and beyond both ends by less and more.
    along = np.array([-3, -1.4, -1, -0.9, -0.25, 0.2, 0.75, 0.95, 1, 1.2, 2.5], np.float32)
    grid = np.stack([along, np.zeros_like(along)], -1).reshape(1, 1, -1, 2)
    options = {"mode": "cubic", "padding_mode": "border", "align_corners": align}
    found = run("GridSample", [x.reshape(1, 1, 1, 4), grid], **options)
    places = (along + 1) * 1.5 if align else (along + 1) * 2 - 0.5
    np.testing.assert_allclose(found.ravel(), [cubic(x, place) for place in places], atol=1e-5)


def test_a_line_ends_at_the_border():
    x = np.array([0, 1, 4, 9], np.float32).reshape(1, 1, 1, 4)
    grid = np.array([[-1.4, 0], [0, 0], [1.2, 0]], np.float32).reshape(1, 1, 3, 2)
    found = run("GridSample", [x, grid], mode="linear", padding_mode="border", align_corners=1)
    np.testing.assert_array_equal(found.ravel(), [0, 2.5, 9])


def cells(x: Array, box: Array, count: tuple[int, int], scale: float) -> Array:
    """Returns the greatest elements of the cells of a box, cell by cell."""
    left, top, right, bottom = (int(np.floor(abs(each * scale) + 0.5) * np.sign(each)) for each in box[1:])
    found = np.zeros((x.shape[1], *count), x.dtype)
    sizes = max(bottom - top + 1, 1) / count[0], max(right - left + 1, 1) / count[1]
    for row, column in np.ndindex(*count):
        ends = [
            slice(
                *np.clip([start + np.floor(n * size), start + np.ceil((n + 1) * size)], 0, extent).astype(int)
            )
            for start, n, size, extent in zip((top, left), (row, column), sizes, x.shape[2:], strict=True)
        ]
        part = x[int(box[0])][:, ends[0], ends[1]]
        if part.size:
            found[:, row, column] = part.max((1, 2))
    return found


@pytest.mark.parametrize(("count", "scale"), [((2, 2), 1.0), ((4, 2), 0.5), ((1, 1), 0.25)])
def test_the_greatest_of_cells_of_boxes(count: tuple[int, int], scale: float):
    x = normal(2, 3, 12, 9)
    boxes = [[0, 0, 0, 8, 11], [1, 2.5, 1.5, 6, 20], [0, 30, 2, 40, 9], [1, -4, -3, 2, 2], [0, 5, 5, 5, 5]]
    rois = np.array(boxes, np.float32)
    found = run("MaxRoiPool", [x, rois], pooled_shape=list(count), spatial_scale=scale)
    np.testing.assert_array_equal(found, np.stack([cells(x, box, count, scale) for box in rois]))


def test_boxes_of_a_wrong_shape():
    x = normal(1, 1, 4, 4)
    with pytest.raises(TenonError, match="expected images and rows of 5 numbers"):
        run("MaxRoiPool", [x, normal(2, 4)], pooled_shape=[2, 2])
    with pytest.raises(TenonError, match="expected two positive numbers"):
        run("MaxRoiPool", [x, normal(2, 5)], pooled_shape=[2])
