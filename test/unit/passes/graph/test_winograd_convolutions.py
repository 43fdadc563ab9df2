"""Convolutions by sums of tiles: what they compute, how far they are off, and which ones there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon import nn
from tenon.dialects import context
from tenon.passes.graph.packing import winograd_convolutions
from tenon.passes.machine.target import DEFAULT_TARGET
from tenon.passes.pass_manager import PassManager
from tenon.passes.pipeline import phases

FLAGS = "reassoc nnan ninf"
OP = "graph.winograd_input_transform"


def conv(x: Any, w: Any, padding: Any = 1) -> Any:
    """A convolution of images whose channels are last."""
    images = tnp.permute_dims(x, (0, 3, 1, 2))
    return tnp.permute_dims(nn.conv(images, w, padding=padding), (0, 2, 3, 1))


def arrays(images: int, extents: tuple[int, int], inputs: int, outputs: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(images + inputs)
    x = rng.standard_normal((images, *extents, inputs), np.float32)
    return x, rng.standard_normal((outputs, inputs, 3, 3), np.float32)


def right(x: Any, w: Any, padding: Any = 1) -> Any:
    """The convolution in f64."""
    before, after = padding if isinstance(padding, tuple) else (padding, padding)
    wide = np.pad(x.astype(np.float64), ((0, 0), (before, after), (before, after), (0, 0)))
    rows, columns = wide.shape[1] - 2, wide.shape[2] - 2
    return sum(
        wide[:, i : i + rows, j : j + columns] @ w[:, :, i, j].T.astype(np.float64)
        for i in range(3)
        for j in range(3)
    )


def bettered(compiled: Any, *arguments: Any) -> str:
    """Returns the text of what the passes over `graph` leave of a call."""
    module = compiled.lower(*arguments).module.clone()
    PassManager(phases(DEFAULT_TARGET)["graph"]).run(context(), module)
    return str(module)


def is_transformed(compiled: Any, *arguments: Any) -> bool:
    return OP in bettered(compiled, *arguments)


@pytest.mark.parametrize(
    ("images", "extents", "inputs", "outputs", "padding"),
    [
        (1, (8, 8), 32, 32, 1),
        (1, (7, 9), 64, 32, 1),
        (2, (10, 6), 32, 48, 0),
        (3, (5, 8), 33, 47, 2),
        (1, (28, 28), 128, 128, 1),
        (1, (14, 14), 256, 256, 1),
        (2, (3, 3), 64, 64, 1),
    ],
)
def test_within_the_stated_accuracy(
    images: int, extents: tuple[int, int], inputs: int, outputs: int, padding: Any
) -> None:
    x, w = arrays(images, extents, inputs, outputs)
    weights = tenon.freeze(w)
    compiled = tenon.jit(lambda x: conv(x, weights, padding), fastmath=FLAGS)
    assert is_transformed(compiled, x)
    expected = right(x, w, padding)
    off = np.abs(np.asarray(compiled(x)) - expected).max() / np.spacing(np.float32(np.abs(expected).max()))
    assert off <= 8 * np.sqrt(9 * inputs)


def residual(x: Any, first: Any, second: Any, bias: Any) -> Any:
    y = nn.relu(nn.conv(x, first, padding=1) + bias[:, None, None])
    for _ in range(2):
        y = nn.relu(nn.conv(nn.relu(nn.conv(y, second, padding=1)), second, padding=1) + y)
    return tnp.mean(y, axis=(2, 3))


def nets(extents: tuple[int, int]) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    shapes = (32, 3, 3, 3), (32, 32, 3, 3), (32,)
    weights = tuple((rng.standard_normal(shape) / 8).astype(np.float32) for shape in shapes)
    return rng.standard_normal((2, 3, *extents), np.float32), weights


@pytest.mark.parametrize("extents", [(12, 12), (13, 9)])
@pytest.mark.parametrize("backend", ["llvm", "opencl", "reference"])
def test_whole_nets(extents: tuple[int, int], backend: str) -> None:
    x, weights = nets(extents)
    expected = np.asarray(tenon.jit(residual)(x, *weights))
    frozen = tenon.freeze(weights)
    compiled = tenon.jit(lambda x: residual(x, *frozen), fastmath="fast", backend=backend)
    # All but the first one, whose images come from outside.
    assert bettered(compiled, x).count(OP) == 8
    np.testing.assert_allclose(np.asarray(compiled(x)), expected, rtol=2e-5, atol=2e-5)


def test_every_level_gives_the_same_bits() -> None:
    x, weights = nets((13, 9))
    frozen = tenon.freeze(weights)
    text = bettered(tenon.jit(lambda x: residual(x, *frozen), fastmath=FLAGS), x)
    graph = tenon.compile(text, backend="reference", level="graph")
    compiled = tenon.compile(text)
    low = tenon.compile(text, backend="reference", level="low")
    # The bias is a constant.
    given = [x, *weights[:2]]
    results = [np.asarray(program(*given)) for program in (graph, low, compiled)]
    np.testing.assert_allclose(results[0], results[1], rtol=2e-5, atol=2e-5)
    np.testing.assert_array_equal(results[1], results[2])


def test_any_number_of_images() -> None:
    x, weights = nets((12, 12))
    frozen = tenon.freeze(weights)
    dynamic = {"x": {0: tenon.Dim("n", 1, 4)}}
    compiled = tenon.jit(lambda x: residual(x, *frozen), fastmath=FLAGS, dynamic=dynamic)
    expected = np.asarray(tenon.jit(residual)(x, *weights))
    for count in (1, 2):
        given = np.asarray(compiled(x[:count]))
        np.testing.assert_allclose(given, expected[:count], rtol=2e-5, atol=2e-5)
    assert is_transformed(compiled, x)


def test_bits_stay_without_flags() -> None:
    """An infinity is in the results whose windows have it, and in no others."""
    x, w = arrays(1, (8, 8), 32, 32)
    x[0, 4, 4, 0] = np.inf
    weights = tenon.freeze(w)
    compiled = tenon.jit(lambda x: conv(x, weights))
    assert not is_transformed(compiled, x)
    finite = np.isfinite(np.asarray(compiled(x))).all(axis=(0, 3))
    assert not finite[3:6, 3:6].any() and finite.sum() == 64 - 9


def test_explain_says_why() -> None:
    x, w = arrays(1, (8, 8), 32, 32)
    told = str(tenon.jit(conv, fastmath=FLAGS).explain(x, w))
    assert "all 36 products of a tile, as its weights may change from call to call" in told
    weights = tenon.freeze(w)
    told = str(tenon.jit(lambda x: conv(x, weights), fastmath=FLAGS).explain(x))
    assert "sums of tiles, by which 16 products are a convolution's 36" in told
    told = str(tenon.jit(lambda x: conv(x, weights)).explain(x))
    assert "as its fastmath lacks reassoc, nnan, ninf" in told


def test_thresholds_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = arrays(1, (8, 8), 32, 32)
    weights = tenon.freeze(w)
    monkeypatch.setattr(winograd_convolutions, "LEAST_CHANNELS", 33)
    assert not is_transformed(tenon.jit(lambda x: conv(x, weights), fastmath=FLAGS), x)


def test_flags_are_of_all_float_ops() -> None:
    def mixed(x: Any, n: Any) -> Any:
        def body(i: Any, y: Any) -> Any:
            return tnp.where(y > 0, y * 0.5, y + i)

        return tnp.sum(tenon.fori_loop(0, 3, body, x) * (n // 2)), n @ n

    x, n = np.array([1.0, -2.0], np.float32), np.array([4, 5], np.int32)
    compiled = tenon.jit(mixed, fastmath=["nnan", "nsz"])
    text = compiled.lower(x, n).text("traced")
    lines = [line for line in text.splitlines() if "graph.mul" in line or "graph.reduce" in line]
    assert lines and all("fastmath<nnan,nsz>" in line for line in lines)
    assert not any("fastmath" in line for line in text.splitlines() if "xi32>" in line and "xf32" not in line)
    for found, expected in zip(compiled(x, n), tenon.jit(mixed)(x, n), strict=True):
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-6)


def test_no_flag() -> None:
    with pytest.raises(ValueError, match="jit: 'quick' is no fast-math flag, expected fast or some of"):
        tenon.jit(lambda x: x, fastmath="nnan quick")
