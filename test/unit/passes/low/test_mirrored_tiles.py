"""Products of a matrix with its own transpose, computed on one side of the diagonal, with what follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp

Program = Callable[..., Any]


def correlation(x: Any, xp: Any) -> Any:
    return xp.where(xp.eye(x.shape[1], dtype=bool), 1.0, x.T @ x)


def distances(x: Any, xp: Any) -> Any:
    squares = xp.sum(x * x, axis=1)
    return squares[:, None] + squares[None] - 2 * (x @ x.T)


def off_the_diagonal(x: Any, xp: Any) -> Any:
    places = xp.arange(x.shape[1])
    return xp.where(places[:, None] != places[None], (x.T @ x) * 3, 0)


def triangle(x: Any, xp: Any) -> Any:
    return xp.tril(x.T @ x)


def differences(x: Any, xp: Any) -> Any:
    sums = xp.sum(x, axis=1)
    return (sums[:, None] - sums[None]) * (x @ x.T)


def of_rows(x: Any, xp: Any) -> Any:
    return (x @ x.T) + xp.arange(len(x))


MIRRORED: list[Program] = [correlation, distances, off_the_diagonal]
WHOLE: list[Program] = [triangle, differences, of_rows]


def matrix(shape: tuple[int, int], dtype: Any) -> Any:
    """Small whole numbers, whose sums are exact in any order."""
    return np.random.default_rng(0).integers(-3, 4, shape).astype(dtype)


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(61, 43), (300, 257)])
@pytest.mark.parametrize("program", [*MIRRORED, *WHOLE], ids=lambda each: each.__name__)
def test_results_are_those_of_numpy(
    program: Program, shape: tuple[int, int], dtype: Any, backend: str
) -> None:
    x = matrix(shape, dtype)
    found = tenon.jit(lambda x: program(x, tnp), backend=backend)(x)
    np.testing.assert_array_equal(np.asarray(found), program(x.astype(np.int64), np))


@pytest.mark.parametrize("program", [*MIRRORED, *WHOLE], ids=lambda each: each.__name__)
def test_one_side_is_copied_where_both_are_the_same(program: Program) -> None:
    low = tenon.jit(lambda x: program(x, tnp)).lower(matrix((120, 100), np.float32)).text("low")
    assert ("mirrored" in low) == (program in MIRRORED)


def test_values_that_are_used_again_and_again_are_looked_at_once() -> None:
    def powers(x: Any) -> Any:
        y = x @ x.T
        for _ in range(40):
            y = y * y + y
        return y + tnp.arange(len(x))

    low = tenon.jit(powers).lower(matrix((40, 30), np.float32)).text("low")
    assert "mirrored" not in low
