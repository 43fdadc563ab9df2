"""gather, scatter and the dynamic ops on numpy arrays, against loops written out."""

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from tenon.dialects.graph import ScatterKind
from tenon.semantics.errors import InterpreterError
from tenon.semantics.indexing import dynamic_slice, dynamic_update, gather, scatter

Array = npt.NDArray[Any]

INDEX_DTYPES = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)


def extremes(dtype: Any) -> Array:
    """Indices in range, and as far out of it as the dtype goes."""
    limits = np.iinfo(dtype)
    return np.array([0, 3, 1, 1, limits.max, limits.min, 4, 5], dtype)


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_gathered_indices_are_moved_into_range(dtype: Any) -> None:
    source, index = np.arange(5.0), extremes(dtype)
    expected = [source[min(max(int(at), 0), 4)] for at in index]
    assert gather("t", source, [index], [0]).tolist() == expected


def test_a_gather_has_the_shape_of_the_indices_then_the_other_dims() -> None:
    source = np.arange(4 * 8 * 5).reshape(4, 8, 5)
    first, second = np.array([[0, 3], [9, 1]]), np.array([[4, -1], [2, 2]], np.int8)
    found = gather("t", source, [second, first], [2, 0])
    assert found.shape == (2, 2, 8)
    for at in product(range(2), range(2), range(8)):
        where = np.clip(first[at[:2]], 0, 3), at[2], np.clip(second[at[:2]], 0, 4)
        assert found[at] == source[where]


def test_one_index_of_rank_0_drops_its_axis() -> None:
    assert gather("t", np.arange(6).reshape(2, 3), [np.array(1)], [0]).tolist() == [3, 4, 5]


def test_nothing_is_gathered_from_an_axis_without_elements() -> None:
    assert gather("t", np.zeros((0, 3)), [np.zeros((2, 0), np.int64)], [0]).shape == (2, 0, 3)
    with pytest.raises(InterpreterError, match=r"t: gathers of axes \[0\] of \[0, 3\] at run time"):
        gather("t", np.zeros((0, 3)), [np.zeros(1, np.int64)], [0])


def test_all_of_an_axis_without_other_elements_can_be_gathered() -> None:
    assert gather("t", np.zeros((0, 0)), [np.zeros(1, np.int64)], [0]).shape == (1, 0)


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_updates_out_of_range_are_dropped(dtype: Any) -> None:
    source, index = np.zeros(5), extremes(dtype)
    updates = np.arange(1.0, 9.0)
    expected = source.copy()
    for at, value in zip(index, updates, strict=True):
        if 0 <= int(at) < 5:
            expected[int(at)] = value
    np.testing.assert_array_equal(scatter(ScatterKind.SET, source, [index], updates, [0]), expected)


COMBINE = {
    ScatterKind.SET: lambda old, new: new,
    ScatterKind.ADD: lambda old, new: old + new,
    ScatterKind.MUL: lambda old, new: old * new,
    ScatterKind.MAX: lambda old, new: max(old, new),
    ScatterKind.MIN: lambda old, new: min(old, new),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int8", "uint8", "int64"])
@pytest.mark.parametrize("kind", list(ScatterKind))
def test_duplicates_are_applied_in_row_major_order(kind: ScatterKind, dtype: str) -> None:
    rng = np.random.default_rng(0)
    of = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    source = rng.integers(0, 9, (3, 2, 4)).astype(of)
    first, second = rng.integers(-1, 4, (5, 2)), rng.integers(-1, 5, (5, 2))
    updates = (rng.integers(0, 99, (5, 2, 2)) / (8 if of.kind not in "iu" else 1)).astype(of)
    expected = source.copy()
    with np.errstate(all="ignore"):
        for at in product(range(5), range(2)):
            i, j = first[at], second[at]
            if 0 <= i < 3 and 0 <= j < 4:
                for k in range(2):
                    expected[i, k, j] = COMBINE[kind](expected[i, k, j], updates[*at, k])
        found = scatter(kind, source, [first, second], updates, [0, 2])
    assert found.dtype == of
    np.testing.assert_array_equal(found, expected)


def test_a_scatter_of_max_tells_zeros_apart_and_lets_nan_win() -> None:
    source = np.array([-0.0, 1.0, np.nan])
    updates = np.array([0.0, np.nan, 2.0])
    found = scatter(ScatterKind.MAX, source, [np.arange(3)], updates, [0])
    assert not np.signbit(found[0]) and np.isnan(found[1]) and np.isnan(found[2])
    found = scatter(ScatterKind.MIN, -source, [np.arange(3)], -updates, [0])
    assert np.signbit(found[0]) and np.isnan(found[1]) and np.isnan(found[2])


def test_a_scatter_of_booleans_sets() -> None:
    found = scatter(ScatterKind.SET, np.zeros(3, np.bool_), [np.array([2, 2])], np.array([True, False]), [0])
    assert found.tolist() == [False, False, False]


def test_one_update_of_rank_0_replaces_a_row() -> None:
    found = scatter(ScatterKind.SET, np.zeros((2, 2)), [np.array(1)], np.array([1.0, 2.0]), [0])
    assert found.tolist() == [[0, 0], [1, 2]]


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_the_starts_of_a_box_are_moved_so_that_it_fits(dtype: Any) -> None:
    source = np.arange(20).reshape(4, 5)
    update = np.full((2, 3), -1)
    for start in extremes(dtype):
        row, column = min(max(int(start), 0), 2), min(max(int(start), 0), 2)
        found = dynamic_slice("t", source, [np.array(start), np.array(start)], [2, 3])
        np.testing.assert_array_equal(found, source[row : row + 2, column : column + 3])
        expected = source.copy()
        expected[row : row + 2, column : column + 3] = -1
        found = dynamic_update("t", source, [np.array(start), np.array(start)], update, [1, 1])
        np.testing.assert_array_equal(found, expected)


def test_a_box_with_steps_is_moved_so_that_all_of_it_fits() -> None:
    source, update = np.arange(7), np.full(3, -1)
    for start, first in ((-4, 0), (0, 0), (2, 2), (3, 2), (99, 2)):
        expected = source.copy()
        expected[first : first + 5 : 2] = -1
        found = dynamic_update("t", source, [np.array(start)], update, [2])
        np.testing.assert_array_equal(found, expected)
    found = dynamic_update("t", source, [np.array(6)], np.zeros(0, int), [3])
    np.testing.assert_array_equal(found, source)


def test_a_box_larger_than_the_source_fits_nowhere() -> None:
    with pytest.raises(InterpreterError, match=r"t: \[3\] elements do not fit in \[2\] at run time"):
        dynamic_slice("t", np.zeros(2), [np.array(0)], [3])
    with pytest.raises(InterpreterError, match=r"t: \[3\] elements do not fit in \[2\] at run time"):
        dynamic_update("t", np.zeros(2), [np.array(0)], np.zeros(3), [1])
    with pytest.raises(InterpreterError, match=r"t: \[3\] elements do not fit in \[2\] at run time"):
        dynamic_update("t", np.zeros(2), [np.array(0)], np.zeros(2), [2])


def test_a_scalar_is_its_own_box() -> None:
    assert dynamic_slice("t", np.array(3.0), [], []) == 3.0
    assert dynamic_update("t", np.array(3.0), [], np.array(4.0), []) == 4.0
