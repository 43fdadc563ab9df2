"""Which ranks wait for one another in a circle, by what each has said."""

import pytest
from tenon.runtime.collectives.waits import Ranks, Wait, circle


def wait(ranks: Ranks, number: int, *needs: int, **begun: int) -> Wait:
    """`begun` has a count for each world, whose name is its ranks: `r01` is that of 0 and 1."""
    counts = {tuple(map(int, name[1:])): count for name, count in begun.items()}
    return Wait(f"the {number} of {ranks}", ranks, number, needs or ranks, counts)


THREE = {
    0: wait((0, 1), 1, r01=1),
    1: wait((1, 2), 1, r12=1),
    2: wait((2, 0), 1, r20=1),
}


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_a_circle_is_told_from_each_of_its_ranks(rank: int):
    assert circle(rank, THREE) == [rank, (rank + 1) % 3, (rank + 2) % 3]


def test_one_that_has_not_said_what_it_waits_for_may_go_on():
    assert circle(0, {0: THREE[0], 1: THREE[1]}) is None


def test_one_that_has_begun_what_others_wait_for_is_not_waited_for():
    assert circle(0, THREE | {1: wait((1, 2), 1, r12=1, r01=1)}) is None


def test_ranks_that_wait_for_the_same_are_no_circle():
    both = wait((0, 1), 3, r01=3)
    assert circle(0, {0: both, 1: both}) is None


def test_the_order_of_the_ranks_tells_worlds_apart():
    waits = {0: wait((0, 1), 1, r01=1), 1: wait((1, 0), 1, r10=1)}
    assert circle(0, waits) == [0, 1] and circle(1, waits) == [1, 0]


def test_only_those_of_its_group_are_needed():
    """Along an axis of four ranks 0 meets 1: what 2 and 3 wait for is nothing to it."""
    waits = {0: wait((0, 1, 2, 3), 1, 0, 1, r0123=1), 2: wait((2, 0), 1, r20=1)}
    assert circle(0, waits) is None


def test_a_circle_that_this_rank_waits_for_only_is_for_others_to_tell():
    waits = {0: wait((0, 1), 1, r01=1), 1: wait((1, 2), 1, r12=1), 2: wait((2, 1), 1, r21=1)}
    assert circle(0, waits) is None and circle(1, waits) == [1, 2]


def test_a_message_says_it_all():
    said = wait((1, 0), 7, 1, r01=2, r10=7)
    assert Wait.of(said.message) == said
