"""Transposed convolutions of a given shape: what is cut off, and what is added."""

from __future__ import annotations

import numpy as np
import pytest
from tenon.test.unit.frontends.onnx.models import Array
from tenon.test.unit.frontends.onnx.single_node import run


def spread(x: Array, kernel: Array, stride: int) -> Array:
    """Returns all that a kernel adds up from the elements of a row."""
    whole = np.zeros((len(x) - 1) * stride + len(kernel), x.dtype)
    for number, element in enumerate(x):
        whole[number * stride :][: len(kernel)] += element * kernel
    return whole


@pytest.mark.parametrize("auto_pad", ["NOTSET", "SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(("size", "stride"), [(1, 3), (2, 3), (3, 2), (4, 1)])
@pytest.mark.parametrize("beyond", [-3, -2, -1, 0, 1, 2])
def test_a_given_shape_cuts_both_ends_and_adds_behind(auto_pad: str, size: int, stride: int, beyond: int):
    x, kernel = np.arange(1, 5, dtype=np.float32), np.arange(2, 2 + size, dtype=np.float32)
    whole = spread(x, kernel, stride)
    cut = max(-beyond, 0)
    first = cut // 2 if auto_pad == "SAME_UPPER" else cut - cut // 2
    wanted = np.concatenate([whole, np.zeros(max(beyond, 0), np.float32)])[first:][: len(whole) + beyond]
    found = run(
        "ConvTranspose",
        [x.reshape(1, 1, -1), kernel.reshape(1, 1, -1)],
        auto_pad=auto_pad,
        strides=[stride],
        output_shape=[len(wanted)],
    )
    np.testing.assert_array_equal(found.ravel(), wanted)


def test_gaps_behind_all_windows_are_shared_where_no_shape_is_given():
    x = np.array([1, 2], np.float32)
    for auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        found = run(
            "ConvTranspose",
            [x.reshape(1, 1, -1), np.ones((1, 1, 1), np.float32)],
            auto_pad=auto_pad,
            strides=[3],
        )
        np.testing.assert_array_equal(found.ravel(), [0, 1, 0, 0, 2, 0])
