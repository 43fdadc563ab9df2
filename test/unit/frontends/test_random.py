"""Random arrays: the bits are Threefry's, every bit counts, and distributions are what they say."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tenon
import tenon.random as trandom
from tenon.backends.reference.graph import run_graph
from tenon.dialects.modules.parsing import parse_module

Array = np.ndarray[Any, np.dtype[Any]]

KEY = trandom.key(42)


def threefry(key: Array, counter: Array) -> Array:
    text = (
        f"func.func @f(%k: tensor<4xui32>, %c: tensor<4x{counter.shape[1]}xui32>) "
        f"-> tensor<4x{counter.shape[1]}xui32> {{\n"
        f"%r = graph.threefry %k, %c rounds 20 : tensor<4xui32>, tensor<4x{counter.shape[1]}xui32>\n"
        f"func.return %r : tensor<4x{counter.shape[1]}xui32>\n}}"
    )
    (found,) = run_graph(parse_module(text, "f.mlir"), "f", [key, counter])
    return found


def counters(count: int, *rest: int) -> Array:
    rows = [np.arange(count, dtype=np.uint32), *(np.full(count, value, np.uint32) for value in (0, *rest))]
    return np.stack(rows)


def test_a_key_is_the_words_of_its_seed():
    seed = (7 << 96) | (6 << 64) | (5 << 32) | 4
    np.testing.assert_array_equal(np.asarray(trandom.key(seed)), np.array([4, 5, 6, 7], np.uint32))
    assert np.asarray(trandom.key(np.int64(3))).dtype == np.uint32


@pytest.mark.parametrize(
    ("seed", "error", "text"),
    [
        (-1, ValueError, "key: seed -1 is out of bounds (from 0 to 2**128 - 1)"),
        (1 << 128, ValueError, "is out of bounds"),
        (1.0, TypeError, "key: seed is 1.0, expected an integer"),
        (True, TypeError, "key: seed is True, expected an integer"),
    ],
)
def test_what_is_no_seed(seed: Any, error: type[Exception], text: str):
    with pytest.raises(error) as caught:
        trandom.key(seed)
    assert text in str(caught.value)


def test_bits_are_the_words_of_threefry_block_by_block():
    words = threefry(np.asarray(KEY), counters(3, 0, 0))
    found = np.asarray(trandom.bits(KEY, 10))
    assert found.dtype == np.uint32
    np.testing.assert_array_equal(found, words.T.reshape(-1)[:10])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_bits_of_other_widths_are_the_same_bytes(dtype: type):
    size = np.dtype(dtype).itemsize
    words = np.asarray(trandom.bits(KEY, 24)).astype("<u4")
    found = np.asarray(trandom.bits(KEY, 96 // size, dtype))
    np.testing.assert_array_equal(found, words.view(f"<u{size}"))


def test_the_first_elements_do_not_depend_on_how_many_there_are():
    for draw in (trandom.uniform, trandom.normal, trandom.bits):
        long, short = np.asarray(draw(KEY, 101)), np.asarray(draw(KEY, 7))
        np.testing.assert_array_equal(long[:7], short)


@pytest.mark.parametrize("shape", [(), 0, 1, (0, 3), (2, 3), [5]])
def test_shapes(shape: Any):
    expected = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    for draw in (trandom.uniform, trandom.normal, trandom.bits, trandom.exponential):
        assert np.asarray(draw(KEY, shape)).shape == expected
    assert np.asarray(trandom.integers(KEY, 5, shape=shape)).shape == expected
    assert np.asarray(trandom.bernoulli(KEY, 0.5, shape)).shape == expected


FLOATS: dict[Any, tuple[int, int]] = {
    np.float16: (16, 11),
    ml_dtypes.bfloat16: (16, 8),
    np.float32: (32, 24),
    np.float64: (64, 53),
}
"""The bits that an element is made of, and those of its significand."""


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_uniform_number_is_its_bits_rounded_once(dtype: Any):
    width, significand = FLOATS[dtype]
    raw = np.asarray(trandom.bits(KEY, 5000, np.dtype(f"u{width // 8}")))
    found = np.asarray(trandom.uniform(KEY, 5000, dtype))
    assert found.dtype == np.dtype(dtype)
    greatest = 1 - 2.0**-significand
    for bits, value in zip(raw.tolist(), found.astype(np.float64).tolist(), strict=True):
        scale = max(bits.bit_length() - significand, 0)
        down = bits >> scale
        rest = bits - (down << scale)
        half = 1 << (scale - 1) if scale else 1
        up = rest > half or (rest == half and bool(scale) and down & 1)
        assert value == min(math.ldexp((down + up) << scale, -width), greatest), bits
    assert (found.astype(np.float64) < 1).all()


def test_bounds_of_uniform():
    found = np.asarray(trandom.uniform(KEY, 1000, np.float32, -2, 3))
    unit = np.asarray(trandom.uniform(KEY, 1000, np.float32))
    np.testing.assert_array_equal(found, np.float32(-2) + unit * np.float32(5))
    columns = np.asarray(trandom.uniform(KEY, (100, 2), np.float64, 0.0, np.array([1.0, 10.0])))
    assert columns[:, 0].max() < 1 < columns[:, 1].max() < 10


def moments(values: Array) -> tuple[float, float, float]:
    values = values.astype(np.float64)
    return values.mean(), values.var(), ((values - values.mean()) ** 3).mean()


@pytest.mark.parametrize(
    ("draw", "cumulative"),
    [
        (lambda: trandom.uniform(KEY, 40000), lambda x: x),
        (lambda: trandom.uniform(KEY, 40000, np.float32), lambda x: x),
        (lambda: trandom.normal(KEY, 40000), lambda x: (1 + math.erf(x / math.sqrt(2))) / 2),
        (lambda: trandom.normal(KEY, 40000, np.float32), lambda x: (1 + math.erf(x / math.sqrt(2))) / 2),
        (lambda: trandom.exponential(KEY, 40000), lambda x: 1 - math.exp(-x)),
    ],
)
def test_distributions_by_kolmogorov_and_smirnov(
    draw: Callable[[], Any], cumulative: Callable[[float], float]
):
    values = np.sort(np.asarray(draw()).astype(np.float64))
    expected = np.array([cumulative(value) for value in values])
    ranks = np.arange(1, len(values) + 1) / len(values)
    # The bound is crossed once in a thousand keys; the key is fixed.
    assert np.abs(expected - ranks).max() < 1.95 / math.sqrt(len(values))


def test_neighbours_are_not_correlated():
    for draw in (trandom.uniform, trandom.normal):
        values = np.asarray(draw(KEY, 40000))
        for lag in (1, 2, 4):
            assert abs(np.corrcoef(values[:-lag], values[lag:])[0, 1]) < 0.02


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64])
def test_integers_reach_both_bounds_and_no_more(dtype: Any):
    low = 0 if np.dtype(dtype).kind == "u" else -3
    found = np.asarray(trandom.integers(KEY, low, 4, 2000, dtype))
    assert found.dtype == np.dtype(dtype)
    assert sorted(set(found.tolist())) == list(range(low, 4))
    limits = np.iinfo(dtype)
    whole = np.asarray(trandom.integers(KEY, int(limits.min), int(limits.max) + 1, 4000, dtype))
    assert whole.min() < limits.min + limits.max // 50 and whole.max() > limits.max - limits.max // 50


def test_integers_without_high_begin_at_zero():
    found = np.asarray(trandom.integers(KEY, 3, shape=500))
    assert sorted(set(found.tolist())) == [0, 1, 2]
    counts = np.bincount(np.asarray(trandom.integers(KEY, 10, shape=100_000)))
    assert np.abs(counts - 10_000).max() < 400


def test_bounds_of_integers_are_constants_of_a_program():
    def three(key: Any) -> Any:
        return trandom.integers(key, 1, 7, 3)

    lowered = tenon.jit(three).lower(KEY)
    assert "func.func @three(%key: tensor<4xui32>) -> tensor<3xi64>" in str(lowered.module)
    alone = tenon.compile(str(lowered.module))
    np.testing.assert_array_equal(np.asarray(alone(np.asarray(KEY))), np.asarray(three(KEY)))


def test_bernoulli():
    found = np.asarray(trandom.bernoulli(KEY, 0.25, 40000))
    assert found.dtype == np.bool_ and abs(found.mean() - 0.25) < 0.01
    assert not np.asarray(trandom.bernoulli(KEY, 0.0, 1000)).any()
    assert np.asarray(trandom.bernoulli(KEY, 1.0, 1000)).all()


def test_permutation_of_a_number_and_of_an_array():
    order = np.asarray(trandom.permutation(KEY, 100))
    assert order.dtype == np.int64
    np.testing.assert_array_equal(np.sort(order), np.arange(100))
    assert (order != np.arange(100)).any()
    x = np.arange(24).reshape(2, 12)
    columns = np.asarray(trandom.permutation(KEY, x, axis=1))
    order = np.asarray(trandom.permutation(KEY, 12))
    np.testing.assert_array_equal(columns, x[:, order])
    assert np.asarray(trandom.permutation(KEY, 0)).shape == (0,)
    np.testing.assert_array_equal(
        np.asarray(trandom.permutation(KEY, x, -2)), x[np.asarray(trandom.permutation(KEY, 2))]
    )


def test_bits_that_nothing_is_made_of_are_not_drawn():
    graph = tenon.jit(lambda key: trandom.normal(key, (0, 3))).lower(KEY).text("sched")
    assert "sched.launch" not in graph


def test_permutations_of_a_named_dim_are_those_of_its_extent():
    shuffled = tenon.jit(
        lambda key, x: trandom.permutation(key, x), dynamic={"x": {0: tenon.Dim("n", 0, 99)}}
    )
    for count in (0, 1, 2, 7, 8, 9, 64, 65):
        x = np.arange(count) * 3.0
        expected = np.asarray(trandom.permutation(KEY, x))
        np.testing.assert_array_equal(np.asarray(shuffled(KEY, x)), expected)
        np.testing.assert_array_equal(np.sort(expected), x)


def test_all_permutations_of_four_are_about_as_likely():
    keys = np.asarray(trandom.split(KEY, 600))
    counts: dict[tuple[int, ...], int] = {}
    for key in keys:
        order = tuple(np.asarray(trandom.permutation(key, 4)).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24 and max(counts.values()) < 50


def test_split_keys_are_different_and_give_other_numbers():
    keys = np.asarray(trandom.split(KEY, 50))
    assert keys.shape == (50, 4) and keys.dtype == np.uint32
    assert len({tuple(key) for key in keys.tolist()}) == 50
    np.testing.assert_array_equal(keys[:2], np.asarray(trandom.split(KEY)))
    first, second = np.asarray(trandom.uniform(keys[0], 1000)), np.asarray(trandom.uniform(keys[1], 1000))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.1


def test_fold_in_is_a_function_of_all_64_bits():
    folded = [np.asarray(trandom.fold_in(KEY, data)).tolist() for data in (0, 1, -1, 1 << 40, 2)]
    assert len({tuple(key) for key in folded}) == 5
    again = np.asarray(trandom.fold_in(KEY, np.uint32(1))).tolist()
    assert again == folded[1]
    words = threefry(np.asarray(KEY), np.array([[1], [0], [0], [2]], np.uint32))
    assert folded[1] == words[:, 0].tolist()


def test_every_backend_gives_the_same_bits():
    def draw(key: Any) -> Any:
        first, second = trandom.split(key)[0], trandom.fold_in(key, 7)
        return (
            trandom.uniform(first, (3, 50), np.float32),
            trandom.normal(second, 101),
            trandom.integers(key, -5, 100, 33, np.int16),
            trandom.permutation(key, 40),
        )

    expected = tenon.jit(draw)(KEY)
    for backend in ("opencl", "reference"):
        for number, (found, wanted) in enumerate(
            zip(tenon.jit(draw, backend=backend)(KEY), expected, strict=True)
        ):
            if backend == "reference" and number == 1:
                # At `graph` the logarithm and the cosine are numpy's.
                np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-14)
            else:
                assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes(), backend


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: trandom.bits(None), TypeError, "bits: key is None, expected an array"),  # pyright: ignore[reportArgumentType]
        (lambda: trandom.uniform(KEY, 2, np.float32, None), TypeError, "uniform: low is None, expected an"),
        (lambda: trandom.fold_in(KEY, None), TypeError, "fold_in: data is None, expected an array"),
        (
            lambda: trandom.bits(np.zeros(4, np.int32), 3),
            TypeError,
            "bits: key is int32[4], expected uint32[4]",
        ),
        (
            lambda: trandom.uniform(np.zeros(3, np.uint32), 3),
            TypeError,
            "uniform: key is uint32[3], expected",
        ),
        (lambda: trandom.bits(KEY, 3, np.int32), TypeError, "bits: dtype is int32, expected one of uint8, "),
        (
            lambda: trandom.uniform(KEY, 3, np.int32),
            TypeError,
            "uniform: dtype is int32, expected one of float16",
        ),
        (lambda: trandom.normal(KEY, (2, -1)), ValueError, "normal: extent -1 is negative"),
        (lambda: trandom.normal(KEY, 2.0), TypeError, "normal: shape is 2.0, expected an integer"),  # pyright: ignore[reportArgumentType]
        (lambda: trandom.split(KEY, -1), ValueError, "split: number -1 is negative"),
        (lambda: trandom.integers(KEY, 3, 3), ValueError, "integers: no integers from 3 to below 3"),
        (lambda: trandom.integers(KEY, 0, 257, 3, np.uint8), ValueError, "0 to below 257 does not fit uint8"),
        (
            lambda: trandom.integers(KEY, 0, 5, 3, np.float32),
            TypeError,
            "integers: dtype is float32, expected",
        ),
        (lambda: trandom.integers(KEY, 0.5, 5), TypeError, "integers: low is 0.5, expected an integer"),  # pyright: ignore[reportArgumentType]
        (lambda: trandom.permutation(KEY, -1), ValueError, "permutation: x -1 is negative"),
        (lambda: trandom.permutation(KEY, "abc"), TypeError, "permutation: x is 'abc', expected an integer"),
        (lambda: trandom.permutation(KEY, np.array(3)), ValueError, "permutation: x is an array of rank 0"),
        (
            lambda: trandom.permutation(KEY, np.zeros(3), 1),
            np.exceptions.AxisError,
            "axis 1 is out of bounds",
        ),
        (
            lambda: trandom.bernoulli(KEY, np.zeros(3), 2),
            ValueError,
            "bernoulli: p has shape [3], which does not",
        ),
        (lambda: trandom.uniform(KEY, 2, np.float32, np.zeros(3)), ValueError, "uniform: low has shape [3]"),
        (lambda: trandom.fold_in(KEY, 1.5), TypeError, "fold_in: data is float64[], expected an integer"),
    ],
)
def test_bad_input_is_refused(call: Callable[[], Any], error: type[Exception], text: str):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)
