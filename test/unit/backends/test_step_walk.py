"""Which steps run, and in which order, where the host decides."""

import pytest
from tenon.backends.step_order import runs_as_written, waits_of
from tenon.backends.step_walk import StepTimes, walk
from tenon.backends.steps import (
    BranchStep,
    JumpStep,
    LoopStep,
    NextStep,
    PlaceStep,
    RowPlace,
    Step,
    StepTime,
    SyncStep,
)
from tenon.runtime.timeline.text import control_text


class Host:
    """Notes what is asked of it; conditions are `answers`, one after the other."""

    def __init__(self, answers: list[bool] | None = None) -> None:
        self.answers = answers or []
        self.notes: list[object] = []

    def place_row(self, row: RowPlace, iteration: int) -> None:
        self.notes.append((row.row, iteration))

    def set_counter(self, buffer: int, iteration: int) -> None:
        self.notes.append((f"counter {buffer}", iteration))

    def holds(self, buffer: int) -> bool:
        return self.answers.pop(0)


def test_a_loop_runs_its_steps_so_often():
    rows = (RowPlace(7, 1, 4),)
    steps: list[Step] = [LoopStep(3, 2, True, 5, rows), SyncStep(), NextStep(0), SyncStep()]
    host = Host()
    assert list(walk(steps, host)) == [1, 1, 1, 3]
    assert host.notes == [("counter 5", 2), (7, 2), ("counter 5", 1), (7, 1), ("counter 5", 0), (7, 0)]


def test_a_row_of_no_loop_is_placed_once_for_each_time_that_its_step_runs():
    place = PlaceStep((RowPlace(7, 1, 4), RowPlace(8, 7, 12)))
    host = Host()
    assert list(walk([place, SyncStep()], host)) == [1]
    assert host.notes == [(7, 1), (8, 1)]
    host = Host()
    assert list(walk([LoopStep(2, 3, rows=(RowPlace(1, 0, 8),)), place, SyncStep(), NextStep(0)], host)) == [
        2,
        2,
    ]
    assert host.notes == [(1, 0), (7, 1), (8, 1), (1, 1), (7, 1), (8, 1)]
    assert runs_as_written([place])


def test_loops_are_nested():
    steps: list[Step] = [LoopStep(2, 5), SyncStep(), LoopStep(3, 4), SyncStep(), NextStep(2), NextStep(0)]
    assert list(walk(steps, Host())) == [1, 3, 3, 3, 1, 3, 3, 3]


def test_a_while_and_a_branch_ask_for_their_conditions():
    steps: list[Step] = [SyncStep(), BranchStep(0, 4), SyncStep(), JumpStep(0)]
    assert list(walk(steps, Host([True, True, False]))) == [0, 2, 0, 2, 0]
    assert list(walk(steps, Host([False]))) == [0]
    branch: list[Step] = [BranchStep(0, 3), SyncStep(), JumpStep(4), SyncStep()]
    assert list(walk(branch, Host([True]))) == [1]
    assert list(walk(branch, Host([False]))) == [3]


def test_times_of_several_runs_add_up():
    times = StepTimes(3)
    times.add(0, 5, 10)
    times.add(2, 10, 11)
    times.add(0, 20, 22)
    assert times.all() == [StepTime(5, 12, 2), StepTime(12, 12, 0), StepTime(10, 11, 1)]


def test_steps_that_decide_have_no_order_of_dependencies():
    assert not runs_as_written([SyncStep()])
    assert runs_as_written([JumpStep(1)])
    with pytest.raises(AssertionError, match="steps that run in an order of their own"):
        waits_of([JumpStep(1)])


def test_control_steps_as_text():
    assert control_text(LoopStep(10, 7)) == "loop 10 times to step 7"
    assert control_text(LoopStep(10, 7, True)) == "loop 10 times to step 7, last first"
    assert control_text(NextStep(3)) == "next iteration of step 3"
    assert control_text(BranchStep(2, 9)) == "unless 2 go to step 9"
    assert control_text(JumpStep(4)) == "go to step 4"
    assert control_text(PlaceStep((RowPlace(7, 1, 4),))) == "place 1 rows"
    assert control_text(SyncStep()) == "sync"
