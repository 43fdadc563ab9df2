"""The greatest elements of rows, sorted as a whole or chosen by blocks, against numpy."""

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp
from tenon.frontends.numpy.sorting import LEAST_SHARE

Array = npt.NDArray[Any]
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ml_dtypes.bfloat16]


def _expected(x: Array, k: int, axis: int) -> tuple[Array, Array]:
    is_integer = x.dtype.kind in "biu"
    order = np.argsort(~x if is_integer else -x.astype(np.float64), axis=axis, kind="stable")
    order = np.take(order, range(k), axis)
    return np.take_along_axis(x, order, axis), order


def check(x: Array, k: int, axis: int = -1, **options: Any) -> None:
    best, where = tenon.jit(lambda x: tnp.top_k(x, k, axis=axis), **options)(x)
    values, order = _expected(x, k, axis)
    np.testing.assert_array_equal(np.asarray(where), order)
    assert np.asarray(best).dtype == x.dtype
    assert np.asarray(best).tobytes() == values.tobytes()


def _values(dtype: Any, shape: tuple[int, ...]) -> Array:
    """Few different values, the edges of the dtype among them."""
    dtype, rng = np.dtype(dtype), np.random.default_rng(0)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        edges = [0, 1, 2, 5, limits.max, limits.min, limits.min + 1]
        return rng.choice(np.array(edges, dtype), shape)
    edges = [0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan, -np.nan]
    return rng.choice(np.array(edges), shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("extent", [33, 256, 1000])
def test_every_dtype(dtype: Any, extent: int) -> None:
    x = _values(dtype, (3, extent))
    for k in (1, extent // LEAST_SHARE, extent // LEAST_SHARE + 1):
        check(x, k)


@pytest.mark.parametrize("backend", ["opencl", "reference"])
@pytest.mark.parametrize("dtype", ["f4", "u8"])
def test_every_backend(backend: str, dtype: str) -> None:
    check(_values(dtype, (2, 100)), 5, backend=backend)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_nan_comes_after_all_others(dtype: str) -> None:
    """A block of NaN before one of -inf is the later of the two."""
    x = np.full((2, 256), np.nan, dtype)
    x[0, -3:], x[1, 40:44] = -np.inf, 0.0
    check(x, 8)
    x = np.full((1, 200), -np.inf, dtype)
    x[0, :100] = np.nan
    check(x, 20)


@pytest.mark.parametrize(
    "x",
    [
        np.arange(640.0),
        np.arange(640.0)[::-1],
        np.arange(1280.0)[::-2],
        np.zeros(640),
        np.zeros((0, 64)),
        np.zeros((2, 0, 64)),
        np.random.default_rng(0).standard_normal((3, 5000)),
    ],
    ids=["rising", "falling", "strided", "equal", "no rows", "no planes", "long"],
)
def test_rows_of_every_kind(x: Array) -> None:
    for k in (1, 8):
        check(x, k)


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
def test_every_axis(axis: int) -> None:
    check(np.random.default_rng(0).standard_normal((40, 50, 60)).astype(np.float32), 3, axis)


def test_only_the_blocks_that_are_chosen_are_sorted() -> None:
    x = np.zeros((4, 1024), np.float32)
    text = str(tenon.jit(lambda x: tnp.top_k(x, 16)).lower(x).module)
    assert "graph.argsort %" in text and "tensor<4x1024xi32>" not in text.split("graph.argsort")[1]
    assert "reduce max" in text
    assert "reduce max" not in str(tenon.jit(lambda x: tnp.top_k(x, 512)).lower(x).module)
