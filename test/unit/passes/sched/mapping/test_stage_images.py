"""Convolutions of several images pad them where they are read, with the bits of the graph's own padding."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp
from tenon import nn

Array = npt.NDArray[Any]

NOTE = "rows of the image at a time in a local buffer"


def last(function: Any) -> Any:
    """The function of images with channels last."""

    def moved(x: Any, *others: Any) -> Any:
        return tnp.permute_dims(function(tnp.permute_dims(x, (0, 3, 1, 2)), *others), (0, 2, 3, 1))

    return moved


def compiled(function: Any, *arrays: Array) -> tenon.Executable:
    """Compiles a function and checks that each thread count gives the interpreter's bits."""
    executable = tenon.compile(tenon.jit(function).lower(*arrays).text("traced"))
    interpreted = tenon.compile(executable.stages["sched"], backend="reference")
    expected = np.asarray(interpreted(*arrays)).tobytes()
    before = tenon.get_num_threads()
    try:
        for count in (1, 3):
            tenon.set_num_threads(count)
            assert np.asarray(executable(*arrays)).tobytes() == expected
    finally:
        tenon.set_num_threads(before)
    return executable


CASES = {
    "stride 1": ((2, 16, 50, 48), (32, 16, 3, 3), {"padding": 1}),
    "stride 2": ((3, 12, 53, 47), (20, 12, 5, 5), {"padding": 2, "strides": 2}),
    "dilation": ((2, 16, 51, 50), (33, 16, 3, 3), {"padding": 2, "dilation": 2}),
    "one image": ((1, 24, 60, 61), (16, 24, 3, 3), {"padding": ((1, 0), (0, 2))}),
}


@pytest.mark.parametrize("is_last", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_padding_is_part_of_the_convolution(case: str, is_last: bool) -> None:
    shape, weights, options = CASES[case]
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(each).astype(np.float32) for each in (shape, weights))

    def function(x: Any, w: Any) -> Any:
        return nn.relu(nn.conv(x, w, **options))

    plain = np.asarray(
        tenon.compile(tenon.jit(function).lower(x, w).text("traced"), backend="reference")(x, w)
    )
    if is_last:
        executable = compiled(last(function), np.ascontiguousarray(x.transpose(0, 2, 3, 1)), w)
        found = np.asarray(executable(np.ascontiguousarray(x.transpose(0, 2, 3, 1)), w)).transpose(0, 3, 1, 2)
    else:
        executable = compiled(function, x, w)
        found = np.asarray(executable(x, w))
    assert NOTE in executable.stages["sched"]
    np.testing.assert_allclose(found, plain, rtol=1e-4, atol=1e-4)


OPEN = {
    "a varying number of images": ({0: tenon.Dim("n", 1, 5)}, [(1, 16, 50, 48), (5, 16, 50, 48)], True),
    "images of varying height": ({2: tenon.Dim("h", 3, 80)}, [(2, 16, 3, 48), (2, 16, 77, 48)], True),
    # The copy would be no vectors: where the borders of a row are is known when the kernel runs.
    "images of varying width": ({3: tenon.Dim("w", 3, 80)}, [(2, 16, 50, 3), (2, 16, 50, 77)], False),
}


@pytest.mark.parametrize("strides", [1, 2])
@pytest.mark.parametrize("case", OPEN)
def test_images_with_named_dims_are_padded_where_they_are_read(case: str, strides: int) -> None:
    dims, shapes, is_staged = OPEN[case]
    rng = np.random.default_rng(0)
    w = rng.standard_normal((32, 16, 3, 3)).astype(np.float32)

    def function(x: Any) -> Any:
        return nn.relu(nn.conv(x, w, padding=1, strides=strides))

    f = tenon.jit(function, dynamic={"x": dims})
    for shape in shapes:
        x = rng.standard_normal(shape).astype(np.float32)
        text = f.lower(x).text("sched")
        assert (NOTE in text) == is_staged
        assert "tile(" in text
        interpreted = tenon.compile(text, backend="reference")
        found = np.asarray(f(x))
        assert found.tobytes() == np.asarray(interpreted(x, w)).tobytes()
        np.testing.assert_allclose(found, np.asarray(tenon.jit(function)(x)), rtol=1e-4, atol=1e-4)


def test_padding_with_infinite_weights_gives_nan_as_anywhere():
    x = np.ones((2, 16, 50, 48), np.float32)
    w = np.full((16, 16, 3, 3), np.inf, np.float32)
    executable = compiled(lambda x, w: nn.conv(x, w, padding=1), x, w)
    assert NOTE in executable.stages["sched"]
    found = np.asarray(executable(x, w))
    assert np.isnan(found[:, :, 0]).all() and np.isposinf(found[:, :, 1:-1, 1:-1]).all()


def test_each_of_several_convolutions_pads_its_own_image():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 16, 50, 48)).astype(np.float32)
    weights = [rng.standard_normal((16, 16, 3, 3)).astype(np.float32) for _ in range(3)]

    def function(x: Any, u: Any, v: Any, w: Any) -> Any:
        for kernel in (u, v, w):
            x = nn.conv(x, kernel, padding=1)
        return x

    schedule = compiled(function, x, *weights).stages["sched"]
    assert NOTE in schedule and "memref<2x16x52x50xf32>" not in schedule
    # The first image is an argument: it is padded by other code than the others, whose kernel is one.
    assert schedule.count("sched.launch") == 6


def test_what_is_computed_while_padding_is_computed_there():
    x = np.random.default_rng(0).standard_normal((2, 16, 50, 48)).astype(np.float32)
    w = np.ones((16, 16, 3, 3), np.float32)
    schedule = compiled(lambda x, w: nn.conv(nn.relu(x) - 1.0, w, padding=1), x, w).stages["sched"]
    assert schedule.count(NOTE) == 1 and schedule.count("sched.launch") == 2


def test_an_image_without_padding_is_copied_where_its_channels_are_apart():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 16, 50, 48)).astype(np.float32)
    w = rng.standard_normal((16, 16, 3, 3)).astype(np.float32)
    assert NOTE in compiled(nn.conv, x, w).stages["sched"]
    columns = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    assert NOTE not in compiled(last(nn.conv), columns, w).stages["sched"]


def test_what_reads_the_padded_image_too_keeps_it():
    x = np.ones((2, 50, 48, 16), np.float32)
    w = np.ones((16, 16, 3, 3), np.float32)

    def function(x: Any, w: Any) -> Any:
        padded = tnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        return last(nn.conv)(padded, w), padded

    executable = tenon.compile(tenon.jit(function).lower(x, w).text("traced"))
    assert NOTE not in executable.stages["sched"]
    found, padded = executable(x, w)
    assert np.asarray(padded).shape == (2, 52, 50, 16) and np.asarray(found)[0, 1, 1, 0] == 144


@pytest.mark.parametrize(("images", "is_staged"), [(4, True), (1, False)])
def test_blocks_of_channels_share_the_rows_that_are_staged(images: int, is_staged: bool) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((images, 40, 148 // images, 32)).astype(np.float32)
    u, v = (rng.standard_normal((64, inner, 3, 3)).astype(np.float32) for inner in (32, 64))

    def function(x: Any, u: Any, v: Any) -> Any:
        # The sum is computed where the second image is padded: the first kernel stores blocks of channels.
        return nn.conv(nn.conv(x, u, padding=1) + 1.0, v, padding=1)

    kernels = compiled(last(function), x, u, v).stages["sched"].split("sched.kernel ")
    first = next(text for text in kernels if "sched.reduce fma" in text)
    # Of one image each work-group has a block of channels of a row, and would stage that row for itself.
    assert (NOTE in first) == is_staged
