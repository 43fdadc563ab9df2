"""What collectives mean, on the arrays of all members."""

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tenon.dialects.graph import ReduceKind
from tenon.dialects.grids import coordinates_of, group_of, member_of, part_extents, part_offset, rank_at
from tenon.errors import RankError
from tenon.semantics.collectives import Collective
from tenon.semantics.numpy_types import DTYPES_BY_NAME, Array
from tenon.test.contract.world_cases import transferred


def collective(kind: str, parts: tuple[int, ...] = (2,), **fields: Any) -> Collective:
    return Collective(kind, 7, parts, tuple(range(len(parts))), **fields)


def shared(
    asked: Collective, operands: Sequence[Array], shapes: Sequence[Sequence[int]] | None = None
) -> list[Array]:
    if shapes is None:
        shapes = [operand.shape for operand in operands]
    return transferred(asked, operands, shapes, range(len(operands)))


def test_ranks_lie_row_major_on_a_grid():
    assert [coordinates_of((2, 3), rank) for rank in range(6)] == [
        *[(0, 0), (0, 1), (0, 2)],
        *[(1, 0), (1, 1), (1, 2)],
    ]
    assert [rank_at((2, 3), coordinates_of((2, 3), rank)) for rank in range(6)] == list(range(6))


def test_a_group_are_the_ranks_that_differ_along_its_axes_only():
    assert group_of((2, 3), (0,), 4) == (1, 4)
    assert group_of((2, 3), (1,), 4) == (3, 4, 5)
    assert group_of((2, 3), (0, 1), 4) == (0, 1, 2, 3, 4, 5)
    assert group_of((2, 3), (1, 0), 4) == (0, 3, 1, 4, 2, 5)
    assert member_of((2, 3), (1, 0), 4) == group_of((2, 3), (1, 0), 4).index(4)


def test_parts_of_several_axes_refine_those_of_the_first():
    assert part_extents(10, (4,)) == (3, 3, 2, 2)
    assert part_extents(10, (2, 2)) == (3, 2, 3, 2)
    assert part_extents(3, (2,)) == (2, 1)
    assert part_extents(2, (3,)) == (1, 1, 0)
    assert part_extents(5, ()) == (5,)
    assert part_offset(10, (2, 2), 2) == 5


@pytest.mark.parametrize("name", sorted(DTYPES_BY_NAME))
@pytest.mark.parametrize("kind", list(ReduceKind))
def test_members_are_combined_one_after_the_other(kind: ReduceKind, name: str):
    dtype = DTYPES_BY_NAME[name]
    is_bits = kind in (ReduceKind.AND, ReduceKind.OR)
    if is_bits != (dtype.kind in "iub") and (is_bits or dtype.kind == "b"):
        pytest.skip("no op takes these")
    if dtype.kind == "b" and not is_bits:
        pytest.skip("no op takes these")
    draw = np.random.default_rng(3)
    operands = [draw.integers(0, 5, (3, 4)).astype(dtype) for _ in range(4)]
    one, others = operands[0], operands[1:]
    step = {
        ReduceKind.ADD: np.add,
        ReduceKind.MUL: np.multiply,
        ReduceKind.MAX: np.maximum,
        ReduceKind.MIN: np.minimum,
        ReduceKind.AND: np.bitwise_and,
        ReduceKind.OR: np.bitwise_or,
    }[kind]
    for other in others:
        one = np.asarray(step(one, other), dtype)
    results = shared(collective("all_reduce", (4,), reduction=kind.value), operands)
    for result in results:
        assert result.dtype == dtype
        assert np.array_equal(result, one)


def test_a_sum_is_rounded_at_each_step():
    operands = [np.array([value], np.float16) for value in (2048, 1, 1)]
    (result, *_) = shared(collective("all_reduce", (3,), reduction="add"), operands)
    assert result[0] == 2048
    wide = [operand.astype(ml_dtypes.bfloat16) for operand in operands]
    assert shared(collective("all_reduce", (3,), reduction="add"), wide)[0][0] == 2048


def test_integers_wrap_and_no_sum_starts_from_zero():
    operands = [np.array(100, np.int8), np.array(100, np.int8)]
    assert shared(collective("all_reduce", reduction="add"), operands)[1] == -56
    zeros = [np.array(-0.0), np.array(-0.0)]
    assert np.signbit(shared(collective("all_reduce", reduction="add"), zeros)[0])


def test_nan_wins_and_zeros_have_an_order():
    first = np.array([np.nan, 1.0, -0.0, 0.0])
    second = np.array([1.0, np.nan, 0.0, -0.0])
    most = shared(collective("all_reduce", reduction="max"), [first, second])[0]
    least = shared(collective("all_reduce", reduction="min"), [first, second])[0]
    assert np.isnan(most[:2]).all() and np.isnan(least[:2]).all()
    assert not np.signbit(most[2:]).any() and np.signbit(least[2:]).all()


def test_parts_are_gathered_in_the_order_of_members():
    parts = [np.arange(6).reshape(2, 3), np.arange(6, 10).reshape(2, 2)]
    asked = collective("all_gather", dim=1)
    for result in shared(asked, parts, [(2, 5), (2, 5)]):
        assert np.array_equal(result, np.concatenate(parts, 1))


def test_each_member_gets_its_part_of_a_sum():
    operands = [np.arange(10.0).reshape(5, 2), np.ones((5, 2))]
    results = shared(collective("reduce_scatter", reduction="add", dim=0), operands, [(3, 2), (2, 2)])
    assert np.array_equal(np.concatenate(results), np.arange(10.0).reshape(5, 2) + 1)


def test_all_to_all_splits_along_another_dim():
    whole = np.arange(35).reshape(7, 5)
    before = [whole[:, :3], whole[:, 3:]]
    results = shared(collective("all_to_all", dim=0, concat_dim=1), before, [(4, 5), (3, 5)])
    assert np.array_equal(results[0], whole[:4]) and np.array_equal(results[1], whole[4:])


def test_a_member_that_nothing_is_sent_to_gets_zeros():
    operands = [np.arange(3.0), np.arange(2.0), np.arange(1.0)]
    asked = collective("collective_permute", (3,), pairs=((0, 1), (2, 2)))
    results = shared(asked, operands, [(4,), (3,), (1,)])
    assert [list(result) for result in results] == [[0.0] * 4, [0.0, 1.0, 2.0], [0.0]]


@pytest.mark.parametrize(
    ("asked", "extents", "expected", "message"),
    [
        (
            collective("all_reduce", reduction="add"),
            [(3,), (2,)],
            [(3,), (2,)],
            r"graph.all_reduce add on channel 7: rank 1 gives float64\[2\], rank 0 float64\[3\]",
        ),
        (
            collective("all_gather", dim=0),
            [(2,), (3,)],
            [(5,), (5,)],
            r"rank 0 gives an extent of 2 in dim 0, expected 3 \(a part of 5 over 2 ranks\)",
        ),
        (
            collective("reduce_scatter", reduction="add", dim=0),
            [(5,), (5,)],
            [(3,), (3,)],
            r"rank 1 gets \[2\], expects \[3\]",
        ),
        (
            collective("collective_permute", pairs=((0, 1),)),
            [(5,), (5,)],
            [(3,), (4,)],
            r"rank 1 gets \[5\], expects \[4\]",
        ),
    ],
)
def test_members_that_do_not_fit_one_another_are_an_error(
    asked: Collective, extents: list[tuple[int]], expected: list[tuple[int]], message: str
):
    with pytest.raises(RankError, match=message):
        shared(asked, [np.zeros(extent) for extent in extents], expected)


def test_members_of_two_dtypes_are_an_error():
    with pytest.raises(RankError, match=r"rank 1 gives int32\[1\], rank 0 float64\[1\]"):
        shared(collective("all_gather", dim=0), [np.zeros(1), np.zeros(1, np.int32)], [(2,), (2,)])


def test_what_is_asked_is_alike_wherever_it_stands():
    here, there = (collective("all_gather", dim=0, where=where) for where in ("a.mlir:1:1", "b.mlir:2:2"))
    assert here != there and here.asked == there.asked
