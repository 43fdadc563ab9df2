"""Arrays compared bit by bit, where one NaN is as good as another."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def bits(array: Array) -> Array:
    """Returns what is compared: the bits of floats, of one NaN for all of them."""
    if array.dtype.kind not in "fV":
        return array
    found = array.view(f"u{array.dtype.itemsize}").copy()
    with np.errstate(all="ignore"):
        found[np.isnan(array)] = np.iinfo(found.dtype).max
    return found


def are_same(first: Array, second: Array) -> bool:
    return np.array_equal(bits(first), bits(second))


def assert_same_bits(actual: Array, expected: Array, what: str = "") -> None:
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), what
    differs = bits(actual) != bits(expected)
    where = tuple(axis[:4] for axis in np.nonzero(differs))
    assert not differs.any(), f"{what}: {actual[where]} != {expected[where]} at {where}"
