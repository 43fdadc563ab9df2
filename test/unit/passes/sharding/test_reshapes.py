"""Dims of a reshape that hold the same elements."""

import pytest
from tenon.passes.sharding.reshapes import DimGroup, dim_groups


@pytest.mark.parametrize(
    ("before", "after", "groups"),
    [
        ((4, 6), (4, 6), [((0,), (0,)), ((1,), (1,))]),
        ((4, 6), (4, 2, 3), [((0,), (0,)), ((1,), (1, 2))]),
        ((4, 6), (24,), [((0, 1), (0,))]),
        ((1, 4, 1), (4,), [((1,), (0,))]),
        ((6, 4), (4, 6), [((0, 1), (0, 1))]),
        ((), (1, 1), []),
        ((4, 0), (0, 7), [((0, 1), (0, 1))]),
    ],
)
def test_groups_are_as_small_as_can_be(
    before: tuple[int, ...], after: tuple[int, ...], groups: list[tuple[tuple[int, ...], tuple[int, ...]]]
):
    assert dim_groups(before, after) == [DimGroup(*group) for group in groups]
