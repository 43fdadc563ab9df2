"""Sums of all elements in parts: the same on every backend, and to the last bit on any number of threads."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.passes.graph.split_reductions import cut

Array = np.ndarray[Any, np.dtype[Any]]

SHAPES = [(131072,), (131101,), (1 << 20,), (300, 1001), (3, 50000), (64, 33, 65), (1, 262147), (501, 1000)]
"""Parts of equal length along one axis or another, or none."""


def numbers(shape: tuple[int, ...], dtype: str) -> Array:
    generator = np.random.default_rng(0)
    if dtype == "bool":
        return generator.random(shape) < 0.999999
    if dtype.startswith(("int", "uint")):
        return generator.integers(0, 100, shape).astype(dtype)
    return generator.random(shape).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_sums_are_those_of_numpy_and_are_less_off(shape: tuple[int, ...], backend: str):
    if backend == "opencl":
        pytest.importorskip("pyopencl")
    x = numbers(shape, "float32")
    found = tenon.jit(lambda x: tnp.sum(x * x), backend=backend)(x)
    right = np.sum(x.astype(np.float64) ** 2)
    assert abs(float(found) - right) <= 2e-6 * right


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "bool", "float64"])
@pytest.mark.parametrize("name", ["max", "min", "all", "any", "sum"])
@pytest.mark.parametrize("shape", [(131101,), (512, 521)], ids=str)
def test_what_has_one_result_in_any_order_has_it_to_the_last_bit(
    name: str, dtype: str, shape: tuple[int, ...]
):
    if dtype == "bool" and name in ("max", "min"):
        name = "all"
    x = numbers(shape, dtype)
    if dtype == "float64" and name == "sum":
        x = np.floor(x * 1000)
    found = tenon.jit(lambda x: getattr(tnp, name)(x, keepdims=True))(x)
    right = getattr(np, name)(x, keepdims=True)
    assert np.asarray(found).tolist() == right.tolist()


@pytest.mark.parametrize("n", [131072, 131101, 1 << 20])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_dot_products_are_those_of_numpy(n: int, dtype: str):
    x, y = numbers((n,), dtype), numbers((n,), dtype)[::-1].copy()
    found = float(tenon.jit(tnp.dot)(x, y))
    assert abs(found - float(np.dot(x.astype(np.float64), y))) <= 2e-6 * found


def test_a_nan_anywhere_is_the_greatest():
    for place in (0, 70000, 131072, 131100):
        x = np.ones(131101, np.float32)
        x[place] = np.nan
        assert np.isnan(float(tenon.jit(tnp.max)(x))) and np.isnan(float(tenon.jit(tnp.sum)(x)))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_partial_sums_of_narrow_floats_are_wide(dtype: str):
    x = np.ones(131101, np.float32).astype(tnp.asarray([], dtype=getattr(tnp, dtype)).dtype.type)
    assert float(tenon.jit(lambda x: tnp.mean(x))(x)) == 1.0


FUNCTIONS: list[Callable[..., Any]] = [
    lambda x: tnp.sum(tnp.exp(x)),
    lambda x: tnp.std(x),
    lambda x: x / tnp.sum(x),
    lambda x: tnp.logsumexp(x),
]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("shape", [(131101,), (300, 1001)], ids=str)
def test_threads_change_no_bit(function: Callable[..., Any], shape: tuple[int, ...]):
    x = numbers(shape, "float32")
    call = tenon.jit(function)
    with tenon.num_threads(1):
        one = np.asarray(call(x))
    with tenon.num_threads(2):
        two = np.asarray(call(x))
    assert one.tobytes() == two.tobytes()
    assert np.isfinite(one).all() and one.size in (1, prod(shape))


@pytest.mark.parametrize(
    ("extents", "axis", "count"),
    [
        ([300, 1001], 0, 15),  # Equal parts of the first axis.
        ([501, 1000], 0, 30),  # Unequal ones of the first axis, not strips of 40 columns.
        ([3, 100000], 1, 5),  # The first axis is too short.
        ([3, 50000], 0, 3),  # As many as strips of the other one would be.
        ([1, 1 << 20], 1, 64),
        ([128, 50257], 0, 128),  # Fewer than there may be, but no strips of 196 columns.
        ([32, 50257], 0, 32),
        ([8, 200000], 1, 10),  # Strips of 20000 elements: more than there are rows.
        ([7, 7, 7, 1000], 0, 7),
    ],
)
def test_the_first_axis_that_is_long_enough_is_cut(extents: list[int], axis: int, count: int):
    assert cut(extents) == (axis, count)


def test_values_that_are_read_twice_are_computed_once() -> None:
    def steps(x: Any) -> Any:
        for _ in range(40):
            x = x * x + 0.25
            x = x * (1.5 - x)
        return x

    x = np.random.default_rng(4).uniform(0.1, 0.9, (50000, 3))
    call = tenon.jit(lambda x: tnp.sum(steps(x)))
    np.testing.assert_allclose(float(call(x)), steps(x).sum())
    assert call.lower(x).text("graph").count("graph.mul") == 80


@pytest.mark.parametrize("shape", [(501, 1001), (300, 300), (67, 131)], ids=str)
@pytest.mark.parametrize("name", ["max", "min"])
def test_extrema_of_matrices_with_nan_and_zeros(name: str, shape: tuple[int, ...]):
    function = tenon.jit(lambda x: getattr(tnp, name)(x))
    x = -numbers(shape, "float32")
    assert float(function(x)) == float(getattr(np, name)(x))
    x[shape[0] - 1, shape[1] - 1] = np.nan
    assert np.isnan(float(function(x)))
    zeros = np.where(np.arange(x.size).reshape(shape) % 3 == 0, 0.0, -0.0).astype(np.float32)
    assert np.signbit(float(function(zeros))) == (name == "min")
