"""Convolutions leave out products with the border of their images, where that is worth it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp
from tenon import nn
from tenon.dialects import context
from tenon.passes.pass_manager import PassManager
from tenon.passes.sched.mapping import skip_padding

Array = npt.NDArray[Any]

NOTE = "products with the border of the image are left out"

LARGE = (4, 7, 7, 512), (512, 512, 3, 3)
"""The shapes of images, with channels last, and of weights whose border is worth it."""


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has small convolutions leave out products too."""
    monkeypatch.setattr(skip_padding, "LEAST_LEFT_OUT", 0)
    monkeypatch.setattr(skip_padding, "LEAST_DEPTH", 0)
    monkeypatch.setattr(skip_padding, "LEAST_SHARE", 1e-9)


def conv(x: Any, w: Any, **options: Any) -> Any:
    """A convolution with channels last."""
    found = nn.conv(tnp.permute_dims(x, (0, 3, 1, 2)), tnp.permute_dims(w, (3, 2, 0, 1)), **options)
    return tnp.permute_dims(found, (0, 2, 3, 1))


def arrays(*shapes: tuple[int, ...]) -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def compiled(function: Callable[..., Any], *inputs: Array) -> tenon.Executable:
    """Compiles a function and checks that all levels give the same bits."""
    executable = tenon.compile(tenon.jit(function).lower(*inputs).text("traced"))
    found = np.asarray(executable(*inputs))
    with np.errstate(all="ignore"):
        interpreted = tenon.compile(executable.stages["sched"], backend="reference")(*inputs)
    np.testing.assert_array_equal(found, np.asarray(interpreted))
    return executable


def plain(function: Callable[..., Any], *inputs: Array) -> Array:
    """What a function gives of f64, op by op."""
    text = tenon.jit(function).lower(*(each.astype(np.float64) for each in inputs)).text("traced")
    with np.errstate(all="ignore"):
        return np.asarray(
            tenon.compile(text, backend="reference")(*(each.astype(np.float64) for each in inputs))
        )


def test_a_large_convolution_leaves_out_its_border() -> None:
    inputs = arrays(*LARGE)

    def function(x: Any, w: Any) -> Any:
        return tnp.permute_dims(nn.conv(tnp.permute_dims(x, (0, 3, 1, 2)), w, padding=1), (0, 2, 3, 1))

    sched = tenon.jit(function).lower(*inputs).text("sched")
    assert NOTE in sched and "low.select %inside" in sched
    assert "rows 2 [1 to 7, 0 to 7, 0 to 6]" in tenon.jit(function, target="x86-64-v4").lower(*inputs).text(
        "low"
    )
    # With one image it would take longer to compile than it saves.
    assert NOTE not in tenon.jit(function).lower(inputs[0][:1], inputs[1]).text("sched")


CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "one tile": ((2, 14, 14, 16), (3, 3, 16, 32), {"padding": 1}),
    "few pixels": ((1, 7, 7, 40), (3, 3, 40, 24), {"padding": 1}),
    "strides": ((1, 14, 14, 16), (3, 3, 16, 32), {"padding": 1, "strides": 2}),
    "larger windows": ((1, 9, 11, 8), (5, 5, 8, 16), {"padding": 2}),
    "several tiles": ((1, 6, 40, 8), (3, 3, 8, 16), {"padding": 1}),
    "a border on one side": ((1, 8, 9, 8), (3, 3, 8, 16), {"padding": ((2, 0), (0, 2))}),
}


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("what", ["finite", "weights", "pixels"])
@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_all_products(case: str, what: str) -> None:
    image, weights, options = CASES[case]
    x, w = arrays(image, weights)
    if what == "weights":
        w[0, 0, 1, 2], w[-1, 1, 0, 3], w[1, -1, 3, 4] = np.inf, np.nan, -np.inf
    elif what == "pixels":
        x[0, 0, 0, 1], x[0, 3, 2, 0] = np.inf, np.nan

    def function(x: Any, w: Any) -> Any:
        return nn.relu(conv(x, w, **options)) - 1.0

    executable = compiled(function, x, w)
    assert NOTE in executable.stages["sched"]
    np.testing.assert_allclose(np.asarray(executable(x, w)), plain(function, x, w), rtol=1e-4, atol=1e-4)


def unpadded(x: Any, w: Any) -> Any:
    return conv(x, w)


def of_ones(x: Any, w: Any) -> Any:
    return conv(tnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=1.0), w)


def dilated(x: Any, w: Any) -> Any:
    return conv(x, w, padding=1, dilation=2)


def padded(x: Any, w: Any) -> Any:
    return conv(x, w, padding=1)


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize(
    ("function", "pixels"),
    [(unpadded, 9), (of_ones, 9), (dilated, 9), (padded, 2)],
    ids=["no border", "a border of ones", "dilation", "an image that is smaller than a window"],
)
def test_nothing_is_left_out_without_a_border_of_zeros(function: Any, pixels: int) -> None:
    inputs = arrays((1, pixels, pixels, 16), (3, 3, 16, 32))
    executable = compiled(function, *inputs)
    assert NOTE not in executable.stages["sched"]
    np.testing.assert_allclose(
        np.asarray(executable(*inputs)), plain(function, *inputs), rtol=1e-4, atol=1e-4
    )


@pytest.mark.usefixtures("everywhere")
def test_each_kernel_leaves_out_the_border_of_its_own_images() -> None:
    x, y, w = arrays((1, 9, 9, 16), (1, 11, 11, 16), (3, 3, 16, 32))

    def both(x: Any, y: Any, w: Any) -> Any:
        return conv(x, w, padding=1), conv(y, w)

    def twice(x: Any, y: Any, w: Any) -> Any:
        return conv(x, w, padding=1), conv(y[:, 1:-1, 1:-1], w, padding=1)

    for function in (both, twice):
        executable = tenon.compile(tenon.jit(function).lower(x, y, w).text("traced"))
        text = str(executable.stages["sched"])
        for found, inputs in zip(executable(x, y, w), (x, y), strict=True):
            alone = padded if function is twice or inputs is x else unpadded
            image = y[:, 1:-1, 1:-1] if inputs is y and function is twice else inputs
            np.testing.assert_allclose(np.asarray(found), plain(alone, image, w), rtol=1e-4, atol=1e-4)
        # An argument may hold anything where the other image has its border.
        tiled = [kernel for kernel in text.split("sched.kernel") if " tile(" in kernel]
        assert sorted(NOTE in kernel for kernel in tiled) == [function is twice, True]


@pytest.mark.usefixtures("everywhere")
def test_an_image_of_two_parts_has_the_border_of_both() -> None:
    x, y, w = arrays((1, 9, 9, 8), (1, 9, 9, 8), (3, 3, 16, 32))

    def function(x: Any, y: Any, w: Any) -> Any:
        return conv(nn.relu(tnp.concat((x, y * 2.0), axis=3)), w, padding=1)

    executable = compiled(function, x, y, w)
    assert NOTE in executable.stages["sched"]
    np.testing.assert_allclose(
        np.asarray(executable(x, y, w)), plain(function, x, y, w), rtol=1e-4, atol=1e-4
    )


def staged(function: Callable[..., Any], *inputs: Array) -> str:
    """The `sched` text for a machine whose cache is so small that small images are staged."""
    module = tenon.jit(function).lower(*inputs).module
    PassManager("graph-pipeline,sched-pipeline{l2-nbytes=65536}").run(context(), module)
    return str(module)


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("what", ["finite", "weights"])
@pytest.mark.parametrize(
    ("pixels", "options"),
    [((2, 20, 20), {}), ((1, 23, 31), {"strides": 2}), ((1, 19, 40), {})],
    ids=["rows in even parts", "strides", "rows in parts that differ"],
)
def test_images_that_are_staged_leave_out_the_same(
    pixels: tuple[int, ...], options: dict[str, Any], what: str
) -> None:
    x, w = arrays((*pixels, 16), (3, 3, 16, 32))
    if what == "weights":
        w[0, 0, 1, 2], w[-1, 1, 0, 3] = np.inf, np.nan

    def function(x: Any, w: Any) -> Any:
        return conv(nn.relu(x), w, padding=1, **options)

    text = staged(function, x, w)
    (kernel,) = [each for each in text.split("sched.kernel") if " tile(" in each]
    assert "sched.alloc local" in kernel and NOTE in kernel
    found = np.asarray(tenon.compile(text)(x, w))
    with np.errstate(all="ignore"):
        interpreted = tenon.compile(text, backend="reference")(x, w)
    np.testing.assert_array_equal(found, np.asarray(interpreted))
    np.testing.assert_allclose(found, plain(function, x, w), rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("everywhere")
def test_images_that_are_staged_as_they_are_leave_out_nothing() -> None:
    """With channels first."""
    x, w = arrays((2, 16, 20, 20), (32, 16, 3, 3))
    text = staged(lambda x, w: nn.conv(x, w), x, w)
    assert "sched.alloc local" in text and NOTE not in text
    assert NOTE in staged(lambda x, w: nn.conv(x, w, padding=1), x, w)


@pytest.mark.usefixtures("everywhere")
def test_a_named_number_of_images_leaves_out_the_same() -> None:
    x, w = arrays((3, 14, 14, 16), (3, 3, 16, 32))
    f = tenon.jit(padded, dynamic={"x": {0: tenon.Dim("n", 1, 4)}})
    assert NOTE in f.lower(x, w).text("sched")
    for count in (1, 3):
        np.testing.assert_array_equal(
            np.asarray(f(x[:count], w)), np.asarray(tenon.jit(padded)(x, w))[:count]
        )


@pytest.mark.usefixtures("everywhere")
def test_threads_and_older_processors_leave_out_the_same() -> None:
    x, w = arrays((2, 14, 14, 16), (3, 3, 16, 32))
    expected = np.asarray(tenon.jit(padded)(x, w))
    for target in ("x86-64-v2", "x86-64-v3"):
        f = tenon.jit(padded, target=target)
        assert NOTE in f.lower(x, w).text("sched")
        np.testing.assert_allclose(np.asarray(f(x, w)), expected, rtol=1e-5, atol=1e-5)
    before = tenon.get_num_threads()
    try:
        tenon.set_num_threads(3)
        np.testing.assert_array_equal(np.asarray(tenon.jit(padded)(x, w)), expected)
    finally:
        tenon.set_num_threads(before)
