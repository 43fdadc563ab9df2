"""A matrix times its own transpose has the bits of the product of two matrices that are equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp

SHAPES = [(5, 9), (64, 40), (100, 77), (129, 333), (256, 256), (333, 64), (40, 4000)]


def product(x: Any, y: Any) -> Any:
    return tnp.matmul(x, tnp.matrix_transpose(y))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_both_sides_of_the_diagonal_have_the_bits_of_the_whole_product(
    shape: tuple[int, int], dtype: str
) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    for matrix in (x, x.T.copy().T, np.stack((x, -2 * x))):
        found = np.asarray(tenon.jit(lambda x: product(x, x))(matrix))
        whole = np.asarray(tenon.jit(product)(matrix, matrix.copy()))
        assert found.tobytes() == whole.tobytes()


@pytest.mark.parametrize("threads", [1, 2])
def test_what_follows_is_done_on_both_sides(threads: int) -> None:
    x = np.random.default_rng(0).integers(-8, 8, (300, 210)).astype(np.float64)
    scale, bias = np.float64(3), np.arange(300.0)
    with tenon.num_threads(threads):
        scaled = tenon.jit(lambda x, scale: product(x, x) * scale - 1)(x, scale)
        np.testing.assert_array_equal(np.asarray(scaled), x @ x.T * scale - 1)
        biased = tenon.jit(lambda x, bias: product(x, x) + bias)(x, bias)
        np.testing.assert_array_equal(np.asarray(biased), x @ x.T + bias)


def test_products_of_integers_too() -> None:
    x = np.random.default_rng(0).integers(-128, 128, (150, 70)).astype(np.int8)
    function = tenon.jit(lambda x: tnp.matmul(x, tnp.matrix_transpose(x), preferred_element_type="int32"))
    np.testing.assert_array_equal(np.asarray(function(x)), x.astype(np.int32) @ x.astype(np.int32).T)
