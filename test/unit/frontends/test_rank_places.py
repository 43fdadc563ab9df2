"""Functions that look for places along dims that ranks share, on ranks that are threads, against numpy."""

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp

RANDOM = np.random.default_rng(5)
SORTED = np.sort(np.r_[RANDOM.integers(0, 9, 16), np.nan]).astype(np.float32)
VALUES = np.r_[RANDOM.integers(-1, 11, 33), -np.inf, np.nan].astype(np.float32).reshape(7, 5)
CUBE = RANDOM.integers(0, 20, (7, 5, 6)).astype(np.float32)
ALONG = [(), ("x",), (None, "x"), (None, None, "x")]


def gathered(ranks, function, *arrays, specs):
    """Returns what the function gives on all ranks, whole."""

    def run():
        mesh = tenon.Mesh((ranks,), ("x",))
        parts = [
            tenon.shard(each, tenon.sharding(mesh, *spec)) for each, spec in zip(arrays, specs, strict=True)
        ]
        return tenon.gather(tenon.jit(function)(*parts)).numpy()

    return tenon.run_ranks(ranks, run)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("of_sorted", ALONG[:2])
@pytest.mark.parametrize("of_values", ALONG[:3])
def test_values_are_searched_for_in_what_ranks_share(side, ranks, of_sorted, of_values):
    def search(sorted, values):
        return tnp.searchsorted(sorted, values, side=side)

    for found in gathered(ranks, search, SORTED, VALUES, specs=(of_sorted, of_values)):
        np.testing.assert_array_equal(found, np.searchsorted(SORTED, VALUES, side=side))


@pytest.mark.parametrize("split", ALONG[1:])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_elements_are_taken_in_the_order_of_an_argsort(axis, split):
    def in_order(x):
        return tnp.take_along_axis(x, tnp.argsort(x, axis=axis), axis=axis)

    for found in gathered(3, in_order, CUBE, specs=(split,)):
        np.testing.assert_array_equal(found, np.sort(CUBE, axis=axis))


@pytest.mark.parametrize("split", ALONG[1:])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_first_of_an_argsort_are_taken(axis, split):
    """Fewer than there are ranks, as few of the greatest are."""

    def least(x):
        places = tnp.argsort(x, axis=axis)
        return tnp.take_along_axis(x, tnp.take(places, tnp.arange(2), axis=axis), axis=axis)

    for found in gathered(3, least, CUBE, specs=(split,)):
        np.testing.assert_array_equal(found, np.take(np.sort(CUBE, axis=axis), [0, 1], axis=axis))


def test_one_row_is_taken_from_for_all():
    """The other axes broadcast, either way."""
    row, places = CUBE[:1, 0], np.argsort(CUBE[:, 0], axis=1)
    for specs in ((ALONG[0], ALONG[1]), (ALONG[2], ALONG[1]), (ALONG[0], ALONG[2])):
        for found in gathered(3, lambda x, i: tnp.take_along_axis(x, i, axis=1), row, places, specs=specs):
            np.testing.assert_array_equal(found, np.take_along_axis(np.repeat(row, 7, 0), places, 1))


@pytest.mark.parametrize("shift", [1, -1, 2, 5, -11, 12])
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_a_roll_gives_what_it_gives_on_one_rank(ranks, shift):
    for whole in (VALUES, RANDOM.random((12, 3)).astype(np.float32)):
        for found in gathered(ranks, lambda x: tnp.roll(x, shift, axis=0), whole, specs=(ALONG[1],)):
            np.testing.assert_array_equal(found, np.roll(whole, shift, axis=0))


@pytest.mark.parametrize("function", [tnp.unique_values, tnp.unique_all, tnp.nonzero])
def test_what_has_as_many_elements_as_the_values_say_takes_no_parts(function):
    def run():
        x = tenon.shard(SORTED, tenon.sharding(tenon.Mesh((2,), ("x",)), "x"))
        return function(x)

    hint = f"{function.__name__}: .* is spread over 2 ranks, .* .hint: {function.__name__}.tenon.gather.x"
    with pytest.raises(TypeError, match=hint):
        tenon.run_ranks(2, run)
