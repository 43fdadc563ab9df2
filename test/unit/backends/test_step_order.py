"""Which steps wait for which."""

import pytest
from tenon.backends.step_order import check_order, is_chain, leaves_of, waits_of
from tenon.backends.steps import CopyStep, Step, SyncStep


def step(*after: int) -> Step:
    return CopyStep(0, 1, 4, after)


def test_what_is_implied_is_not_waited_for():
    assert waits_of([step(), step(0), step(0, 1), step(0), step(2, 3, 0)]) == [(), (0,), (1,), (0,), (2, 3)]


def test_a_sync_waits_for_all_ends_and_all_that_follows_for_it():
    steps = [step(), step(), step(0), SyncStep(), step(), step(1), SyncStep(), SyncStep(), step(4)]
    assert waits_of(steps) == [(), (), (0,), (1, 2), (3,), (3,), (4, 5), (6,), (7,)]
    assert waits_of([SyncStep(), step()]) == [(), (0,)]


def test_leaves_are_what_nothing_waits_for():
    assert leaves_of([(), (0,), (0,), ()]) == (1, 2, 3)
    assert leaves_of([]) == ()


def test_a_chain_has_nothing_to_run_at_once():
    assert is_chain([]) and is_chain([()]) and is_chain([(), (0,), (1,)])
    assert not is_chain([(), ()])
    assert not is_chain([(), (0,), (0,)])


@pytest.mark.parametrize("after", [1, 2, -1])
def test_a_step_cannot_wait_for_a_later_one(after: int):
    message = rf"^step 1 waits for steps \[{after}\], which are not before it$"
    with pytest.raises(AssertionError, match=message):
        check_order([step(), step(after)])
