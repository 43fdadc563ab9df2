"""Products that sum along what ranks gather: exact where every sum is, on each backend and mesh."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp

Array = np.ndarray[Any, np.dtype[Any]]

IN_PIECES = "dim = 0 channel"
PACKED = "in panels"
"""Of a product that copies a side into panels, which not all processors do: its parts are in their places."""


def whole_numbers(shape: tuple[int, ...], seed: int) -> Array:
    """Returns numbers of which every sum of products here is exact."""
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32)


def product(
    spec: str, shapes: tuple[tuple[int, ...], ...], axes: tuple[tuple[str | None, ...], ...], ranks: int
) -> tuple[Array, str]:
    """Returns an `einsum` of sharded arrays, put together, and the program of the first rank."""
    arrays = [whole_numbers(shape, seed) for seed, shape in enumerate(shapes)]

    def of_rank() -> tuple[Array, str]:
        mesh = tenon.Mesh((ranks,), ("x",))
        shardings = [tenon.sharding(mesh, *each) for each in axes]
        parts = [tenon.shard(array, sharding) for array, sharding in zip(arrays, shardings[:-1], strict=True)]
        multiply = tenon.jit(lambda a, b: tenon.shard(tnp.einsum(spec, a, b), shardings[-1]))
        text = multiply.lower(*parts).text("graph")
        return tenon.gather(multiply(*parts)).numpy(), text

    found = tenon.run_ranks(ranks, of_rank)
    expected = np.einsum(spec, *(array.astype(np.float64) for array in arrays))
    for result, _ in found:
        np.testing.assert_array_equal(result, expected)
    return found[0]


COLUMNS = ((None, "x"), (None, "x"), (None, "x"))
"""Both arrays and the result split by columns."""


def test_a_small_product_reads_its_parts_as_they_come():
    _, text = product("ik,kj->ij", ((6, 8), (8, 40)), COLUMNS, 2)
    assert IN_PIECES in text


@pytest.mark.parametrize(("rows", "depth", "columns"), [(64, 96, 200), (67, 130, 258), (131, 64, 1030)])
@pytest.mark.parametrize("ranks", [2, 4])
def test_parts_of_rows_are_read_as_they_come(rows: int, depth: int, columns: int, ranks: int):
    _, text = product("ik,kj->ij", ((rows, depth), (depth, columns)), COLUMNS, ranks)
    assert (IN_PIECES in text) == (depth % ranks == 0 and PACKED not in text)


def test_parts_that_differ_in_size_are_put_in_their_places():
    _, text = product("ik,kj->ij", ((24, 97), (97, 300)), COLUMNS, 2)
    assert "graph.all_gather" in text
    assert IN_PIECES not in text


def test_a_batch_of_products_is_read_as_it_comes():
    axes = ((None, None, "x"), (None, None, "x"), (None, None, "x"))
    _, text = product("bik,bkj->bij", ((3, 12, 64), (3, 64, 512)), axes, 2)
    assert (IN_PIECES in text) == (PACKED not in text)


@pytest.mark.parametrize("rows", [5, 20])
def test_the_other_side_may_be_transposed(rows: int):
    axes = ((None, "x"), ("x", None), (None, "x"))
    _, text = product("ik,jk->ij", ((rows, 64), (514, 64)), axes, 2)
    assert (IN_PIECES in text) == (PACKED not in text)


def test_a_large_product_that_copies_panels_has_its_parts_in_their_places():
    _, text = product("ik,kj->ij", ((512, 1024), (1024, 1200)), COLUMNS, 2)
    assert (IN_PIECES in text) == (PACKED not in text)
