"""Convolutional nets whose images have their channels last inside: what they compute, and which ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon import nn
from tenon.dialects import context
from tenon.passes.graph.packing import pack_convolutions
from tenon.passes.machine.target import DEFAULT_TARGET
from tenon.passes.pass_manager import PassManager
from tenon.passes.pipeline import phases

Net = Callable[..., Any]


def plain(x: Any, first: Any, second: Any) -> Any:
    return nn.conv(nn.relu(nn.conv(x, first, strides=2, padding=1)), second, padding=1)


def residual(x: Any, first: Any, second: Any) -> Any:
    y = nn.max_pool(nn.conv(x, first, padding=1), 3, strides=2, padding=1)
    for _ in range(2):
        scale = tnp.mean(y, axis=(2, 3), keepdims=True)
        y = nn.relu(nn.conv(y, second, padding=1) * 2.0 + y - scale)
    return tnp.sum(y, axis=(2, 3))


def dilated(x: Any, first: Any, second: Any) -> Any:
    y = nn.conv(x, first, dilation=2)
    y = tnp.where(y > 0, y, y * 0.5)[:, :, 1:, :-1:2]
    return nn.avg_pool(nn.conv(y, second, padding="same", dilation=2), 2)


def depthwise(x: Any, first: Any, second: Any) -> Any:
    y = nn.conv(x, first)
    y = nn.conv(y, second[:, :1], padding=1, groups=y.shape[1])
    return nn.conv(y, second, strides=2)


def upsampled(x: Any, first: Any, second: Any) -> Any:
    y = nn.conv(x, first, padding=1)
    z = nn.conv_transpose(nn.max_pool(y, 2), second[:, :, :2, :2], strides=2)
    kept = y[:, :, : z.shape[2], : z.shape[3]]
    y = tnp.concat((kept, z), 1)
    return nn.conv(y, tnp.concat((second, second), 1)), kept


NETS: list[Net] = [plain, residual, dilated, depthwise, upsampled]


def arrays(images: int, channels: int, extents: tuple[int, int], whole: bool = True) -> list[Any]:
    """Small whole numbers, whose sums are exact in any order."""
    rng = np.random.default_rng(0)
    shapes = (images, 3, *extents), (channels, 3, 3, 3), (channels, channels, 3, 3)
    draw = (lambda shape: rng.integers(-2, 3, shape)) if whole else rng.standard_normal
    return [draw(shape).astype(np.float32) for shape in shapes]


def evaluated(net: Net, given: list[Any]) -> list[Any]:
    """What the interpreter of graph computes, of the program as it is written."""
    found = tenon.compile(tenon.jit(net).lower(*given).text("traced"), backend="reference")(*given)
    return found if isinstance(found, list | tuple) else [found]


def is_laid(net: Net, given: list[Any]) -> bool:
    module = tenon.jit(net).lower(*given).module.clone()
    passes = phases(DEFAULT_TARGET)["graph"]
    at = [each.name for each in passes].index("lay-channels-last")
    PassManager(passes[:at]).run(context(), module)
    before = str(module)
    PassManager(passes[at : at + 1]).run(context(), module)
    return str(module) != before


@pytest.fixture(autouse=True)
def small_convolutions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pack_convolutions, "LEAST_PRODUCTS", 1)


@pytest.mark.parametrize("backend", ["llvm", "opencl", "reference"])
@pytest.mark.parametrize("shape", [(1, 16, (12, 17)), (3, 9, (13, 11))])
@pytest.mark.parametrize("net", NETS, ids=lambda each: each.__name__)
def test_nets(net: Net, shape: tuple[int, int, tuple[int, int]], backend: str) -> None:
    given = arrays(*shape)
    assert is_laid(net, given)
    program = tenon.compile(tenon.jit(net).lower(*given).text("traced"), backend=backend)
    found = program(*given)
    found = found if isinstance(found, list | tuple) else [found]
    for each, expected in zip(found, evaluated(net, given), strict=True):
        np.testing.assert_allclose(np.asarray(each), np.asarray(expected), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3"])
@pytest.mark.parametrize("net", NETS, ids=lambda each: each.__name__)
def test_nets_on_other_processors(net: Net, target: str) -> None:
    given = arrays(2, 20, (15, 14))
    found = tenon.jit(net, target=target)(*given)
    found = found if isinstance(found, list | tuple) else [found]
    for each, expected in zip(found, evaluated(net, given), strict=True):
        np.testing.assert_allclose(np.asarray(each), np.asarray(expected), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("net", NETS, ids=lambda each: each.__name__)
def test_the_bits_are_those_of_the_schedule(net: Net) -> None:
    given = arrays(2, 16, (11, 13), whole=False)
    executable = tenon.compile(tenon.jit(net).lower(*given).text("traced"))
    interpreted = tenon.compile(executable.stages["sched"], backend="reference")
    both = [each(*given) for each in (executable, interpreted)]
    found, expected = (each if isinstance(each, list | tuple) else [each] for each in both)
    for each, other in zip(found, expected, strict=True):
        assert np.asarray(each).tobytes() == np.asarray(other).tobytes()


def test_named_dims() -> None:
    dims = {0: tenon.Dim("images", 1, 4), 2: tenon.Dim("rows", 5, 40), 3: tenon.Dim("columns", 5, 40)}
    for net in (plain, residual):
        compiled = tenon.jit(net, dynamic={"x": dims})
        for images, extents in ((1, (9, 12)), (4, (16, 7)), (2, (31, 33))):
            given = arrays(images, 16, extents)
            expected = evaluated(net, given)[0]
            np.testing.assert_allclose(np.asarray(compiled(*given)), np.asarray(expected), rtol=1e-5)


def test_what_is_read_in_the_order_that_it_had_more_often_stays() -> None:
    def returned(x: Any, first: Any, second: Any) -> Any:
        y = nn.conv(x, first)
        return nn.conv(y, second), y + 1.0, y * 2.0

    assert not is_laid(returned, arrays(1, 16, (12, 17)))


def test_one_convolution_and_sums_of_few_bits_stay() -> None:
    assert not is_laid(lambda x, first, _: nn.relu(nn.conv(x, first)), arrays(1, 16, (12, 17)))
    assert is_laid(plain, [each.astype(np.int32) for each in arrays(1, 16, (12, 17))])
    assert not is_laid(plain, [each.astype(np.int16) for each in arrays(1, 16, (12, 17))])


def bordered(x: Any, w: Any) -> Any:
    return nn.conv(x, w, padding=1)


def image(channels: int, out: int, extents: tuple[int, int] = (9, 11), images: int = 2) -> list[Any]:
    rng = np.random.default_rng(0)
    shapes = (images, channels, *extents), (out, channels, 3, 3)
    return [rng.integers(-2, 3, shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize("backend", ["llvm", "opencl", "reference"])
def test_images_of_many_channels_are_turned_while_they_get_a_border(backend: str) -> None:
    for given in (image(128, 16), image(130, 9, (7, 7), images=1)):
        assert is_laid(bordered, given)
        program = tenon.compile(tenon.jit(bordered).lower(*given).text("traced"), backend=backend)
        np.testing.assert_array_equal(np.asarray(program(*given)), evaluated(bordered, given)[0])


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3"])
def test_images_with_a_border_on_other_processors(target: str) -> None:
    given = image(256, 32, (14, 14))
    found = tenon.jit(bordered, target=target)(*given)
    np.testing.assert_array_equal(np.asarray(found), evaluated(bordered, given)[0])


def test_which_images_with_a_border_stay() -> None:
    def summed_too(x: Any, w: Any) -> Any:
        y = tnp.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        return nn.conv(y, w), y

    def of_two(x: Any, w: Any) -> Any:
        y = tnp.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        return nn.conv(y, w), nn.conv(y, w, strides=2)

    def grouped(x: Any, w: Any) -> Any:
        return nn.conv(x, w[:, :64], padding=1, groups=2)

    def without_border(x: Any, w: Any) -> Any:
        return nn.conv(x, w)

    given = image(128, 16)
    assert is_laid(of_two, given)
    assert not any(is_laid(net, given) for net in (summed_too, grouped, without_border))
    assert not is_laid(bordered, image(127, 16))


def test_small_convolutions_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pack_convolutions, "LEAST_PRODUCTS", 1 << 40)
    assert not is_laid(plain, arrays(1, 16, (12, 17)))
