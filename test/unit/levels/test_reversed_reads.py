"""Elements read from the last to the first: as vectors whose lanes are reversed, on every backend."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp

BACKENDS = ["llvm", "opencl", "reference"]


def _low(f: Any, *arguments: npt.NDArray[Any]) -> str:
    return tenon.jit(f).lower(*arguments).text("low")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "i4", "u2", "i1", "?"])
def test_flips_of_every_type_with_tails(backend: str, dtype: str) -> None:
    for shape in ((0,), (1,), (5,), (16,), (33,), (7, 67), (3, 5, 21)):
        x = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
        y = tenon.jit(lambda x: x[..., ::-1], backend=backend)(x)
        np.testing.assert_array_equal(np.asarray(y), x[..., ::-1])


@pytest.mark.parametrize("backend", BACKENDS)
def test_both_directions_in_one_kernel(backend: str) -> None:
    x = np.random.default_rng(0).integers(-9, 9, (19, 70)).astype(np.float32)
    f = tenon.jit(lambda x: (x + x[:, ::-1], x[::-1, ::-1] * x, x[:, 61:2:-1] - x[:, 2:61]), backend=backend)
    expected = x + x[:, ::-1], x[::-1, ::-1] * x, x[:, 61:2:-1] - x[:, 2:61]
    for found, wanted in zip(f(x), expected, strict=True):
        np.testing.assert_array_equal(np.asarray(found), wanted)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("extent", [1, 31, 64, 403])
def test_reductions_of_what_is_reversed(backend: str, extent: int) -> None:
    x = np.random.default_rng(0).integers(-9, 9, (5, extent)).astype(np.float64)
    f = tenon.jit(
        lambda x: (tnp.sum(x * x[:, ::-1], axis=1), tnp.max(x[::-1, ::-1] - x, axis=1)), backend=backend
    )
    expected = np.sum(x * x[:, ::-1], axis=1), np.max(x[::-1, ::-1] - x, axis=1)
    for found, wanted in zip(f(x), expected, strict=True):
        np.testing.assert_array_equal(np.asarray(found), wanted)


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3"])
def test_reversed_reads_on_other_processors(target: str) -> None:
    x = np.random.default_rng(0).integers(-9, 9, (5, 101)).astype(np.float32)
    found = tenon.jit(lambda x: tnp.sum(x * x[:, ::-1], axis=1), target=target)(x)
    np.testing.assert_array_equal(np.asarray(found), np.sum(x * x[:, ::-1], axis=1))


def test_a_named_extent_is_read_backwards() -> None:
    f = tenon.jit(lambda x: tnp.sum(x * x[::-1]), dynamic={"x": {0: tenon.Dim("n", 1, 1000)}})
    for extent in (1, 7, 64, 999):
        x = np.arange(extent, dtype=np.float64)
        assert float(f(x)) == float(np.sum(x * x[::-1]))


def test_what_is_loaded_backwards_is_a_vector() -> None:
    x = np.zeros((64, 64), np.float32)
    assert "low.reverse" in _low(lambda x: tnp.sum(x * x[:, ::-1], axis=1), x)
    assert "low.reverse" in _low(lambda x: tnp.max(x - x[::-1, ::-1], axis=1), x)


def test_other_steps_other_axes_and_what_is_not_reduced_are_not_reversed() -> None:
    x = np.zeros((64, 64), np.float32)
    assert "low.reverse" not in _low(lambda x: tnp.sum(x[:, ::-2] + 1, axis=1), x)
    assert "low.reverse" not in _low(lambda x: tnp.sum(x * x[::-1], axis=1), x)
    assert "low.reverse" not in _low(lambda x: x[:, ::-1] + 1, x)
