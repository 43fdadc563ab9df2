"""Pools: windows with gaps, at borders, and of images whose batch has a named dim."""

from __future__ import annotations

import numpy as np
import pytest
import tenon
from tenon.errors import TenonError
from tenon.test.unit.frontends.onnx.models import Array, model_of, normal
from tenon.test.unit.frontends.onnx.single_node import run


def windows_of(
    x: Array, size: int, stride: int, apart: int, pads: tuple[int, int], ceil: bool
) -> list[Array]:
    """Returns the elements of each window along the last axis, those that there are."""
    low, high = pads
    whole = (size - 1) * apart + 1
    count = x.shape[-1] + low + high - whole
    n_windows = (-(-count // stride) if ceil else count // stride) + 1
    found = []
    for number in range(n_windows):
        first = number * stride - low
        places = [first + k * apart for k in range(size)]
        inside = [place for place in places if 0 <= place < x.shape[-1]]
        if first < x.shape[-1]:
            found.append(x[..., inside])
    return found


@pytest.mark.parametrize("apart", [1, 2])
@pytest.mark.parametrize("pads", [(0, 0), (1, 1), (0, 2)])
@pytest.mark.parametrize("ceil", [0, 1])
def test_pools_take_the_elements_of_windows(apart: int, pads: tuple[int, int], ceil: int):
    attributes = (
        f"kernel_shape = [3], strides = [2], dilations = [{apart}], pads = [{pads[0]}, {pads[1]}], "
        f"ceil_mode = {ceil}"
    )
    text = f"""
    agraph (float[n, 2, 10] x) => (float[n, 2, k] greatest, float[n, 2, k] mean, int64[n, 2, k] places)
    {{ greatest, places = MaxPool<{attributes}>(x) mean = AveragePool<{attributes}>(x) }}
    """
    model = tenon.from_onnx(model_of(text), backend="reference")
    for count in (1, 3):
        x = normal(count, 2, 10)
        greatest, mean, places = model(x)
        windows = windows_of(x, 3, 2, apart, pads, bool(ceil))
        np.testing.assert_array_equal(greatest, np.stack([each.max(-1) for each in windows], -1))
        np.testing.assert_allclose(mean, np.stack([each.mean(-1) for each in windows], -1), rtol=1e-5)
        np.testing.assert_array_equal(x.reshape(-1)[places], greatest)


def test_padding_counts_where_that_is_asked_for():
    text = """
    agraph (float[1, 1, 4] x) => (float[1, 1, k] y)
    { y = AveragePool<kernel_shape = [2], pads = [1, 1], count_include_pad = 1>(x) }
    """
    x = np.array([[[2, 4, 6, 8]]], np.float32)
    found = tenon.from_onnx(model_of(text), backend="reference")(x)
    np.testing.assert_array_equal(found, [[[1, 3, 5, 7, 4]]])


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("name", ["kernel_shape", "strides", "dilations"])
@pytest.mark.parametrize("number", [-1, 0])
def test_windows_of_no_size_are_an_error(op: str, name: str, number: int):
    attributes = {"kernel_shape": [1, 2], name: [1, number]}
    message = rf"{op} \(node 0\): {name} is \[1, {number}\], expected positive numbers$"
    with pytest.raises(TenonError, match=message):
        run(op, [normal(1, 1, 6, 6)], opset=22, **attributes)


def test_windows_of_one_element_are_the_elements():
    x = normal(1, 2, 3, 4)
    attributes = {name: [1, 1] for name in ("kernel_shape", "strides", "dilations")}
    np.testing.assert_array_equal(run("MaxPool", [x], opset=22, **attributes), x)
