"""Arrays whose elements are those of another one in another order: which, and what is refused."""

from __future__ import annotations

from math import prod
from random import Random
from typing import Any

import numpy as np
import pytest
from tenon.dialects.rearrangement import Rearrangement
from tenon.semantics.rearrangements import rearrange


def filled(source: Any, what: Rearrangement) -> Any:
    target = np.empty(what.n_elements, source.dtype)
    rearrange(source, target, what)
    return target.reshape(what.shape)


@pytest.mark.parametrize("seed", range(20))
def test_elements_are_those_at_their_places(seed: int) -> None:
    random = Random(seed)
    shape = tuple(random.randint(1, 5) for _ in range(random.randint(1, 4)))
    source = np.arange(prod(shape), dtype=random.choice([np.int8, np.float32, np.int64, np.float16]))
    order = random.sample(range(len(shape)), len(shape))
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    turned = [random.random() < 0.3 for _ in shape]
    offset = sum(stride * (n - 1) for stride, n, back in zip(strides, shape, turned, strict=True) if back)
    strides = [-stride if back else stride for stride, back in zip(strides, turned, strict=True)]
    what = Rearrangement(tuple(shape[a] for a in order), tuple(strides[a] for a in order), offset)
    flipped = np.flip(source.reshape(shape), [axis for axis, back in enumerate(turned) if back])
    assert what.misfit is None and what.places == (0, source.size - 1)
    np.testing.assert_array_equal(filled(source.reshape(shape), what), flipped.transpose(order))


def test_windows_and_repetitions() -> None:
    source = np.arange(6, dtype=np.float32)
    assert filled(source, Rearrangement((3, 4), (1, 1))).tolist() == [
        [0, 1, 2, 3],
        [1, 2, 3, 4],
        [2, 3, 4, 5],
    ]
    assert filled(source, Rearrangement((2, 2), (0, 3), 1)).tolist() == [[1, 4], [1, 4]]


def test_a_sum_of_one_element_is_never_minus_zero() -> None:
    source = np.array([-0.0, 0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324], np.float64)
    kept = filled(source, Rearrangement((7,), (1,)))
    assert kept.tobytes() == source.tobytes()
    summed = filled(source, Rearrangement((7,), (1,), summed=True))
    assert not np.signbit(summed[:2]).any()
    np.testing.assert_array_equal(summed, source)


def test_bytes_are_copied_whatever_they_mean() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for dtype in (np.bool_, ml_dtypes.bfloat16, np.complex64):
        source = np.arange(6).astype(dtype)
        assert filled(source, Rearrangement((6,), (-1,), 5)).tobytes() == source[::-1].tobytes()


def test_a_source_may_be_what_nobody_may_write() -> None:
    source = np.arange(4, dtype=np.int32)
    source.flags.writeable = False
    assert filled(source, Rearrangement((4,), (-1,), 3)).tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize(
    "what", [Rearrangement((4,), (1,), 1), Rearrangement((2,), (-1,)), Rearrangement((2,), (4,))]
)
def test_nothing_is_read_outside_of_the_source(what: Rearrangement) -> None:
    with pytest.raises(ValueError, match=r"strides|offset|buffer"):
        filled(np.zeros(4, np.float32), what)


def test_what_is_wrong_by_itself() -> None:
    assert Rearrangement((2, 3), (1,)).misfit == "[2, 3] has not as many strides, [1]"
    assert Rearrangement((2, 0), (1, 1)).misfit == "[2, 0] has no elements"
    assert Rearrangement((), ()).misfit is None and Rearrangement((), ()).places == (0, 0)
